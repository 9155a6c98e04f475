// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The machine stops at every call of a small workload on the simulated disk.
///
/// Each commit saves three records with the same number. After reopening, what was acknowledged is
/// there, no commit is there in part, and every token that was handed out is answered with all that
/// came after it.
@Suite struct CrashTests {
    /// What the workload did before the machine stopped.
    private struct Progress {
        var acknowledged = 0
        var tokens: [(token: ChangeToken, number: Int)] = []
    }

    private let zone = ZoneID(zoneName: "z")

    private func open(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ access: StoreAccess = .writing
    ) throws(LogError) -> Store {
        var options = StoreOptions()
        options.checkpointEventCount = 8
        options.segmentByteCount = 1 << 20
        return try Store.open(
            at: "s",
            access: access,
            options: options,
            environment: StoreEnvironment(files, index)
        )
    }

    private func work(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ progress: inout Progress
    ) async throws {
        let store = try open(files, index, .creating)
        let client = Client(store: store, zone: zone)
        try await client.createZone()
        for number in 1...8 {
            let saves = try (0..<3).map {
                try client.save("r\($0)", ["n": .int64(Int64(number))], policy: .changedKeys)
            }
            let result = try await client.modify(saves)
            for save in result.saves { _ = try save.get() }
            progress.acknowledged = number
            progress.tokens.append((try await client.changes().token, number))
        }
        try store.close()
    }

    private func check(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ progress: Progress
    ) async throws {
        let opened = Result { () throws(LogError) in try open(files, index) }
        if case .failure(let error) = opened, error.code == .notAStore {
            #expect(progress.acknowledged == 0)
            return
        }
        let store = try opened.get()
        let client = Client(store: store, zone: zone)
        guard try await store.zones(as: client.caller).contains(where: { $0.zoneID == zone }) else {
            #expect(progress.acknowledged == 0)
            return
        }
        var numbers: [Int] = []
        for answer in try await client.fetch("r0", "r1", "r2") {
            guard case .int64(let n) = try? answer.get()["n"] else { continue }
            numbers.append(Int(n))
        }
        let number = numbers.first ?? 0
        #expect(Set(numbers).count <= 1)
        #expect(numbers.count == (number == 0 ? 0 : 3))
        #expect(number >= progress.acknowledged)
        for (token, at) in progress.tokens {
            let delta = try await client.changes(since: token)
            #expect(delta.changes.count == (number > at ? 3 : 0))
        }
        // And it goes on: a new version is told to everybody.
        try await client.modify([try client.save("r0", ["n": 99], policy: .changedKeys)])
        if let (token, _) = progress.tokens.last {
            let delta = try await client.changes(since: token)
            guard case .changed(let record) = delta.changes.last else {
                Issue.record("the last change is not the save")
                return
            }
            #expect(record["n"] == .int64(99))
        }
    }

    @Test func `A crash at any call loses no acknowledged change`() async throws {
        let whole = SimulatedFileSystem(keepsTrace: false)
        var progress = Progress()
        try await work(whole, MemoryViewIndex(), &progress)
        #expect(progress.acknowledged == 8)
        let callCount = whole.callCount
        #expect(callCount > 40)
        for call in 1...callCount {
            let files = SimulatedFileSystem(keepsTrace: false)
            files.stop(atCall: call)
            let index = MemoryViewIndex()
            var progress = Progress()
            do {
                try await work(files, index, &progress)
            } catch is SyncError {
            } catch is LogError {
            }
            let outcomes = CrashOutcome.all(afterStopAt: call)
            for (position, outcome) in outcomes.enumerated() {
                // The views survive one of the crashes, and are lost in the others.
                let views = position == call % outcomes.count ? index : MemoryViewIndex()
                try await check(files.crash(outcome), views, progress)
            }
        }
    }

    @Test func `A full disk rejects writes, serves reads, and later accepts writes`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        let index = MemoryViewIndex()
        var progress = Progress()
        try await work(files, index, &progress)
        let store = try open(files, index)
        let client = Client(store: store, zone: zone)
        files.setCapacity(1)
        var random = SeededGenerator(seed: 1)
        var refusal: SyncError?
        for number in 0..<40 where refusal == nil {
            do {
                let noise = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
                try await client.modify([try client.save("big\(number)", ["noise": .bytes(noise)])])
            } catch let error as SyncError {
                refusal = error
            }
        }
        let error = try #require(refusal)
        #expect([.quotaExceeded, .serverResponseLost].contains(error.code))
        #expect(try await client.fetch("r0")[0].get()["n"] == .int64(8))
        files.setCapacity(nil)
        try? store.close()
        let again = try open(files, index)
        let later = Client(store: again, zone: zone)
        let saved = try await later.modify([
            try later.save("r0", ["n": 9], policy: .changedKeys)
        ])
        #expect(try saved.saves[0].get()["n"] == .int64(9))
        try again.close()
    }
}
