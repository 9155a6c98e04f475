// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// What becomes of notifications that nobody reads.
@Suite struct NotificationRetentionTests {
    private static let day = ScratchAssets.day

    /// A store that keeps few notifications, a client that makes changes, and one that hears of them.
    private struct World {
        let scratch: ScratchAssets
        let phone: Client
        let laptop: Client

        init(
            _ disk: SimulatedFileSystem = SimulatedFileSystem(keepsTrace: false),
            limit: Int = .max,
            lifetime: Int64 = .max
        ) async throws {
            var options = StoreOptions()
            options.limits.notificationsPerUser = limit
            options.notificationLifetime = .milliseconds(lifetime)
            scratch = try ScratchAssets(disk, options: options)
            phone = scratch.client(zone: ZoneID(zoneName: "Notes")).client(on: "phone")
            laptop = phone.client(on: "laptop")
            try await phone.createZone()
            try await laptop.subscribe("all", on: [.create])
        }

        /// So many events, each notified of before the next.
        func put(_ numbers: Range<Int>) async throws {
            for number in numbers {
                try await phone.put("r\(number)", ["n": 1])
                try await scratch.store.waitUntilNotified()
            }
        }

        /// The numbers of the records that the collection has notifications of.
        func kept() async throws -> [Int] { try await laptop.heard().notifications.numbers }

        func code(since token: ChangeToken, limit: Int? = nil) async -> SyncError.Code? {
            await refusal { try await laptop.heard(since: token, limit: limit) }
        }
    }

    @Test func `Notifications over the limit are dropped, earlier tokens expire`() async throws {
        let world = try await World(limit: 16)
        let start = try await world.laptop.heard().token
        try await world.put(0..<4)
        let early = try await world.laptop.heard(since: start).token
        try await world.put(4..<16)
        #expect(try await world.kept() == Array(0..<16))
        #expect(try await world.laptop.heard(since: start).notifications.numbers == Array(0..<16))
        // One more, and a sixteenth goes with what is too much.
        try await world.put(16..<17)
        #expect(try await world.kept() == Array(2..<17))
        #expect(await world.code(since: start) == .changeTokenExpired)
        // Also on the first page, which would have nothing to say of what is missing.
        #expect(await world.code(since: start, limit: 1) == .changeTokenExpired)
        // Who has fetched what was dropped is answered, and not told that anybody has read it.
        let rest = try await world.laptop.heard(since: early, limit: 2).notifications
        #expect(rest.map(\.kind) == Array(repeating: .query, count: 13))
        #expect(rest.numbers == Array(4..<17))
        try await world.put(17..<24)
        #expect(try await world.kept().count <= 16)
        #expect(await world.code(since: early) == .changeTokenExpired)
    }

    @Test func `Read notifications free space`() async throws {
        let world = try await World(limit: 10)
        let start = try await world.laptop.heard().token
        try await world.put(0..<10)
        let first = try await world.laptop.heard().notifications.prefix(6)
        _ = try await world.scratch.store.markNotificationsRead(
            first.compactMap(\.id),
            as: world.laptop.caller
        )
        try await world.put(10..<16)
        #expect(try await world.kept() == Array(6..<16))
        #expect(await world.code(since: start) == nil)
        let pad = world.laptop.client(on: "pad")
        let told = try await pad.heard(since: start).notifications
        #expect(told.filter { $0.kind == .read }.map(\.id) == first.map(\.id))
    }

    @Test func `The next notification drops expired ones, by the store's clock`() async throws {
        let world = try await World(lifetime: 2 * Self.day)
        let start = try await world.laptop.heard().token
        try await world.put(0..<3)
        world.scratch.wait(Self.day)
        try await world.put(3..<5)
        let middle = try await world.laptop.heard().token
        world.scratch.wait(Self.day)
        try await world.put(5..<6)
        #expect(try await world.kept() == Array(0..<6), "they are not older than two days")
        world.scratch.wait(1)
        #expect(try await world.kept() == Array(0..<6))
        try await world.put(6..<7)
        #expect(try await world.kept() == Array(3..<7))
        #expect(await world.code(since: start) == .changeTokenExpired)
        #expect(try await world.laptop.heard(since: middle).notifications.numbers == [5, 6])
        world.scratch.wait(10 * Self.day)
        try await world.put(7..<8)
        #expect(try await world.kept() == [7])
    }

