// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLock
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// What a compaction forgets, and what it does not.
@Suite struct CompactionTests {
    /// Something that others wait for.
    private final class Signal: Sendable {
        private let state = Lock(false)

        var isGiven: Bool { state.withLock { $0 } }

        func give() { state.withLock { $0 = true } }
    }

    /// A store on disk.
    private final class World {
        let folder: ScratchFolder
        let clock = HookedClock()
        var options = StoreOptions()
        private let slotMask: UInt64
        private(set) var store: Store?

        static let day: Int64 = 24 * 60 * 60 * 1000

        init(
            slotMask: UInt64 = .max,
            _ change: (inout StoreOptions) -> Void = { _ in }
        ) throws {
            self.slotMask = slotMask
            folder = try ScratchFolder()
            options.segmentByteCount = 64 << 10
            change(&options)
            store = try open(.creating)
        }

        private func open(_ access: StoreAccess) throws -> Store {
            var environment = StoreEnvironment()
            let clock = clock
            environment.log.now = { clock.now }
            environment.log.uptime = nil
            environment.slotMask = slotMask
            return try Store.open(
                at: folder.path(),
                access: access,
                options: options,
                environment: environment
            )
        }

        func pass(days: Int64) { clock.pass(days * Self.day) }

        func reopen(dropsViews: Bool = false) throws {
            try store?.close()
            store = nil
            if dropsViews { try FileManager.default.removeItem(atPath: folder.path() + "/views") }
            store = try open(.writing)
        }

        var client: Client {
            get throws { Client(store: try #require(store)) }
        }

        func compact(
            history: CompactionPolicy.Retention,
            tombstones: CompactionPolicy.Retention = .all,
            isDryRun: Bool = false
        ) async throws -> CompactionReport {
            var policy = CompactionPolicy()
            policy.history = history
            policy.tombstones = tombstones
            return try await #require(store).compact(policy, isDryRun: isDryRun)
        }

        /// What a folder's log says of itself.
        func verify() throws {
            let reader = try LogReader(folder.path(), fileSystem: PosixFileSystem())
            #expect(try reader.verify().damage == [])
        }
    }

    /// Saves versions of a record, each a day after the one before; returns the position of each.
    private func save(
        _ name: String,
        _ numbers: ClosedRange<Int64>,
        in world: World
    ) async throws
        -> [UInt64]
    {
        var positions: [UInt64] = []
        for number in numbers {
            world.pass(days: 1)
            let client = try world.client
            let save = try client.save(name, ["n": .int64(number)], policy: .changedKeys)
            let record = try await client.modify([save]).saves[0].get()
            let tag = try #require(record.changeTag)
            positions.append(try #require(TagContent(tag)).sequence.rawValue)
        }
        return positions
    }

    @Test func `Closing a store shrinks its views only after a compaction`() async throws {
        let world = try World { $0.checkpointEventCount = 1_000 }
        let views = world.folder.path() + "/views/data.mdb"
        func viewByteCount() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: views)[.size] as? Int ?? 0
        }
        try await world.client.createZone()
        // Each once more after all others, so that pages are emptied one entry after another.
        for round in 0..<4 as Range<Int64> {
            for start in stride(from: 0, to: 8_000, by: 400) {
                let client = try world.client
                _ = try await client.modify(
                    (start..<start + 400).map { index in
                        try client.save(
                            "r\(index * 7_919 % 8_000)",
                            ["n": .int64(round)],
                            policy: .changedKeys
                        )
                    }
                )
            }
        }
        try world.reopen()
        let before = try viewByteCount()
        let changes = try await world.client.changes().changes
        _ = try await world.compact(history: .none)
        try world.reopen()
        let after = try viewByteCount()
        #expect(after * 2 < before)
        #expect(try await world.client.changes().changes == changes)
        try world.verify()
    }

