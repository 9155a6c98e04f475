// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The machine stops while the query index is brought forward, and between.
///
/// The log lies on the simulated disk, the index on the machine's own: what had been written of it
/// is kept, or lost from some place on, as SQLite's own log may be.
@Suite struct QueryIndexCrashTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// What is left of the index's files.
    private enum Loss: CaseIterable {
        case nothing, log, halfOfTheLog, everything
    }

    private func open(_ files: SimulatedFileSystem, _ queries: String) throws(LogError) -> Client {
        var environment = StoreEnvironment(files, MemoryViewIndex())
        // The clock stands still, so that it tells no event from another.
        environment.log.now = { 1_700_000_000_000 }
        environment.queryFolder = queries
        let store = try Store.open(at: "s", access: .creating, environment: environment)
        return Client(store: store)
    }

    /// Saves, deletes and asks; at the end, or where the disk stops, the index's files are copied as
    /// they are at that moment.
    ///
    /// Returns how many rounds were acknowledged.
    private func work(
        _ files: SimulatedFileSystem,
        _ queries: String,
        copying copies: [String]
    ) async throws -> Int {
        var acknowledged = 0
        let client: Client
        do {
            client = try open(files, queries)
        } catch {
            return 0
        }
        do {
            try await client.createZone()
            for round in 1...6 {
                let saves = try (0..<4).map {
                    try client.save(
                        "r\($0 + round)",
                        ["n": .int64(Int64(round)), "text": .string("round \(round)")],
                        policy: .changedKeys
                    )
                }
                let gone = [RecordDeletion(client.id("r\(round - 1)"))]
                let result = try await client.modify(saves, delete: gone)
                for save in result.saves { _ = try save.get() }
                acknowledged = round
                #expect(try await found(client, "n >= 0") == names(round))
                guard round == 3 else { continue }
                try await client.deleteZone()
                try await client.createZone()
            }
        } catch is SyncError {
        }
        for copy in copies where FileManager.default.fileExists(atPath: queries) {
            try FileManager.default.copyItem(atPath: queries, toPath: copy)
        }
        try? client.store.close()
        return acknowledged
    }

    /// What is there after a round: each saves four records from its number on, and deletes the one
    /// before; after the third the zone was made anew.
    private func names(_ round: Int) -> [String] {
        guard round > 0 else { return [] }
        // Those from before are saved anew by each round but the last, which the next deletes.
        return (round..<round + 4).map { "r\($0)" }.sorted()
    }

    private func found(_ client: Client, _ predicate: String) async throws -> [String] {
        try await client.find(predicate).sorted()
    }

    private func lose(_ loss: Loss, of queries: String) throws {
        let log = queries + "/index.sqlite-wal"
        let files = FileManager.default
        switch loss {
        case .nothing: break
        case .everything where files.fileExists(atPath: queries):
            try files.removeItem(atPath: queries)
        case .log where files.fileExists(atPath: log): try files.removeItem(atPath: log)
        case .halfOfTheLog where files.fileExists(atPath: log):
            let file = try FileHandle(forUpdating: URL(filePath: log))
            try file.truncate(atOffset: try file.seekToEnd() / 2)
            try file.close()
        default: break
        }
    }

    /// What a look at every record finds.
    private func expected(_ client: Client) throws -> (all: [String], last: [String]) {
        var all: [(name: String, n: FieldValue?)] = []
        try client.store.visitRecords(of: client.caller.database, in: client.zone) { record in
            all.append((record.recordID.recordName, record["n"]))
            return true
        }
        let numbers = all.compactMap { record -> Int64? in
            if case .int64(let n) = record.n { n } else { nil }
        }
        let last = numbers.max() ?? 0
        return (all.map(\.name).sorted(), all.filter { $0.n == .int64(last) }.map(\.name).sorted())
    }

    private func check(
        _ files: SimulatedFileSystem,
        _ queries: String,
        _ acknowledged: Int,
        _ place: String
    ) async throws {
        let client = try open(files, queries)
        let zones = try await client.store.zones(as: client.caller)
        guard zones.contains(where: { $0.zoneID == client.zone }) else {
            // Between the zone's end and its new beginning, or before its first.
            #expect([0, 3].contains(acknowledged), "\(place)")
            try client.store.close()
            return
        }
        let (all, last) = try expected(client)
        // What was done is there; what was being done may be, and after the third round that was
        // the end of the zone.
        let possible = [names(acknowledged), names(acknowledged + 1)]
        #expect(
            possible.contains(all) || ([3, 0].contains(acknowledged) && all.isEmpty),
            "\(place)"
        )
        // Before the first save the record type is not known.
        if !all.isEmpty { #expect(try await found(client, "n >= 0") == all, "\(place)") }
        if let first = last.first {
            let n = try await client.fetch(first)[0].get()["n"]
            guard case .int64(let n) = n else {
                Issue.record("\(place): the record has \(n.map { "\($0)" } ?? "nothing") as n")
                return
            }
            #expect(try await found(client, "n == \(n)") == last, "\(place)")
        }
        try await client.modify([try client.save("late", ["n": 99], policy: .changedKeys)])
        #expect(try await found(client, "n == 99") == ["late"], "\(place)")
        #expect(try await found(client, "n < 99") == all, "\(place)")
        try client.store.close()
    }

    @Test func `After a crash at any call, queries are correct for any state of SQLite's file`()
        async throws
    {
        let whole = SimulatedFileSystem(keepsTrace: false)
        #expect(try await work(whole, folder.path("whole"), copying: []) == 6)
        let callCount = whole.callCount
        #expect(callCount > 60)
        for call in stride(from: 1, through: callCount, by: runsLongTests ? 1 : 9) {
            let files = SimulatedFileSystem(keepsTrace: false)
            files.stop(atCall: call)
            let losses = runsLongTests ? Loss.allCases : [Loss.allCases[call % 4]]
            let copies = losses.map { folder.path("\(call)-\($0)") }
            let acknowledged = try await work(files, folder.path("\(call)"), copying: copies)
            for (loss, copy) in zip(losses, copies) {
                try lose(loss, of: copy)
                for outcome: CrashOutcome in [.losingEverythingUnsynced, .processKilled] {
                    let place = "stopped at call \(call), \(outcome), SQLite lost \(loss)"
                    // Each with an index of its own, in the state that the stop has left.
                    let own = "\(copy)-\(outcome)"
                    if FileManager.default.fileExists(atPath: copy) {
                        try FileManager.default.copyItem(atPath: copy, toPath: own)
                    }
                    try await check(files.crash(outcome), own, acknowledged, place)
                }
            }
        }
    }
}