    @Test func `Zone notifications and those of other users are not dropped`() async throws {
        let world = try await World(limit: 2)
        let zone = Subscription("zone", .zone(world.phone.zone))
        try await world.laptop.subscribe(zone, Subscription("database", .database()))
        let open = DatabaseID(scope: .public)
        let bert = world.scratch.client("_bert", of: open)
        try await bert.subscribe("public", on: [.create])
        let anna = world.scratch.client(of: open)
        for name in ["a", "b"] {
            try await anna.put(name, ["n": 1])
        }
        try await world.put(0..<6)
        let kinds = try await world.laptop.heard().notifications.map(\.kind)
        #expect(kinds.filter { $0 != .query }.count == 2)
        #expect(kinds.count <= 4)
        #expect(try await bert.heard().notifications.count == 2)
    }

    @Test func `Marking a dropped notification as read changes nothing`() async throws {
        let world = try await World(limit: 1)
        try await world.put(0..<1)
        let id = try #require(try await world.laptop.heard().notifications[0].id)
        try await world.put(1..<2)
        let last = world.scratch.store.lastSequence
        let answer = try await world.scratch.store.markNotificationsRead(
            [id],
            as: world.laptop.caller
        )
        #expect(answer.map { $0.error?.code } == [nil])
        #expect(world.scratch.store.lastSequence == last)
        #expect(try await world.kept() == [1])
    }

    @Test func `A stream that is too slow ends with changeTokenExpired`() async throws {
        let world = try await World(limit: 4)
        let start = try await world.laptop.heard().token
        try await world.put(0..<8)
        let pushes = try await world.scratch.store.notifications(
            since: start,
            as: world.laptop.caller
        )
        let error = await #expect(throws: SyncError.self) {
            for try await _ in pushes { Issue.record("something is missing before it") }
        }
        #expect(error?.code == .changeTokenExpired)
    }

    @Test func `Limits and dropped notifications persist across a restart`() async throws {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let start: ChangeToken
        let late: ChangeToken
        do {
            let world = try await World(disk, limit: 4)
            start = try await world.laptop.heard().token
            try await world.put(0..<6)
            late = try await world.laptop.heard().token
            try world.scratch.store.close()
        }
        let world = try await World(disk, limit: 4)
        #expect(await world.code(since: start) == .changeTokenExpired)
        #expect(await world.code(since: late) == nil)
        #expect(try await world.kept() == Array(2..<6))
        try await world.put(6..<8)
        #expect(try await world.kept() == Array(4..<8))
    }

    @Test func `An export contains dropped notifications, but no drop positions`() async throws {
        let world = try await World(limit: 4)
        try await world.put(0..<6)
        let lines = try world.scratch.store.commits()
        let other = try ScratchAssets()
        try await other.store.importLines(lines)
        let laptop = other.client(zone: world.laptop.zone).client(on: "laptop")
        #expect(try await laptop.heard().notifications.numbers == Array(2..<6))
    }

    /// Clients that fetch now and then, by pages of any size: each is told everything, once, or that
    /// its token is expired.
    @Test(arguments: UInt64(1)...6)
    func `A client that misses a notification gets an expired token`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let world = try await World(limit: Int.random(in: 1...20, using: &random))
        let store = world.scratch.store
        var made = 0
        /// How far each client has come: its token, the number of its next notification, and how many
        /// there were when it began without a token, until it has come to the end.
        var clients = [(token: ChangeToken?, next: Int, begun: Int)](
            repeating: (nil, 0, 0),
            count: 4
        )
        var expiredCount = 0
        for _ in 0..<120 {
            let more = Int.random(in: 0...3, using: &random)
            try await world.put(made..<made + more)
            made += more
            let index = Int.random(in: 0..<clients.count, using: &random)
            var (token, next, begun) = clients[index]
            let limit = Int.random(in: 1...6, using: &random)
            let kept = try await world.kept()
            do throws(SyncError) {
                let page = try await store.notificationChanges(
                    NotificationChangesRequest(since: token, limit: limit),
                    as: world.laptop.client(on: "laptop \(index)").caller
                )
                #expect(page.notifications.allSatisfy { $0.kind == .query })
                if token == nil { begun = made }
                for number in page.notifications.numbers {
                    // What went while a client began was there for nobody who begins.
                    #expect(number == next || number == kept.first && number <= begun)
                    next = number + 1
                }
                if !page.moreComing {
                    #expect(next == made)
                    begun = 0
                }
                token = page.token
            } catch {
                #expect(error.code == .changeTokenExpired)
                #expect((kept.first ?? made) > next, "nothing that it needs is gone")
                expiredCount += 1
                (token, next, begun) = (nil, 0, 0)
            }
            clients[index] = (token, next, begun)
        }
        #expect(made < 20 || expiredCount > 0)
    }
}

extension [Subscription.Notification] {
    /// The numbers of the records that they are about.
    fileprivate var numbers: [Int] {
        compactMap { $0.recordID.flatMap { Int($0.recordName.dropFirst()) } }
    }
}