    @Test func `Versions in the history stay exact, and older points are pruned`() async throws {
        let world = try World()
        try await world.client.createZone()
        let positions = try await save("r", 1...10, in: world)
        let database = try world.client.caller.database
        let id = try world.client.id("r")
        // Half a day after the last version: the last five came within five days.
        world.clock.pass(World.day / 2)
        let report = try await world.compact(history: .atLeast(.milliseconds(5 * World.day)))
        #expect(report.historyHorizon.rawValue == positions[4])
        #expect(report.droppedCount == 4)
        try world.reopen(dropsViews: true)
        let store = try #require(world.store)
        for (number, position) in zip(Int64(1)..., positions) {
            let point = SequenceNumber(rawValue: position)
            if number >= 5 {
                let record = try store.record(id, of: database, asOf: point)
                #expect(record["n"] == .int64(number))
                continue
            }
            let error = #expect(throws: SyncError.self) {
                try store.record(id, of: database, asOf: point)
            }
            #expect(error?.isHistoryPruned == true)
            let other = #expect(throws: SyncError.self) {
                try store.visitRecords(of: database, asOf: point) { _ in true }
            }
            #expect(other?.isHistoryPruned == true)
        }
        try world.verify()
        // Keeping more later brings nothing back, and takes nothing.
        let again = try await world.compact(history: .all)
        #expect(again.historyHorizon.rawValue == positions[4])
        #expect(again.droppedCount == 0)
        #expect(try await world.client.fetch("r")[0].get()["n"] == .int64(10))
    }

    @Test func `A dry run reports the result and changes nothing`() async throws {
        let world = try World()
        try await world.client.createZone()
        _ = try await save("r", 1...6, in: world)
        let client = try world.client
        let token = try await client.changes().token
        try await client.modify([], delete: [RecordDeletion(client.id("r"))])
        let names = {
            try FileManager.default.contentsOfDirectory(atPath: world.folder.path() + "/segments")
        }
        let before = try names()
        let last = client.store.figures
        let dry = try await world.compact(history: .none, tombstones: .none, isDryRun: true)
        // Whoever reads beside the writer may ask too, once the last commit can be read.
        var reader = try Store.open(at: world.folder.path(), access: .reading)
        while reader.lastSequence < client.store.lastSequence {
            try reader.close()
            reader = try Store.open(at: world.folder.path(), access: .reading)
        }
        let beside = try await reader.compact(.keepingNothing, isDryRun: true)
        #expect(beside.eventCount == dry.eventCount)
        #expect(beside.droppedCount == dry.droppedCount)
        #expect(beside.expiries == dry.expiries)
        #expect(beside.historyHorizon == dry.historyHorizon)
        await #expect(throws: SyncError.self) { try await reader.compact(.keepingNothing) }
        try reader.close()
        #expect(try names() == before)
        #expect(try client.store.figures() == last())
        #expect(try await client.changes(since: token).changes.count == 1)
        let report = try await world.compact(history: .none, tombstones: .none)
        #expect(report.droppedCount == dry.droppedCount)
        #expect(report.expiries == dry.expiries)
        #expect(report.historyHorizon == dry.historyHorizon)
        #expect(report.expiries.count == 1)
        #expect(await refusal { try await client.changes(since: token) } == .changeTokenExpired)
    }

    @Test func `Tombstones are kept for the configured time`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        try await client.modify([
            try client.save("old", ["n": 1]), try client.save("young", ["n": 1]),
        ])
        let token = try await client.changes().token
        try await client.modify([], delete: [RecordDeletion(client.id("old"))])
        world.pass(days: 20)
        let middle = try await client.changes().token
        try await client.modify([], delete: [RecordDeletion(client.id("young"))])
        world.pass(days: 20)
        let thirty = CompactionPolicy.Retention.atLeast(.milliseconds(30 * World.day))
        let report = try await world.compact(history: .none, tombstones: thirty)
        #expect(report.expiries.count == 1)
        for _ in 0..<2 {
            let client = try world.client
            #expect(await refusal { try await client.changes(since: token) } == .changeTokenExpired)
            // A device that has heard of the first deletion hears of the second.
            #expect(try await client.changes(since: middle).changes.count == 1)
            #expect(try await client.changes().changes.isEmpty)
            // What was deleted and forgotten begins anew.
            for name in ["old", "young"] {
                #expect(try await client.fetch(name)[0].error?.code == .unknownItem)
            }
            try world.reopen(dropsViews: true)
        }
        let again = try world.client
        try await again.modify([try again.save("old", ["n": 2])])
        #expect(try await again.changes(since: middle).changes.count == 2)
        try world.verify()
    }

    @Test(arguments: [false, true])
    func `A record that begins anew after its tombstone is counted once`(
        keepsRequests: Bool
    ) async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        func figures() throws -> [Int64] {
            let figures = try world.client.store.parts.reader.picture(.visible).figures()
            return [figures.liveRecordCount, figures.tombstoneCount]
        }
        // A request that may be repeated keeps its deletion in the log.
        func request() -> String? { keepsRequests ? UUID().uuidString : nil }
        try await client.put("b", ["n": 1])
        for number in 1...3 as ClosedRange<Int64> {
            let save = try client.save("a", ["n": .int64(number)])
            try await client.modify([save], request: request())
            let deletion = RecordDeletion(client.id("a"))
            try await client.modify([], delete: [deletion], request: request())
            #expect(try figures() == [1, 1])
            _ = try await world.compact(history: .none, tombstones: .none)
            #expect(try figures() == [1, 0])
        }
        try await client.put("a", ["n": 4])
        #expect(try figures() == [2, 0])
        for dropsViews in [false, true] {
            try world.reopen(dropsViews: dropsViews)
            #expect(try figures() == [2, 0])
            #expect(try Store.verify(at: world.folder.path()).findings == [])
        }
    }

    @Test func `A retried request gets its first result after a compaction`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        let request = ModifyRecordsRequest(
            saves: [try client.save("r", ["n": 1], policy: .changedKeys)]
        )
        var caller = client.caller
        caller.requestID = "once"
        let first = try await client.store.modifyRecords(request, as: caller)
        _ = try await save("r", 2...5, in: world)
        let report = try await world.compact(history: .none)
        #expect(report.requestCount == 1)
        #expect(report.droppedCount == 0)
        try world.reopen(dropsViews: true)
        #expect(try await world.client.store.modifyRecords(request, as: caller) == first)
        world.pass(days: 100)
        let later = try await world.compact(history: .none)
        #expect(later.requestCount == 0)
        // And the event with which the first one began.
        #expect(later.droppedCount == 4 + 1)
        for dropsViews in [false, true] {
            try world.reopen(dropsViews: dropsViews)
            let client = try world.client
            let record = try await client.store.modifyRecords(request, as: caller).saves[0].get()
            #expect(record["n"] == .int64(1))
            #expect(record.changeTag != (try first.saves[0].get().changeTag))
            _ = try await save("r", 7...7, in: world)
            caller.requestID = "twice"
        }
    }

    @Test func `Imported lines are recognized after all their changes are dropped`() async throws {
        let world = try World()
        let store = try #require(world.store)
        var text = ""
        for number in 1...30 {
            text +=
                "{\"time\":\(number),\"user\":\"_anna\",\"changes\":[{\"op\":\"save\",\"zone\":\"Notes\","
                + "\"recordName\":\"r\",\"recordType\":\"Note\",\"fields\":{\"n\":\(number)}}]}\n"
        }
        func importAll() async throws -> Int {
            var known = 0
            var changes = try store.beginImport()
            for line in text.split(separator: "\n") {
                var reader = ChangeStreamReader()
                let parsed = try reader.read(Array(line.utf8))
                if case .skipped = try await changes.add(parsed) { known += 1 }
            }
            try await changes.finish()
            return known
        }
        #expect(try await importAll() == 0)
        let report = try await world.compact(history: .none)
        #expect(report.droppedCount == 29)
        #expect(try await importAll() == 30)
        // A client that held one of the versions that are gone has a conflict like any other.
        let client = try world.client
        let server = try await client.fetch("r")[0].get()
        let position = try #require(server.changeTag.flatMap { TagContent($0) }).sequence.rawValue
        for gone in position - 29..<position {
            let tag = TagContent(
                of: SequenceNumber(rawValue: gone),
                in: try LogReader(world.folder.path(), fileSystem: PosixFileSystem()).line
            ).tag
            let save = try client.save("r", ["n": 0], tag: tag)
            let conflict = try await client.modify([save], isAtomic: false).saves[0].error?.conflict
            #expect(conflict?.server == server)
            #expect(conflict?.ancestor == nil)
        }
    }

    @Test func `Queries and subscriptions continue after a compaction`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        for number in 0..<20 {
            try await client.modify([try client.save("r\(number)", ["n": .int64(Int64(number))])])
        }
        let query = QueryRequest(
            Query(recordType: "Note", predicate: .compare("n", .lessThan, 10)),
            in: client.zone
        )
        #expect(try await client.store.query(query, as: client.caller).records.count == 10)
        for number in 0..<10 {
            let save = try client.save("r\(number)", ["n": 100], policy: .changedKeys)
            try await client.modify([save])
        }
        try await client.modify([], delete: (10..<15).map { RecordDeletion(client.id("r\($0)")) })
        _ = try await world.compact(history: .none, tombstones: .none)
        for _ in 0..<2 {
            let client = try world.client
            #expect(try await client.store.query(query, as: client.caller).records.isEmpty)
            let all = QueryRequest(Query(recordType: "Note"), in: client.zone)
            #expect(try await client.store.query(all, as: client.caller).records.count == 15)
            try world.reopen()
        }
    }

    @Test func `A deleted zone leaves only its deletion`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        let database = try await client.databaseChanges()
        for number in 0..<20 {
            try await client.modify([try client.save("r\(number)", ["n": 1])])
        }
        try await client.deleteZone()
        let report = try await world.compact(history: .none)
        #expect(report.droppedCount == 20)
        for dropsViews in [false, true] {
            try world.reopen(dropsViews: dropsViews)
            let client = try world.client
            let page = try await client.databaseChanges(since: database.token)
            #expect(page.changes == [.deleted(client.zone, .deleted)])
        }
    }

    @Test func `A store closed during a compaction is unchanged and can be reopened`()
        async throws
    {
        let world = try World { $0.segmentByteCount = 256 << 10 }
        let client = try world.client
        try await client.createZone()
        var random = SeededGenerator(seed: 1)
        for number in 0..<40 {
            let noise = (0..<60_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            try await client.modify([
                try client.save("r\(number)", ["noise": .bytes(noise), "n": .int64(Int64(number))])
            ])
        }
        let store = client.store
        let compaction = Task { try? await store.compact() }
        try await Task.sleep(for: .milliseconds(5))
        for _ in 0..<3 {
            // In one process the views are free when the call that is under way has ended.
            while true {
                do {
                    try world.reopen()
                    break
                } catch let error as LogError {
                    guard error.code == .unreadable else { throw error }
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            let client = try world.client
            #expect(try await client.changes().changes.count == 40)
            _ = try await client.store.compact()
        }
        _ = await compaction.value
        try world.reopen(dropsViews: true)
        #expect(try await world.client.changes().changes.count == 40)
        try world.verify()
    }

    @Test func `Events after the beginning of a compaction stay`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        _ = try await save("r", 1...1, in: world)
        let start = client.store.lastSequence
        // The compaction reads the clock after the followers have settled, before it reads the log.
        world.clock.beforeNextReading {
            for number in 2...3 as ClosedRange<Int64> { Self.save("r", number, by: client) }
        }
        let report = try await world.compact(history: .none)
        #expect(report.historyHorizon == start)
        #expect(report.droppedCount == 0)
        #expect(try await client.fetch("r")[0].get()["n"] == .int64(3))
        let later = try await world.compact(history: .none)
        #expect(later.droppedCount >= 2)
        try world.reopen(dropsViews: true)
        #expect(try await world.client.fetch("r")[0].get()["n"] == .int64(3))
        try world.verify()
    }

    /// Saves on another thread, and returns when that is done.
    private static func save(_ name: String, _ number: Int64, by client: Client) {
        let isSaved = DispatchSemaphore(value: 0)
        _ = Task {
            defer { isSaved.signal() }
            let fields: KeyValuePairs<String, FieldValue?> = ["n": .int64(number)]
            try await client.modify([try client.save(name, fields, policy: .changedKeys)])
        }
        isSaved.wait()
    }

    @Test func `A compaction begins although others write all the time`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        _ = try await save("r", 1...40, in: world)
        let clock = world.clock
        let count = Lock<Int64>(0)
        // Before each reading of the clock, also those between the compaction's plan and its commit.
        @Sendable func saveBeforeNextReading() {
            clock.beforeNextReading {
                // The writer reads it too, and a save would wait for the writer.
                guard let reader = try? client.store.parts.reader else { return }
                let appended = try? reader.picture(.appended).bound
                guard appended == reader.source.durableSequence else {
                    return saveBeforeNextReading()
                }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                Self.save("w", number, by: client)
                if number < 100 { saveBeforeNextReading() }
            }
        }
        saveBeforeNextReading()
        let report = try await withTaskExecutorPreference(OwnThread()) {
            try await world.compact(history: .none)
        }
        let written = count.withLock { $0 }
        #expect((3..<100).contains(written), "one attempt reads the clock twice")
        #expect(report.droppedCount == 39)
        try world.reopen(dropsViews: true)
        #expect(try await world.client.fetch("w")[0].get()["n"] == .int64(written))
        try world.verify()
    }

    @Test func `A name that takes another slot meanwhile keeps the way to it`() async throws {
        // All names of a zone have one hash.
        let world = try World(slotMask: 0)
        let client = try world.client
        try await client.createZone()
        try await client.modify([try client.save("a", ["n": 1])])
        try await client.modify([], delete: [RecordDeletion(client.id("a"))])
        // The first reading of the compaction is before its plan, and the second after it.
        world.clock.beforeNextReading { [clock = world.clock] in
            clock.beforeNextReading { Self.save("b", 2, by: client) }
        }
        let report = try await withTaskExecutorPreference(OwnThread()) {
            try await world.compact(history: .none, tombstones: .none)
        }
        #expect(report.expiries.isEmpty)
        #expect(try await client.fetch("b")[0].get()["n"] == .int64(2))
        try world.reopen(dropsViews: true)
        #expect(try await world.client.fetch("b")[0].get()["n"] == .int64(2))
        try world.verify()
    }

    @Test func `Writers continue during a compaction, readers keep their snapshot`() async throws {
        let world = try World()
        let client = try world.client
        try await client.createZone()
        for number in 0..<300 {
            let save = try client.save(
                "r\(number % 20)",
                ["n": .int64(Int64(number))],
                policy: .changedKeys
            )
            try await client.modify([save])
        }
        let isDone = Signal()
        try await withThrowingTaskGroup(of: Void.self) { [client] group in
            for writer in 0..<3 {
                group.addTask {
                    var number: Int64 = 0
                    while !isDone.isGiven {
                        number += 1
                        let save = try client.save(
                            "w\(writer)",
                            ["n": .int64(number)],
                            policy: .changedKeys
                        )
                        try await client.modify([save])
                        let fetched = try await client.fetch("w\(writer)", "r3")
                        #expect(try fetched[0].get()["n"] == .int64(number))
                        #expect(try fetched[1].get()["n"] == .int64(283))
                    }
                }
            }
            group.addTask {
                while !isDone.isGiven {
                    let names = Set(try await client.changes().changes.map(\.recordID.recordName))
                    #expect(names.isSuperset(of: (0..<20).map { "r\($0)" }))
                    // A read need not suspend, and others need its thread.
                    await Task.yield()
                }
            }
            group.addTask {
                for _ in 0..<6 {
                    _ = try await client.store.compact(.keepingNothing)
                }
                isDone.give()
            }
            try await group.waitForAll()
        }
        try world.reopen(dropsViews: true)
        #expect(try await world.client.changes().changes.count == 23)
        try world.verify()
    }
}

extension RecordChange {
    fileprivate var recordID: RecordID {
        switch self {
        case .changed(let record): record.recordID
        case .deleted(let deleted): deleted.recordID
        }
    }
}
