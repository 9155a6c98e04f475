// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import SimulatedDisk
import Synchronization
import Testing
import TidemarkLock

@testable import TidemarkLog

/// One after another: a test with a stalled disk holds the places of the process for that time.
@Suite(.serialized) struct CallerWritesTests {
    @Test func `A lone caller writes its commit on its own thread`() async throws {
        let disk = WritingThreads(isLocal: true)
        let log = try disk.openLog()
        // Another test may hold the only place of a small machine at one moment, but not at all.
        var byCaller = 0
        for number in 0..<500 where byCaller == 0 {
            byCaller += try await disk.save(number, in: log) ? 1 : 0
        }
        #expect(byCaller == 1)
        try log.close()
    }

    @Test func `The writer's thread writes if the disk may wait for a network`() async throws {
        let disk = WritingThreads(isLocal: false)
        let log = try disk.openLog()
        for number in 0..<50 { #expect(try await !disk.save(number, in: log)) }
        try log.close()
    }

    @Test func `The writer's thread writes after a slow sync, until one is fast`() async throws {
        let disk = WritingThreads(isLocal: true)
        let log = try disk.openLog()
        disk.delay.store(20_000, ordering: .relaxed)
        _ = try await disk.save(0, in: log)
        for number in 1..<10 { #expect(try await !disk.save(number, in: log)) }
        disk.delay.store(0, ordering: .relaxed)
        _ = try await disk.save(10, in: log)
        var byCaller = 0
        for number in 11..<500 where byCaller == 0 {
            byCaller += try await disk.save(number, in: log) ? 1 : 0
        }
        #expect(byCaller == 1)
        try log.close()
    }

    @Test func `The writer's thread writes after a frame of several callers`() async throws {
        let disk = WritingThreads(isLocal: true)
        let log = try disk.openLog()
        _ = try log.append(.sample(0), callerWaits: true)
        let second = try log.append(.sample(1), callerWaits: true)
        try await log.waitUntilDurable(second)
        #expect(try await !disk.save(2, in: log))
        try log.close()
    }

    @Test func `A caller enters while there is a place`() {
        let writes = CallerWrites(isLocal: true, places: CallerWrites.Places(1))
        let other = CallerWrites(isLocal: false, places: CallerWrites.Places(1))
        let none = CallerWrites(isLocal: true, places: CallerWrites.Places(0))
        let (first, second) = (writes.enter(), writes.enter())
        #expect(first && !second)
        writes.leave()
        let third = writes.enter()
        #expect(third)
        let (elsewhere, nowhere) = (other.enter(), none.enter())
        #expect(!elsewhere && !nowhere)
    }

    @Test func `Other tasks run while more stores than processors wait for a stalled disk`()
        async throws
    {
        let stall = Stall()
        let count = ProcessInfo.processInfo.activeProcessorCount + 2
        let logs = try (0..<count).map { seed in
            let disk = WatchedFileSystem(SimulatedFileSystem(), isLocal: true) { _ in
                stall.waitIfStalled()
            }
            return try SegmentLog.openAndSeal(
                "/notes.tide",
                creating: true,
                configuration: LogConfiguration(),
                environment: .fixed(disk, seed: UInt64(seed)),
                onDurable: { _ in }
            ).log
        }
        stall.begin()
        let (appended, hasAppended) = AsyncStream.makeStream(of: Void.self)
        let savers = logs.map { log in
            Task.detached {
                for number in 0..<3 {
                    let sequence = try log.append(.sample(number), callerWaits: true)
                    hasAppended.yield()
                    try await log.waitUntilDurable(sequence)
                }
            }
        }
        // Every store has a commit that the stalled disk holds up.
        for await _ in appended.prefix(count) {}
        let others = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await Task.yield()
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        #expect(others == 100)
        #expect(stall.isOn, "nothing else ran until the disk answered")
        stall.end()
        for saver in savers { try await saver.value }
        for log in logs {
            #expect(log.durableSequence.rawValue == 3)
            try log.close()
        }
    }
}

/// A disk that knows which thread wrote last, and can be made slow.
private final class WritingThreads: Sendable {
    /// Microseconds that each write and sync takes.
    let delay = Atomic(0)
    private let last = Lock<UInt>(0)
    private let isLocal: Bool

    init(isLocal: Bool) {
        self.isLocal = isLocal
    }

    func openLog() throws -> SegmentLog {
        let disk = WatchedFileSystem(SimulatedFileSystem(), isLocal: isLocal) { _ in
            self.last.withLock { $0 = currentThread() }
            let delay = self.delay.load(ordering: .relaxed)
            if delay > 0 { usleep(UInt32(delay)) }
        }
        return try SegmentLog.openAndSeal(
            "/notes.tide",
            creating: true,
            configuration: LogConfiguration(),
            environment: .fixed(disk),
            onDurable: { _ in }
        ).log
    }

    /// Saves a commit; returns true if the thread of the call wrote it.
    func save(_ number: Int, in log: SegmentLog) async throws -> Bool {
        let own = currentThread()
        let sequence = try log.append(.sample(number), callerWaits: true)
        try await log.waitUntilDurable(sequence)
        return last.withLock { $0 == own }
    }
}

private func currentThread() -> UInt { UInt(bitPattern: pthread_self().hashValue) }

/// A disk that does not answer for a while; it answers after five minutes in any case, so that a
/// failed test ends.
private final class Stall: Sendable {
    private let isStalled = Atomic(false)
    private let gate = DispatchSemaphore(value: 0)

    var isOn: Bool { isStalled.load(ordering: .acquiring) }

    func begin() {
        isStalled.store(true, ordering: .releasing)
        DispatchQueue.global().asyncAfter(deadline: .now() + 300) { self.end() }
    }

    func end() {
        if isStalled.exchange(false, ordering: .acquiringAndReleasing) { gate.signal() }
    }

    func waitIfStalled() {
        guard isOn else { return }
        gate.wait()
        gate.signal()
    }
}
