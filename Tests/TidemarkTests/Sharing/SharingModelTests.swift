// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// Generated histories of an owner and guests, whose devices fetch by token and must end with
/// exactly what a walk of the owner's tree says they see.
@Suite struct SharingModelTests {
    @Test(arguments: UInt64(1)...(runsLongTests ? 60 : 4))
    func `Devices that fetch by token have what the tree shows`(seed: UInt64) async throws {
        try await play(seed, isStrict: false)
    }

    @Test(arguments: UInt64(101)...(runsLongTests ? 130 : 103))
    func `In a strict store, devices have what the tree shows`(seed: UInt64) async throws {
        try await play(seed, isStrict: true)
    }

    @Test(arguments: UInt64(201)...(runsLongTests ? 240 : 202))
    func `In a compacted store, devices have what the tree shows or start again`(
        seed: UInt64
    ) async throws {
        try await play(seed, isStrict: false, compacts: true)
    }

    private func play(_ seed: UInt64, isStrict: Bool, compacts: Bool = false) async throws {
        var history = try await SharingHistory(seed: seed, isStrict: isStrict)
        for step in 0..<300 {
            try await history.step()
            // In half of the runs no deletion is forgotten, and so no token may expire.
            if compacts, step % 25 == 24 {
                try await history.compact(forgetsDeletions: seed % 2 == 0)
            }
            if step % 3 == 0 { try await history.syncSome() }
            if step % 40 == 39 { try await history.compareAll() }
        }
        try await history.compareAll()
        try await history.reopen(dropsViews: seed % 2 == 0)
        try await history.compareAll()
        try await history.compareImported()
        #expect(history.expiredCount == 0 || (compacts && seed % 2 == 0))
        // Else nothing was shared, and nothing was tested.
        #expect(history.seenCount > 50)
    }
}

private struct SharingHistory {
    private let folder: ScratchFolder
    private var options = StoreOptions()
    private var store: Store
    private var random: SeededGenerator
    private var devices: [SharedDevice]
    private static let guests = ["bob", "carol", "dan"]
    private static let names = (0..<14).map { "r\($0)" }
    private var number: Int64 = 0
    /// Records that guests saw, over all comparisons.
    private(set) var seenCount = 0
    /// How often a device had to begin anew.
    var expiredCount: Int { devices.reduce(0) { $0 + $1.expiredCount } }

    private var anna: Client { SharingWorld.owner(in: store) }

    init(seed: UInt64, isStrict: Bool) async throws {
        folder = try ScratchFolder()
        options.isStrict = isStrict
        // Pages that end by their bytes before they end by their count.
        if seed % 3 == 0 { options.pageByteCount = 300 }
        // Small ones, so that there are many to compact.
        if seed > 200 { options.segmentByteCount = 16 << 10 }
        store = try Store.open(at: folder.path(), access: .creating, options: options)
        random = SeededGenerator(seed: seed)
        devices = []
        let store = store
        devices = Self.guests.map { SharedDevice(SharingWorld.guest($0, in: store)) }
        try await anna.createZone()
        try await anna.modify(try Self.names.map { try anna.node($0) })
    }

    private mutating func name() -> String { Self.names[random.index(below: Self.names.count)] }

    private mutating func anyGuest() -> Client {
        devices[random.index(below: devices.count)].client
    }

