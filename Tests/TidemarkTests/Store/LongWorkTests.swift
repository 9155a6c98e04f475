// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Long work tells how far it is, ends when its task is cancelled, and leaves the store as it was.
@Suite struct LongWorkTests {
    enum Work: CaseIterable, CustomTestStringConvertible {
        case compact, compactDry, backUp, fork, restore, verify, erase, estimate
        case changesOfPast, queryOfPast

        var testDescription: String { "\(self)" }
    }

    /// A store of a few segments, closed.
    private func makeStore(_ path: String) async throws -> SequenceNumber {
        var options = StoreOptions()
        options.segmentByteCount = 64 << 10
        let store = try Store.open(at: path, access: .creating, options: options)
        let client = Client(store: store)
        try await client.createZone()
        var generator = SeededGenerator(seed: 3)
        for round in 0..<40 {
            let saves = try (0..<40).map { number in
                let noise = (0..<200).map { _ in UInt8.random(in: 0...255, using: &generator) }
                return try client.save(
                    "r\(number)",
                    ["n": .int64(Int64(round)), "noise": .bytes(noise)],
                    policy: .allKeys
                )
            }
            try await client.modify(saves)
        }
        let last = store.lastSequence
        try store.close()
        return last
    }

    private func perform(_ work: Work, _ folder: ScratchFolder, _ last: SequenceNumber) async throws
    {
        let path = folder.path()
        let past = SequenceNumber(rawValue: last.rawValue / 2)
        let client = Client(store: try Store.open(at: path, access: .writing))
        defer { try? client.store.close() }
        switch work {
        case .compact: _ = try await client.store.compact()
        case .compactDry: _ = try await client.store.compact(isDryRun: true)
        case .backUp: _ = try Store.backUp(at: path, to: folder.path("backup"))
        case .fork: _ = try Store.fork(from: path, to: folder.path("fork"))
        case .restore:
            try client.store.close()
            _ = try Store.restore(from: path, to: folder.path("restored"))
        case .verify: #expect(try Store.verify(at: path).findings.isEmpty)
        case .erase:
            try client.store.close()
            _ = try Store.erase(.zone(client.zone, in: .standard), at: path)
        case .estimate:
            _ = try Store.erase(.zone(client.zone, in: .standard), at: path, isDryRun: true)
        case .changesOfPast:
            let request = ZoneChangesRequest(zone: client.zone)
            _ = try await client.store.zoneChanges(request, as: client.caller, asOf: past)
        case .queryOfPast:
            let query = Query(recordType: "Note", predicate: .always)
            let request = QueryRequest(query, in: client.zone)
            _ = try await client.store.query(request, as: client.caller, asOf: past)
        }
    }

    @Test(arguments: Work.allCases)
    func `Long work reports its progress`(work: Work) async throws {
        let folder = try ScratchFolder()
        let last = try await makeStore(folder.path())
        let reports = Mutex([WorkProgress]())
        try await LongWork.reporting { report in
            reports.withLock { $0.append(report) }
        } during: {
            try await perform(work, folder, last)
        }
        let told = reports.withLock { $0 }
        #expect(told.count > 2)
        #expect(told.allSatisfy { $0.done <= $0.total })
        #expect(Set(told.map(\.done)).count > 1)
    }

    @Test(arguments: Work.allCases)
    func `Cancelling long work leaves the store unchanged`(work: Work) async throws {
        let folder = try ScratchFolder()
        let last = try await makeStore(folder.path())
        let before = try Store.verify(at: folder.path())
        // Cancelled at its second look.
        let reports = Mutex(0)
        let task = Mutex<Task<Void, any Error>?>(nil)
        let started = Task {
            try await LongWork.reporting { _ in
                let count = reports.withLock { count in
                    count += 1
                    return count
                }
                if count == 2 { task.withLock { $0?.cancel() } }
            } during: {
                // The task is known before it works.
                while task.withLock({ $0 == nil }) { await Task.yield() }
                try await perform(work, folder, last)
            }
        }
        task.withLock { $0 = started }
        do {
            try await started.value
            Issue.record("the work came to its end")
        } catch let error as SyncError {
            #expect(error.code == .operationCancelled)
        } catch let error as LogError {
            #expect(error.code == .cancelled)
        }
        let after = try Store.verify(at: folder.path())
        #expect(after.findings.isEmpty)
        #expect(after.eventCount >= before.eventCount)
        // It can be done again.
        try await perform(work, folder, last)
        let store = try Store.open(at: folder.path(), access: .reading)
        let records = try await Client(store: store).fetch("r1", "r39")
        #expect(records.allSatisfy { ($0.error == nil) == (work != .erase) })
        try store.close()
    }
}
