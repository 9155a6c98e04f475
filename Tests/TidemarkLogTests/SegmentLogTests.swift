// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkLock

@testable import TidemarkLog

@Suite struct SegmentLogTests {
    let folder: ScratchFolder
    let path: String

    init() throws {
        folder = try ScratchFolder()
        path = folder.url.path + "/notes.tide"
    }

    func open(
        _ configuration: LogConfiguration = LogConfiguration(),
        seed: UInt64 = 1
    ) throws -> (log: SegmentLog, report: RecoveryReport) {
        try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: configuration,
            environment: .fixed(PosixFileSystem(), seed: seed),
            onDurable: { _ in }
        )
    }

    @Test func `A new log is empty`() throws {
        let (log, report) = try open()
        #expect(report.isNew)
        #expect(log.lastSequence == .zero)
        #expect(try log.lines().isEmpty)
        try log.close()
    }

    @Test func `Appended events are read back, also after reopening`() throws {
        let (log, _) = try open()
        var expected: [EventLine] = []
        for number in 0..<500 {
            let draft = CommitDraft.sample(number, zones: [1, UInt64(number % 5 + 2)])
            expected += draft.lines(first: log.lastSequence.next)
            _ = try log.append(draft)
        }
        try log.blockUntilDurable(log.lastSequence)
        #expect(log.durableSequence.rawValue == 1000)
        #expect(try log.lines() == expected)
        try log.close()

        let (again, report) = try open(seed: 2)
        #expect(report.wasClean)
        #expect(again.line == log.line)
        #expect(again.lastTime == 1_499)
        #expect(try again.lines() == expected)
        try again.close()
    }

    @Test func `An unclean stop starts a new incarnation and loses nothing durable`() throws {
        var (log, _): (SegmentLog?, RecoveryReport) = try open()
        _ = try log?.append(.sample(1, zones: [1, 2, 3]))
        try log?.blockUntilDurable(SequenceNumber(rawValue: 3))
        let before = try #require(try log?.lines())
        let line = try #require(log?.line)
        log = nil

        let (again, report) = try open(seed: 2)
        #expect(!report.wasClean)
        #expect(report.discardedByteCount == 0)
        #expect(again.line.entries.count == 2)
        #expect(again.line.contains(SequenceNumber(rawValue: 3), of: line.current))
        #expect(!again.line.contains(SequenceNumber(rawValue: 4), of: line.current))
        #expect(try again.lines() == before)
        _ = try again.append(.sample(2))
        try again.close()
    }

    @Test func `Multiple segments are sealed and read`() throws {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 64 << 10
        let (log, _) = try open(configuration)
        var expected: [EventLine] = []
        for number in 0..<2_000 {
            let draft = CommitDraft.sample(number, zones: [UInt64(number % 11)], byteCount: 300)
            expected += draft.lines(first: log.lastSequence.next)
            _ = try log.append(draft)
            if number % 50 == 0 { try log.blockUntilDurable(log.lastSequence) }
        }
        try log.blockUntilDurable(log.lastSequence)
        #expect(try log.lines() == expected)
        try log.close()
        let (again, report) = try open(configuration)
        #expect(report.wasClean)
        #expect(try again.lines() == expected)
        #expect(again.lastSequence.rawValue == 2_000)
        #expect(
            try again.lastSequence(atOrBefore: 1_000 + 777) == SequenceNumber(rawValue: 778)
        )
        #expect(try again.lastSequence(atOrBefore: 999) == .zero)
        #expect(try again.lastSequence(atOrBefore: 99_999) == SequenceNumber(rawValue: 2_000))
        try again.close()
    }

    @Test func `A second writer is rejected`() throws {
        let (log, _) = try open()
        #expect { try open() } throws: { ($0 as? LogError)?.code == .locked }
        try log.close()
        let (again, _) = try open()
        try again.close()
    }

    @Test func `A commit larger than a segment gets its own segment`() throws {
        var configuration = LogConfiguration()
        configuration.segmentByteCount = 64 << 10
        let (log, _) = try open(configuration)
        var draft = CommitDraft(time: 5, received: 6, envelope: [])
        var numbers = SeededGenerator(seed: 7)
        for _ in 0..<3_000 {
            draft.append(zone: 1) { payload in
                for _ in 0..<20 { payload.append(integer: numbers.next()) }
            }
        }
        _ = try log.append(.sample(0))
        _ = try log.append(draft)
        try log.commit(.sample(9_000))
        let lines = try log.lines()
        #expect(lines.count == 3_002)
        #expect(Array(lines[1].payload) == Array(draft.payloads[0..<160]))
        try log.close()
    }

    @Test func `No caller continues before the views are notified`() async throws {
        let told = Told()
        let (log, _) = try SegmentLog.openAndSeal(
            path,
            creating: true,
            configuration: LogConfiguration(),
            environment: .fixed(PosixFileSystem()),
            onDurable: { sequence in
                Thread.sleep(forTimeInterval: 0.002)
                told.sequence.withLock { $0 = sequence }
            }
        )
        for number in 0..<20 {
            let first = try log.append(.sample(number))
            // Whoever comes between the watermark and the views must wait as well.
            while log.durableSequence < first { await Task.yield() }
            try await log.waitUntilDurable(first)
            #expect(told.sequence.withLock { $0 } >= first)
        }
        try log.close()
    }

    @Test func `Concurrent callers share syncs and wait for their own`() async throws {
        let (log, _) = try open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<16 {
                group.addTask {
                    for number in 0..<50 {
                        let first = try log.appendSerialized(.sample(writer * 50 + number))
                        try await log.waitUntilDurable(first)
                        #expect(log.durableSequence >= first)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try log.lines().count == 800)
        try log.close()
    }

    @Test func `Closing during appends keeps every acknowledged event`() throws {
        for round in 0..<12 {
            let (log, report) = try open(seed: UInt64(round + 1))
            #expect(report.wasClean)
            let before = log.lastSequence
            let given = Told()
            let writers = DispatchGroup()
            for writer in 0..<2 {
                // Threads that never make way.
                DispatchQueue(label: "writer \(writer)").async(group: writers) {
                    while let last = try? log.appendSerialized(.sample(writer)) {
                        given.sequence.withLock { $0 = max($0, last) }
                    }
                }
            }
            while given.sequence.withLock({ $0 }) <= before { usleep(100) }
            try log.close()
            writers.wait()
            let last = given.sequence.withLock { $0 }
            #expect(log.lastSequence == last && log.durableSequence == last)
            let (again, _) = try open(seed: UInt64(round + 100))
            #expect(again.lastSequence == last)
            #expect(try again.lines().count == Int(last.rawValue))
            try again.close()
        }
    }

    @Test func `An idle writer sleeps and uses no memory`() async throws {
        let (log, _) = try open()
        _ = try log.append(.sample(1))
        try await log.waitUntilDurable(SequenceNumber(rawValue: 1))
        func room() -> Int { log.queue.withLock { $0.room } }
        let atOnce = room()
        // Many times as long as a writer waits before it looks whether it is idle.
        try await Task.sleep(for: .milliseconds(400))
        // The one marker that lets others read so far may have come before or since.
        #expect(room() >= atOnce - Layout.frameHeaderByteCount)
        try log.close()
    }
}

/// How far the views have been told.
private final class Told: Sendable {
    let sequence = Lock(SequenceNumber.zero)
}

private let appending = Lock(0)

extension SegmentLog {
    /// Appends as the engine does: one caller at a time.
    func appendSerialized(_ draft: CommitDraft) throws -> SequenceNumber {
        try appending.withLock { _ in try append(draft) }
    }
}

extension CommitDraft {
    /// The lines that the draft becomes at a position.
    func lines(first: SequenceNumber) -> [EventLine] {
        var start = 0
        return events.enumerated().map { index, event in
            defer { start = event.payloadEnd }
            return EventLine(
                sequence: first.rawValue + UInt64(index),
                zone: event.zone,
                time: time,
                envelope: envelope,
                payload: Array(payloads[start..<event.payloadEnd])
            )
        }
    }
}
