// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GeneratedQueries
import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Generated histories: what the store finds is what a look at every record finds.
@Suite struct QueryHistoryTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private var environment: StoreEnvironment {
        var environment = StoreEnvironment()
        environment.log.now = { QueriedStore.now }
        return environment
    }

    private func open(_ access: StoreAccess, looksFirst: Bool = false) throws -> Client {
        var environment = environment
        if looksFirst { environment.queryIndexNearCount = 0 }
        let store = try Store.open(
            at: folder.path(),
            access: access,
            options: QueriedStore.options,
            environment: environment
        )
        return Client(store: store)
    }

    /// Compares a query's answer, page by page, with a look at every record.
    private func check(_ history: inout QueriedStore, _ query: Query, in zone: ZoneID?) async throws
    {
        var random = history.generator.random
        let found = try await history.client.find(query, in: zone) {
            Int.random(in: 1...9, using: &random)
        }
        history.generator.random = random
        let expected = try history.expected(query, in: zone)
        // Records of one name in two zones are in the order in which those were created.
        if zone == nil {
            #expect(Set(found) == Set(expected), "\(query)")
            #expect(found.count == expected.count, "\(query)")
        } else {
            #expect(found == expected, "\(query) in \(zone?.zoneName ?? "")")
        }
    }

    @Test func `A page without the index is continued although records change`() async throws {
        let client = try open(.creating)
        try await client.createZone()
        for number in 0..<10 { try await client.put("r\(number)", ["n": 1]) }
        await client.store.letOthersRead()
        // A store that is open for reading has no index, as one whose disk is full.
        let reading = try open(.reading)
        var request = QueryRequest(Query(recordType: "Note"), in: client.zone)
        request.limit = 4
        let first = try await reading.store.query(request, as: client.caller)
        request.cursor = first.cursor
        #expect(request.cursor != nil)
        try await client.put("r00", ["n": 1])
        try await client.modify([], delete: [RecordDeletion(client.id("r5"))])
        let second = try await client.store.query(request, as: client.caller)
        request.cursor = second.cursor
        #expect(request.cursor != nil)
        try await client.put("r01", ["n": 1])
        let third = try await client.store.query(request, as: client.caller)
        #expect(third.cursor == nil)
        let names = (first.records + second.records + third.records).map(\.recordID.recordName)
        #expect(Set(names) == Set((0..<10).map { "r\($0)" }) && names.count == 10)
        // Once the point is dropped, the client is told to begin anew.
        _ = try await client.store.compact(.keepingNothing)
        let error = await #expect(throws: SyncError.self) {
            try await client.store.query(request, as: client.caller)
        }
        #expect(error?.isHistoryPruned == false && error?.code == .invalidArguments)
    }

    @Test(arguments: ["-wal", "-shm"])
    func `An index is made again if one of its files cannot be opened`(
        suffix: String
    ) async throws {
        let client = try open(.creating)
        try await client.createZone()
        try await client.put("a", ["n": 1])
        let query = Query(recordType: "Note")
        #expect(try await client.find(query, in: client.zone).count == 1)
        try client.store.close()
        let path = folder.path() + "/queries/index.sqlite" + suffix
        try? FileManager.default.removeItem(atPath: path)
        // SQLite follows no link to its own files.
        try FileManager.default.createSymbolicLink(
            atPath: path,
            withDestinationPath: folder.path("nowhere")
        )
        let again = try open(.writing)
        #expect(try await again.find(query, in: again.zone).count == 1)
    }

    @Test(arguments: 0..<(runsLongTests ? 24 : 2) as Range<UInt64>, [false, true])
    func `The index finds all records after closing, reopening or compacting a store`(
        seed: UInt64,
        compacts: Bool
    ) async throws {
        // Records are looked at where the index lacks anything, or the index is waited for.
        let looksFirst = seed.isMultiple(of: 2)
        let client = try open(.creating, looksFirst: looksFirst)
        var history = try await QueriedStore(client, seed: seed)
        for round in 0..<8 {
            try await history.grow(by: 25)
            // Before the index has seen what is dropped, and after.
            if compacts, round % 2 == 1 {
                _ = try await history.client.store.compact(.keepingNothing)
            }
            for _ in 0..<15 {
                let query = history.query()
                let zone = history.generator.pick([nil, ZoneID.default] + QueriedStore.zones)
                guard try await isThere(zone, history.client) else { continue }
                try await check(&history, query, in: zone)
            }
            guard round % 3 == 2 else { continue }
            try history.client.store.close()
            // Made anew from a history in which most versions are replaced.
            if seed % 2 == 1 {
                try FileManager.default.removeItem(atPath: folder.path() + "/queries")
            }
            history.client = try open(.writing, looksFirst: looksFirst)
        }
        #expect(try history.client.store.figures().liveRecordCount > 20)
    }

    @Test func `Opening a store updates an index that was used before`() async throws {
        var client = try open(.creating)
        client.zone = .default
        let query = Query(recordType: "Note")
        try await client.modify([try client.save("first", ["n": .int64(0)])])
        #expect(try await client.find(query, in: .default).count == 1)
        try client.store.close()
        // More than a query waits for, in another zone, by a store that nobody asks.
        client = try open(.writing)
        client.zone = ZoneID(zoneName: "big")
        try await client.createZone()
        for start in stride(from: 0, to: 6_000, by: 400) {
            let saves = try (start..<start + 400).map {
                try client.save("r\($0)", ["n": .int64(Int64($0))])
            }
            try await client.modify(saves)
        }
        // Closed at once, in the midst of it.
        for _ in 0..<5 {
            try client.store.close()
            client = try open(.writing)
        }
        // Nobody has asked yet.
        let indexes = try #require(try client.store.parts.queries.indexes)
        let last = client.store.lastSequence
        // The update reports its progress until it has ended, a moment after it set the position.
        for _ in 0..<6_000
        where indexes.position != last || client.store.queryIndexProgress != nil {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(indexes.position == last)
        let small = try await client.find(query, in: .default)
        #expect(small.map(\.recordID.recordName) == ["first"])
        #expect(client.store.queryIndexProgress == nil)
        client.zone = ZoneID(zoneName: "big")
        #expect(try await client.find(query, in: client.zone).count == 6_000)
        try client.store.close()
    }

    @Test func `If the index cannot be updated, few records are scanned`() async throws {
        var client = try open(.creating, looksFirst: true)
        client.zone = .default
        try await client.modify([
            try client.save("a", ["n": .int64(1)]), try client.save("b", ["n": .int64(2)]),
        ])
        // As it is while the store is being closed: whoever waits for the index is refused.
        try client.store.parts.queries.indexes?.stop()
        let query = Query(recordType: "Note", sortDescriptors: [.descending("n")])
        let found = try await client.find(query, in: .default)
        #expect(found.map(\.recordID.recordName) == ["b", "a"])
        // What takes more than a page waits.
        await #expect {
            _ = try await client.find(query, in: .default, pages: { 1 })
        } throws: { error in
            (error as? SyncError)?.code == .serviceUnavailable
        }
        try client.store.close()
    }

    private func isThere(_ zone: ZoneID?, _ client: Client) async throws -> Bool {
        guard let zone else { return true }
        return try await client.store.zones(as: client.caller).contains { $0.zoneID == zone }
    }

    @Test(arguments: 30..<(runsLongTests ? 40 : 32) as Range<UInt64>, [false, true])
    func `A query at a past point has its past result, unless it was pruned`(
        seed: UInt64,
        compacts: Bool
    ) async throws {
        var history = try await QueriedStore(try open(.creating), seed: seed)
        struct Answer {
            var position: SequenceNumber
            var query: Query
            var zone: ZoneID?
            var found: [Record]
        }
        var answers: [Answer] = []
        var horizon = SequenceNumber.zero
        for round in 0..<6 {
            try await history.grow(by: 15)
            if compacts, round == 3 {
                horizon = try await history.client.store.compact(.keepingNothing).historyHorizon
                #expect(horizon > .zero)
            }
            for _ in 0..<4 {
                let query = history.query()
                let zone = history.generator.pick([nil, ZoneID.default] + QueriedStore.zones)
                guard try await isThere(zone, history.client) else { continue }
                let found = try await history.client.find(query, in: zone)
                let position = history.client.store.lastSequence
                answers.append(Answer(position: position, query: query, zone: zone, found: found))
            }
        }
        #expect(answers.contains { !$0.found.isEmpty })
        for answer in answers {
            if answer.position < horizon {
                let error = await #expect(throws: SyncError.self) {
                    try await history.client.find(
                        answer.query,
                        in: answer.zone,
                        asOf: answer.position
                    )
                }
                #expect(error?.isHistoryPruned == true)
                continue
            }
            let found = try await history.client.find(
                answer.query,
                in: answer.zone,
                pages: { 7 },
                asOf: answer.position
            )
            #expect(found == answer.found, "\(answer.query) as of \(answer.position)")
        }
    }

    @Test func `A store open for reading has equal results and writes nothing`() async throws {
        var history = try await QueriedStore(try open(.creating), seed: 20)
        try await history.grow(by: 60)
        var answers: [(query: Query, zone: ZoneID?, found: [Record])] = []
        for _ in 0..<20 {
            let query = history.query()
            let zone = history.generator.pick([nil, ZoneID.default])
            answers.append((query, zone, try await history.client.find(query, in: zone)))
        }
        // Beside the writer, and without one and without an index.
        for isLive in [true, false] {
            if !isLive {
                try history.client.store.close()
                try FileManager.default.removeItem(atPath: folder.path() + "/queries")
            }
            let reader = try open(.reading)
            for (query, zone, found) in answers {
                #expect(try await reader.find(query, in: zone, pages: { 5 }) == found)
            }
            try reader.store.close()
            let hasIndex = FileManager.default.fileExists(atPath: folder.path() + "/queries")
            #expect(hasIndex == isLive)
        }
    }

    @Test func `A store open for reading evaluates now() for each query, once for all pages`()
        async throws
    {
        let writer = try open(.creating)
        try await writer.createZone()
        for number in 1...3 as ClosedRange<Int64> {
            let due = FieldValue.timestamp(QueriedStore.now + 1_000 * number)
            try await writer.modify([try writer.save("r\(number)", ["due": due])])
        }
        try writer.store.close()
        let clock = HookedClock()
        var environment = environment
        environment.log.now = { clock.now }
        environment.log.uptime = nil
        let store = try Store.open(
            at: folder.path(),
            access: .reading,
            options: QueriedStore.options,
            environment: environment
        )
        let client = Client(store: store)
        #expect(try await client.find("due < now()") == [])
        clock.pass(2_500)
        #expect(try await client.find("due < now()").count == 2)
        let predicate = try Query.Predicate(format: "due < now()")
        var request = QueryRequest(Query(recordType: "Note", predicate: predicate), in: client.zone)
        request.limit = 1
        let first = try await store.query(request, as: client.caller)
        #expect(first.records.count == 1)
        clock.pass(1_000)
        #expect(try await client.find("due < now()").count == 3)
        // The pages of a query have one time, even if other queries were answered in between.
        request.limit = nil
        request.cursor = first.cursor
        let rest = try await store.query(request, as: client.caller)
        let names = (first.records + rest.records).map(\.recordID.recordName)
        #expect(names.sorted() == ["r1", "r2"])
    }

    @Test func `Pages stay correct while records change`() async throws {
        var history = try await QueriedStore(try open(.creating), seed: 30)
        history.client.zone = .default
        let client = history.client
        for number in 0..<120 {
            let fields = try Fields([
                "title": .string("t\(number % 7)"), "n": .int64(Int64(number)),
            ])
            try await client.modify([
                RecordSave(client.id("k\(number)"), type: "Note", fields: fields)
            ])
        }
        for descending in [false, true] {
            let query = Query(
                recordType: "Note",
                sortDescriptors: [.init("title", ascending: !descending)]
            )
            var found: [String] = []
            var request = QueryRequest(query, in: .default, limit: 8)
            var step = 0
            repeat {
                let page = try await client.store.query(request, as: client.caller)
                found += page.records.map(\.recordID.recordName)
                request.cursor = page.cursor
                // Numbers that 3 divides stay as they are; others move, go, and come.
                for number in [3 * step + 1, 3 * step + 2] where number < 120 {
                    let save = try client.save(
                        "k\(number)",
                        ["title": .string("t\((number + step) % 7)")],
                        policy: .changedKeys
                    )
                    try await client.modify(
                        number % 2 == 0 ? [save] : [],
                        delete: number % 2 == 0 ? [] : [RecordDeletion(client.id("k\(number)"))]
                    )
                }
                try await client.modify([
                    try client.save("new\(descending)\(step)", ["title": "t3"])
                ])
                step += 1
            } while request.cursor != nil
            for number in stride(from: 0, to: 120, by: 3) {
                #expect(found.count { $0 == "k\(number)" } == 1, "k\(number)")
            }
        }
    }
}
