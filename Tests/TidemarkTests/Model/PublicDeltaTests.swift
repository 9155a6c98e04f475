// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Devices that follow a public database, of which each user may read a part, by pages of its deltas.
@Suite struct PublicDeltaTests {
    /// A device, and what it holds.
    private struct Device {
        var client: Client
        var token: ChangeToken?
        var records: [String: RecordChangeTag] = [:]
    }

    /// A page that a device was given, and when.
    private struct Told {
        var caller: Caller
        var request: ZoneChangesRequest
        var position: SequenceNumber
        var answer: ZoneChanges
    }

    private struct World {
        let store: Store
        var random: SeededGenerator
        var devices: [Device]
        var told: [Told] = []
        /// The names under which each user could read a record at some time.
        var readable: [UserID: Set<String>] = [:]
        var expiredCount = 0
        /// Deletions of records that others have taken the names of.
        var hiddenCount = 0

        static let names = (0..<6).map { "r\($0)" }
        static let editor = UserID("_carol")

        mutating func pick<Element>(_ elements: [Element]) throws -> Element {
            try #require(elements.randomElement(using: &random))
        }
    }

    @Test(arguments: 1...(runsLongTests ? 200 : 6) as ClosedRange<UInt64>)
    func `A device has exactly what its user may read`(seed: UInt64) async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.segmentByteCount = 16 << 10
        options.checkpointEventCount = 40
        // A budget of 64 reads.
        options.limits.recordsPerPage = seed % 4 == 0 ? 1 : 200
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        let text = """
            DEFINE SCHEMA CREATE ROLE Editor;
            RECORD TYPE Own (n INT64, GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator");
            RECORD TYPE Open (n INT64, GRANT CREATE, WRITE TO "_icloud", GRANT READ TO "_world");
            RECORD TYPE Secret (n INT64, GRANT READ, CREATE, WRITE TO Editor);
            """
        try await store.importSchema(try SchemaFile(text).schema)
        try await store.setRoles([Schema.Role("Editor")], of: World.editor)
        let devices = [
            ("_anna", "phone"), ("_anna", "pad"), ("_bert", "phone"), ("_carol", "phone"),
        ].map { user, device in
            let database = DatabaseID(scope: .public)
            let caller = Caller(database: database, user: UserID(user), device: device)
            return Device(client: Client(store: store, caller: caller, zone: .default))
        }
        var world = World(store: store, random: SeededGenerator(seed: seed), devices: devices)
        let compacts = seed % 3 == 0
        for step in 1...240 {
            if compacts, step % 50 == 0 { try await compact(store, &world) }
            try await change(&world)
            try await look(&world)
            let index = Int.random(in: world.devices.indices, using: &world.random)
            for _ in 0..<Int.random(in: 0...2, using: &world.random) {
                try await fetch(index, &world, seed)
            }
        }
        #expect(compacts || world.expiredCount == 0)
        #expect(world.hiddenCount > 0)
        // As of a position they are given the same pages.
        for told in world.told where !compacts {
            let past = try await store.zoneChanges(
                told.request,
                as: told.caller,
                asOf: told.position
            )
            #expect(past == told.answer, "seed \(seed), event \(told.position)")
        }
        try store.close()
    }

    private func compact(_ store: Store, _ world: inout World) async throws {
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = Bool.random(using: &world.random) ? .none : .all
        _ = try await store.compact(policy)
    }

    private func change(_ world: inout World) async throws {
        let client = try world.pick(world.devices).client
        let name = try world.pick(World.names)
        let type = try world.pick(["Own", "Own", "Open", "Secret"])
        switch Int.random(in: 0..<10, using: &world.random) {
        case 0..<5:
            let save = try client.save(name, ["n": 1], policy: .allKeys, type: type)
            try await client.modify([save])
        case 5..<9:
            try await client.modify([], delete: [RecordDeletion(client.id(name))])
        default:
            // An import may give a record another type, and begin it anew by one event.
            let fields = try Fields(["n": .int64(Int64(world.told.count))])
            let save = ChangeStreamLine.Change.save(
                recordID: client.id(name),
                recordType: Name(type),
                fields: fields
            )
            let line = ChangeStreamLine(
                time: Int64(bitPattern: world.store.lastSequence.rawValue),
                user: try #require(client.caller.user),
                database: client.caller.database,
                changes: Bool.random(using: &world.random)
                    ? [save] : [.delete(client.id(name)), save]
            )
            try await world.store.importLines([line])
        }
    }

    /// The records that a user may read.
    private func visible(_ client: Client) async throws -> [String: RecordChangeTag] {
        let ids = World.names.map { client.id($0) }
        let answers = try await client.store.fetchRecords(
            FetchRecordsRequest(ids),
            as: client.caller
        )
        var found: [String: RecordChangeTag] = [:]
        for (name, answer) in zip(World.names, answers) {
            if case .success(let record) = answer { found[name] = record.changeTag }
        }
        return found
    }

    private func look(_ world: inout World) async throws {
        for device in world.devices {
            let user = try #require(device.client.caller.user)
            world.readable[user, default: []].formUnion(try await visible(device.client).keys)
        }
    }

    private func fetch(_ index: Int, _ world: inout World, _ seed: UInt64) async throws {
        var device = world.devices[index]
        let client = device.client
        let user = try #require(client.caller.user)
        if Int.random(in: 0..<15, using: &world.random) == 0 {
            // It keeps what it created itself, and nothing else.
            (device.token, device.records) = (nil, [:])
        }
        let request = ZoneChangesRequest(
            zone: client.zone,
            since: device.token,
            limit: Int.random(in: 1...3, using: &world.random)
        )
        let page: ZoneChanges
        do throws(SyncError) {
            page = try await world.store.zoneChanges(request, as: client.caller)
        } catch {
            guard error.code == .changeTokenExpired else { throw error }
            world.expiredCount += 1
            (device.token, device.records) = (nil, [:])
            world.devices[index] = device
            return
        }
        let place: Comment = "seed \(seed), event \(world.store.lastSequence), \(client.caller)"
        world.told.append(
            Told(
                caller: client.caller,
                request: request,
                position: world.store.lastSequence,
                answer: page
            )
        )
        device.token = page.token
        let living = try await living(world.store)
        for change in page.changes {
            switch change {
            case .changed(let record):
                device.records[record.recordID.recordName] = record.changeTag
            case .deleted(let record):
                let name = record.recordID.recordName
                #expect(record.recordType != "Secret" || user == World.editor, place)
                if living.contains(name) {
                    world.hiddenCount += 1
                    #expect(world.readable[user]?.contains(name) ?? false, place)
                }
                device.records[name] = nil
            }
        }
        world.devices[index] = device
        if !page.moreComing { #expect(try await visible(client) == device.records, place) }
    }

    /// The names under which there is a record, whoever may read it.
    private func living(_ store: Store) async throws -> Set<String> {
        var names: Set<String> = []
        try store.visitRecords(of: DatabaseID(scope: .public), in: .default) { record in
            names.insert(record.recordID.recordName)
            return true
        }
        return names
    }
}