    /// Something happens; whether it is allowed is up to the rules.
    mutating func step() async throws {
        number += 1
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: try await saveNodes(as: anna)
        case 6: try await moveTrees()
        case 7: try await delete(as: anna)
        case 8..<10: try await share()
        case 10: if Bool.random(using: &random) { try await endShare() }
        case 11..<13: try await accept()
        case 13: try await leave()
        case 14..<17: try await saveNodes(as: anyGuest())
        case 17: try await delete(as: anyGuest())
        default: try await changeShare()
        }
    }

    private mutating func saveNodes(as client: Client) async throws {
        var saves: [RecordSave] = []
        // In any order: what is below may come before what is above.
        let names = Set((0..<Int.random(in: 1...5, using: &random)).map { _ in name() }).sorted()
        for name in names.shuffled(using: &random) {
            var save = try client.node(name, ["n": .int64(number)])
            if options.isStrict, Bool.random(using: &random) {
                let link = FieldValue.reference(Reference(recordName: self.name(), action: .none))
                save.fields = try Fields(["n": .int64(number), "to": link])
            }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: save.parent = .removed
            case 1: save.parent = .set(Name(self.name()))
            // Mostly no circles, so that trees come into being.
            case 2:
                let index = Int.random(
                    in: 0...(Self.names.firstIndex(of: name) ?? 0),
                    using: &random
                )
                save.parent = .set(Name(Self.names[index]))
            default: break
            }
            saves.append(save)
        }
        let result = try? await client.modify(saves, isAtomic: Bool.random(using: &random))
        guard client.caller.database.scope == .shared, let user = client.caller.user else { return }
        let visible = try await Self.visible(to: user, anna, permission: .readWrite)
        for case .success(let record) in result?.saves ?? [] {
            #expect(visible[record.recordID.recordName] != nil, "saved beside what may be written")
        }
    }

    /// A tree moves, and with it in one request another one that comes below a record of the first.
    private mutating func moveTrees() async throws {
        let names = Self.names.shuffled(using: &random).prefix(5)
        let (top, middle, other, leaf, place) = (names[0], names[1], names[2], names[3], names[4])
        _ = try? await anna.modify([
            try anna.node(middle, under: top), try anna.node(leaf, under: other),
        ])
        var moved = try anna.node(top, ["n": .int64(number)])
        moved.parent = Bool.random(using: &random) ? .removed : .set(Name(place))
        let saves = [moved, try anna.node(other, under: middle)].shuffled(using: &random)
        _ = try? await anna.modify(saves)
    }

    private mutating func delete(as client: Client) async throws {
        let names = Set((0..<Int.random(in: 1...4, using: &random)).map { _ in name() })
        _ = try? await client.modify([], delete: names.map { RecordDeletion(client.id($0)) })
    }

    private mutating func participants() -> [ShareParticipant] {
        Self.guests.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)).map {
            ShareParticipant(
                user: UserID("_" + $0),
                permission: [.none, .readOnly, .readWrite, .readWrite][random.index(below: 4)]
            )
        }
    }

    private mutating func share() async throws {
        let root =
            Int.random(in: 0..<12, using: &random) == 0
            ? nil : Self.names[Int.random(in: 0..<7, using: &random)]
        let isOpen = Int.random(in: 0..<5, using: &random) == 0
        var save = try anna.share(root.map { "s-" + $0 } ?? Share.zoneWideName, of: root)
        save.share?.participants = isOpen ? [] : participants()
        save.share?.publicPermission = isOpen ? .readWrite : .none
        var saves = [save]
        if let root, options.isStrict || Bool.random(using: &random) {
            saves.append(try anna.node(root, ["n": .int64(number)]))
        }
        _ = try? await anna.modify(saves)
    }

    private func shares() async throws -> [Record] {
        try await anna.changes().changes.compactMap { change in
            guard case .changed(let record) = change, record.share != nil else { return nil }
            return record
        }
    }

    private mutating func changeShare() async throws {
        guard let record = try await shares().randomElement(using: &random),
            let share = record.share
        else { return }
        var save = try anna.share(record.recordID.recordName, of: nil)
        var content = ShareContent(share)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: content.participants = participants()
        case 1: content.participants += participants()
        default:
            for index in content.participants.indices {
                content.participants[index].permission =
                    Bool.random(using: &random)
                    ? .readWrite : .readOnly
            }
        }
        content.publicPermission = Bool.random(using: &random) ? .none : share.publicPermission
        save.share = content
        _ = try? await anna.modify([save])
    }

    private mutating func endShare() async throws {
        guard let record = try await shares().randomElement(using: &random) else { return }
        _ = try? await anna.modify([], delete: [RecordDeletion(record.recordID)])
    }

    private mutating func accept() async throws {
        guard let share = try await shares().randomElement(using: &random)?.share else { return }
        for device in devices where Int.random(in: 0..<4, using: &random) > 0 {
            _ = try? await store.acceptShare(store.url(of: share), as: device.client.caller)
        }
    }

    private mutating func leave() async throws {
        guard let record = try await shares().randomElement(using: &random) else { return }
        let client = anyGuest()
        _ = try? await client.modify(
            [],
            delete: [RecordDeletion(client.id(record.recordID.recordName))]
        )
    }

    mutating func compact(forgetsDeletions: Bool) async throws {
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = forgetsDeletions ? .none : .all
        _ = try await store.compact(policy)
    }

    /// A device fetches a few pages.
    mutating func syncSome() async throws {
        let index = random.index(below: devices.count)
        let isDone = try await devices[index].sync(
            limit: Int.random(in: 1...4, using: &random),
            pageCount: Int.random(in: 1...4, using: &random)
        )
        if isDone { try await compare(index) }
    }

    mutating func compareAll() async throws {
        for index in devices.indices {
            _ = try await devices[index].sync(limit: Int.random(in: 1...50, using: &random))
            try await compare(index)
            var fresh = SharedDevice(devices[index].client)
            _ = try await fresh.sync(limit: 7)
            #expect(fresh.records == devices[index].records)
        }
    }

    private mutating func compare(_ index: Int) async throws {
        let client = devices[index].client
        let user = try #require(client.caller.user)
        let expected = try await Self.visible(to: user, anna)
        seenCount += expected.count
        let found = devices[index].records
        let missing = expected.filter { found[$0.key] != $0.value }.keys.sorted()
        let excess = found.keys.filter { expected[$0] == nil }.sorted()
        #expect(
            missing.isEmpty && excess.isEmpty,
            "step \(number), \(user.userRecordName): lacks \(missing), has \(excess)"
        )
        let names = Self.names
        let fetched = try await client.store.fetchRecords(
            FetchRecordsRequest(names.map(client.id)),
            as: client.caller
        )
        for (name, result) in zip(names, fetched) {
            #expect((try? result.get())?.changeTag == expected[name], "fetching \(name)")
        }
    }

    /// What a user sees of a zone, by walking its tree from the roots of the shares.
    private static func visible(
        to user: UserID,
        _ owner: Client,
        permission: SharePermission = .readOnly
    ) async throws -> [String: RecordChangeTag] {
        var records: [String: Record] = [:]
        for case .changed(let record) in try await owner.changes().changes {
            records[record.recordID.recordName] = record
        }
        var children: [String: [String]] = [:]
        for (name, record) in records {
            if let parent = record.body.parentName { children[parent, default: []].append(name) }
        }
        var visible: [String: RecordChangeTag] = [:]
        for (name, record) in records {
            guard let participant = record.share?.participant(user),
                participant.acceptance == .accepted,
                participant.permission.rawValue >= permission.rawValue
            else { continue }
            guard let root = record.share?.root?.string else {
                return records.compactMapValues(\.changeTag)
            }
            visible[name] = record.changeTag
            var open = [root]
            while let next = open.popLast() {
                #expect(visible[next] == nil, "\(next) is under two shares")
                #expect(
                    next == root || records[next]?.shareID == nil,
                    "\(next) is a root below one"
                )
                visible[next] = records[next]?.changeTag
                open += children[next] ?? []
            }
        }
        return visible
    }

    mutating func reopen(dropsViews: Bool) async throws {
        try store.close()
        if dropsViews { try FileManager.default.removeItem(atPath: folder.path() + "/views") }
        store = try Store.open(at: folder.path(), access: .writing, options: options)
        for index in devices.indices {
            devices[index].client = SharingWorld.guest(Self.guests[index], in: store)
        }
    }

    /// A store that is made of the exported lines shows everybody the same: to devices that fetch
    /// meanwhile too, and where the import ends between two lines and goes on later.
    mutating func compareImported() async throws {
        let other = try Store.open(at: folder.path("other.tide"), access: .creating)
        let lines = try store.commits()
        var early = Self.guests.map { SharedDevice(SharingWorld.guest($0, in: other)) }
        var importing = try other.beginImport()
        let end = random.index(below: lines.count)
        for (index, line) in lines[..<end].enumerated() {
            _ = try await importing.add(line)
            guard index % 16 == 0 else { continue }
            try await importing.finish()
            for index in early.indices { _ = try await early[index].sync(limit: 3) }
        }
        try await importing.finish()
        // It knows of what waits from the store alone.
        importing = try other.beginImport()
        // The rest, or all once more.
        for line in lines[(Bool.random(using: &random) ? end : 0)...] {
            _ = try await importing.add(line)
        }
        try await importing.finish()
        #expect(try importing.waitingShares() == [])
        importing = try other.beginImport()
        for line in lines { #expect(try await importing.add(line) == .skipped) }
        try await importing.finish()
        for index in devices.indices {
            var first = SharedDevice(devices[index].client)
            var second = SharedDevice(SharingWorld.guest(Self.guests[index], in: other))
            early[index].client = second.client
            _ = try await first.sync(limit: 50)
            _ = try await second.sync(limit: 50)
            _ = try await early[index].sync(limit: 3)
            #expect(Set(first.records.keys) == Set(second.records.keys))
            #expect(early[index].records == second.records)
        }
        try other.close()
    }
}

extension SeededGenerator {
    fileprivate mutating func index(below count: Int) -> Int {
        Int.random(in: 0..<count, using: &self)
    }
}
