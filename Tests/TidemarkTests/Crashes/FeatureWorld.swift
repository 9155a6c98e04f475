// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// A store on a simulated disk, an owner, guests, and everything that they can see of it.
struct FeatureWorld {
    let store: Store

    static let guests = ["bob", "carol", "dan"]
    /// Whether the large versions of the slow tests run.

    var anna: Client { SharingWorld.owner(in: store) }

    func guest(_ name: String) -> Client { SharingWorld.guest(name, in: store) }

    /// The public database, for a user of it.
    func open(to user: String) -> Client {
        let caller = Caller(database: DatabaseID(scope: .public), user: UserID("_" + user))
        return Client(store: store, caller: caller, zone: .default)
    }

    /// Opens what is on a disk.
    ///
    /// The seed decides about everything random, so that one workload is the same every time; an
    /// opening after another needs a seed of its own.
    init(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex = MemoryViewIndex(),
        _ access: StoreAccess = .writing,
        seed: UInt64 = 1
    ) throws(LogError) {
        store = try Store.open(
            at: "s",
            access: access,
            options: Self.options,
            environment: Self.environment(files, index, seed: seed)
        )
    }

    static var options: StoreOptions {
        var options = StoreOptions()
        options.checkpointEventCount = 16
        options.segmentByteCount = 8 << 10
        return options
    }

    static func environment(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        seed: UInt64
    ) -> StoreEnvironment {
        var environment = StoreEnvironment()
        environment.log.fileSystem = files
        environment.log.writesInline = true
        environment.log.now = { 1_700_000_000_000 }
        let random = Lock(SeededGenerator(seed: seed))
        environment.log.random = { random.withLock { $0.next() } }
        let held = Lock(index)
        environment.openIndex = { _, _, _ in held.withLock { $0 } }
        environment.removeIndex = { _ in held.withLock { $0 = MemoryViewIndex() } }
        return environment
    }

    // MARK: What can be seen

    /// What everybody sees, by what it is.
    ///
    /// Without change tags and times, so that it is the same in every run that has come as far. A
    /// store that cannot write makes no notifications, and ends no subscriptions.
    func picture(withNotifications: Bool = true) async throws -> [String: String] {
        if withNotifications { try await store.waitUntilNotified() }
        var picture: [String: String] = [:]
        picture["anna"] = try await records(of: anna)
        for name in Self.guests {
            let guest = guest(name)
            picture["\(name)'s account"] = "\(try await store.accountStatus(as: guest.caller))"
            guard try await isOpen(to: name) else { continue }
            let zones = try await store.zones(as: guest.caller).map(\.zoneID.zoneName)
            picture["\(name)'s zones"] = zones.joined(separator: " ")
            picture[name] = try await records(of: guest)
            if !zones.isEmpty { picture["\(name) finds"] = try await found(by: guest) }
        }
        for client in [anna, anna.client(on: "laptop"), guest("bob"), guest("carol")] {
            let name = "\(client.caller.user?.userRecordName ?? "") \(client.caller.device ?? "-")"
            guard withNotifications,
                try await store.accountStatus(as: client.caller) == .available
            else { continue }
            let saved = try await store.subscriptions(as: client.caller).map(\.id)
            picture["\(name) subscribes"] = saved.joined(separator: " ")
            picture["\(name) hears"] = try await client.summary().sorted().joined(separator: ", ")
        }
        picture["public"] = try await records(of: open(to: "anna"))
        picture["schema"] = "\(try store.schema())"
        picture["production"] = "\(try store.schema(in: .production))"
        picture["accounts"] = "\(try store.accounts())"
        picture["roles"] = "\(try store.roles(of: UserID("_bob")))"
        let lookUps = [UserLookup.email("bob@example.com"), .email("bob@example.org")]
        picture["found"] = "\(try await store.lookUpUsers(lookUps, as: anna.caller))"
        return picture
    }

    private func isOpen(to guest: String) async throws -> Bool {
        try await store.accountStatus(as: self.guest(guest).caller) == .available
    }

    /// The records of a client's zone, each with what it says.
    private func records(of client: Client) async throws -> String {
        let all: [RecordChange]
        do {
            all = try await client.changes().changes
        } catch let error as SyncError
            where error.code == .zoneNotFound || error.code == .userDeletedZone
        {
            return "\(error.code)"
        }
        var lines: [String] = []
        for case .changed(let record) in all {
            let name = record.recordID.recordName
            var line = "\(name) under \(record.body.parentName ?? "-")"
            for field in record.fields where record.share == nil {
                guard let value = field.value, value.type == .int64 else { continue }
                line += " \(field.name)=\(value)"
            }
            for participant in record.share?.participants ?? [] {
                line += " \(participant.user?.userRecordName ?? participant.email)"
                line += ":\(participant.permission):\(participant.acceptance)"
            }
            line += " by \(record.modified.user?.userRecordName ?? "-")"
            if record.fields["file"] != nil {
                line += " with \(try await client.download(name))"
            }
            lines.append(line)
        }
        return lines.sorted().joined(separator: "\n")
    }

    private func found(by guest: Client) async throws -> String {
        let query = Query(recordType: "Node", predicate: try Query.Predicate(format: "n >= 2"))
        return try await guest.find(query, in: guest.zone, pages: { 2 })
            .map(\.recordID.recordName).joined(separator: " ")
    }
}

extension FeatureWorld {
    /// The devices of the guests, each as far as it has come.
    struct Devices {
        /// The step after which they fetched.
        var step: Int
        var guests: [SharedDevice]
        var annasLaptop: ChangeToken
        /// What the laptop had heard of by query.
        var heard: [String]
    }

    /// Lets the devices fetch, all of what there is or the rest of it.
    func sync(_ devices: Devices?, after step: Int) async throws -> Devices {
        var guests = devices?.guests ?? Self.guests.map { SharedDevice(guest($0)) }
        for index in guests.indices {
            guests[index].client = guest(Self.guests[index])
            guard try await isOpen(to: Self.guests[index]) else { continue }
            _ = try await guests[index].sync(limit: 1 + (step + index) % 4)
        }
        let laptop = anna.client(on: "laptop")
        return Devices(
            step: step,
            guests: guests,
            annasLaptop: try await laptop.heard().token,
            heard: try await heardByQuery()
        )
    }

    /// What Anna's laptop hears of by query, in order.
    func heardByQuery(since token: ChangeToken? = nil) async throws -> [String] {
        try await anna.client(on: "laptop").heard(since: token).notifications
            .filter { $0.kind == .query }.map(\.summary)
    }

    /// Every token that devices were given leads to what is there now.
    func check(_ devices: [Devices], _ place: String) async throws {
        var fresh: [[String: RecordChangeTag]] = []
        for name in Self.guests {
            var device = SharedDevice(guest(name))
            if try await isOpen(to: name) { _ = try await device.sync(limit: 5) }
            fresh.append(device.records)
        }
        let heard = try await heardByQuery()
        for given in devices {
            var guests = given.guests
            for index in guests.indices {
                guests[index].client = guest(Self.guests[index])
                guard try await isOpen(to: Self.guests[index]) else { continue }
                _ = try await guests[index].sync(limit: 3)
                #expect(
                    guests[index].records == fresh[index],
                    "\(place): \(Self.guests[index]), who fetched after step \(given.step)"
                )
            }
            let news = try await heardByQuery(since: given.annasLaptop)
            var expected = heard
            for summary in given.heard {
                if let first = expected.firstIndex(of: summary) { expected.remove(at: first) }
            }
            #expect(
                news == expected,
                "\(place): Anna's laptop, which fetched after step \(given.step)"
            )
        }
    }
}
