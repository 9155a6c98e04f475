// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Queries of a shared database find what its shares show, and nothing else.
@Suite struct SharedQueryTests {
    private func names(
        _ client: Client,
        in zone: ZoneID?,
        limit: Int? = nil
    ) async throws -> [String] {
        let query = Query(
            recordType: "Node",
            predicate: .compare("n", .greaterThanOrEqual, 0),
            sortDescriptors: [.init("n", ascending: false)]
        )
        return try await client.find(query, in: zone, pages: { limit }).map(\.recordID.recordName)
    }

    @Test func `A participant finds the records under the share, page by page`() async throws {
        let world = try await SharingWorld()
        let anna = world.anna
        let bob = world.guest("bob")
        var saves = [try anna.node("root", ["n": 100])]
        for number in 0..<30 {
            let parent = number % 3 == 0 ? "root" : nil
            saves.append(try anna.node("k\(number)", under: parent, ["n": .int64(Int64(number))]))
        }
        try await anna.modify(saves)
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readOnly)])])
        await #expect(throws: SyncError.self) { try await names(bob, in: bob.zone) }
        try await bob.accept("s", of: anna)
        let shown = ["root"] + stride(from: 27, through: 0, by: -3).map { "k\($0)" }
        for limit in [nil, 1, 4, 200] {
            #expect(try await names(bob, in: bob.zone, limit: limit) == shown)
        }
        #expect(try await names(anna, in: anna.zone).count == 31)
        var error = await #expect(throws: SyncError.self) { try await names(bob, in: nil) }
        #expect(error?.code == .invalidArguments)
        // What leaves is found no more, what comes is.
        var leaving = try anna.node("k27", ["n": 27])
        leaving.parent = .removed
        try await anna.modify([leaving, try anna.node("k1", under: "root", ["n": 1])])
        let moved = shown.filter { $0 != "k27" && $0 != "k0" } + ["k1", "k0"]
        #expect(try await names(bob, in: bob.zone, limit: 3) == moved)
        error = await #expect(throws: SyncError.self) {
            let past = Query(recordType: "Node", predicate: .compare("n", .equal, 1))
            _ = try await bob.find(past, in: bob.zone, asOf: SequenceNumber(rawValue: 3))
        }
        #expect(error?.code == .invalidArguments)
        // A store that is open for reading answers the same.
        try world.store.close()
        let reader = try Store.open(at: world.folder.path(), access: .reading)
        let again = SharingWorld.guest("bob", in: reader)
        #expect(try await names(again, in: again.zone, limit: 3) == moved)
    }

    @Test func `A page without the index is not continued for a participant who was removed`()
        async throws
    {
        let world = try await SharingWorld()
        let anna = world.anna
        let bob = world.guest("bob")
        var saves = [try anna.node("root", ["n": 100])]
        for number in 0..<5 { saves.append(try anna.node("k\(number)", under: "root", ["n": 1])) }
        try await anna.modify(saves)
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readOnly)])])
        try await bob.accept("s", of: anna)
        await world.store.letOthersRead()
        let reading = try Store.open(at: world.folder.path(), access: .reading)
        var request = QueryRequest(Query(recordType: "Node"), in: bob.zone)
        request.limit = 2
        request.cursor = try await reading.query(request, as: bob.caller).cursor
        #expect(request.cursor != nil)
        // The result is kept, and must not be used any more.
        #expect(try await world.store.query(request, as: bob.caller).records.count == 2)
        try await anna.modify([], delete: [RecordDeletion(anna.id("s"))])
        await #expect(throws: SyncError.self) {
            try await world.store.query(request, as: bob.caller)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `A query of a shared zone does not keep history from being dropped`() async throws {
        let world = try await SharingWorld()
        let bob = world.guest("bob")
        try await world.anna.modify([try world.anna.node("root", ["n": 1])])
        let share = try world.anna.share("s", of: "root", with: [("bob", .readOnly)])
        try await world.anna.modify([share])
        try await bob.accept("s", of: world.anna)
        let query = Query(recordType: "Node", predicate: .compare("n", .equal, 1))
        // As of the last event, records are read without the index, and the result is kept for more pages.
        let last = world.store.lastSequence
        #expect(try await bob.find(query, in: bob.zone, asOf: last).count == 1)
        for _ in 0..<3 { try await world.anna.modify([try world.anna.node("other", ["n": 2])]) }
        // It waits until nobody has a picture of before.
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await world.store.compact(policy)
    }

    @Test func `A record that leaves a share during a query is not found as it is later`()
        async throws
    {
        let clock = HookedClock()
        var environment = StoreEnvironment()
        environment.log.now = { clock.now }
        environment.log.uptime = nil
        let world = try await SharingWorld(environment: environment)
        let anna = world.anna
        let bob = world.guest("bob")
        try await anna.modify([
            try anna.node("root", ["n": 100]), try anna.node("k", under: "root"),
        ])
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readOnly)])])
        try await bob.accept("s", of: anna)
        #expect(try await names(bob, in: bob.zone) == ["root", "k"])
        // A query reads the clock after the shares, before it reads the index.
        clock.beforeNextReading {
            let isDone = DispatchSemaphore(value: 0)
            _ = Task {
                defer { isDone.signal() }
                var leaving = try anna.node("k", ["n": 2])
                leaving.parent = .removed
                try await anna.modify([leaving])
                // Updates the index.
                _ = try await names(anna, in: anna.zone)
            }
            isDone.wait()
        }
        // Not on the threads that all tasks share: the clock blocks the thread.
        let queue = WorkQueue(label: "tidemark.tests")
        let query = Task(executorPreference: queue) { try await names(bob, in: bob.zone) }
        #expect(try await query.value == ["root"])
        #expect(try await names(anna, in: anna.zone) == ["root", "k"])
    }

    @Test func `All records of a zone-wide share are found`() async throws {
        let world = try await SharingWorld()
        let anna = world.anna
        let bob = world.guest("bob")
        try await anna.modify([try anna.node("a"), try anna.node("b", ["n": 2])])
        let name = Share.zoneWideName
        try await anna.modify([try anna.share(name, of: nil, with: [("bob", .readWrite)])])
        try await bob.accept(name, of: anna)
        #expect(try await names(bob, in: bob.zone) == ["b", "a"])
    }

    @Test func `Shared zones with equal names stay distinct, also without an index`() async throws {
        let world = try await SharingWorld()
        let bob = world.guest("bob")
        var carol = world.anna
        carol.caller = Caller(database: DatabaseID(owner: UserID("_carol")), user: UserID("_carol"))
        try await carol.createZone()
        let name = Share.zoneWideName
        for owner in [world.anna, carol] {
            let user = owner.caller.user?.userRecordName ?? ""
            try await owner.modify([try owner.node("of\(user)")])
            try await owner.modify([try owner.share(name, of: nil, with: [("bob", .readOnly)])])
            try await bob.accept(name, of: owner)
        }
        try world.store.close()
        let reader = try Store.open(at: world.folder.path(), access: .reading)
        let again = SharingWorld.guest("bob", in: reader)
        for owner in ["_anna", "_carol"] {
            let zone = ZoneID(zoneName: "Notes", ownerName: owner)
            #expect(try await names(again, in: zone) == ["of\(owner)"])
        }
    }

    @Test func `A query of a cancelled task throws operationCancelled`() async throws {
        let world = try await SharingWorld()
        let anna = world.anna
        try await anna.modify([try anna.node("a")])
        let task = Task {
            await #expect(throws: SyncError.self) {
                while !Task.isCancelled { await Task.yield() }
                _ = try await names(anna, in: anna.zone)
            }
        }
        task.cancel()
        #expect(await task.value?.code == .operationCancelled)
    }
}
