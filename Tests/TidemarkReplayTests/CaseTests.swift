// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GeneratedQueries
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct CaseTests {
    private let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// What a store holds in the end that imports a case.
    private func imported(
        _ found: Case,
        _ database: DatabaseID,
        _ name: String = "imported.tide"
    ) async throws -> (records: [CaseRecord], store: Store) {
        let store = try Store.open(at: folder.path(name), access: .creating)
        var text: [UInt8] = []
        for line in found.lines { text.append(json: line) }
        var changes = try store.beginImport()
        var reader = ChangeStreamReader()
        // Through the text, as a file has it.
        for line in text.split(separator: UInt8(ascii: "\n")) {
            _ = try await changes.add(try reader.read(line))
        }
        try await changes.finish()
        var records: [CaseRecord] = []
        var failure: SyncError?
        try store.visitRecords(of: database) { record in
            do throws(SyncError) { records.append(try CaseRecord(record)) } catch {
                failure = error
            }
            return true
        }
        if let failure { throw failure }
        return (records, store)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `A case of a generated history imports to its expected state`(seed: UInt64) async throws {
        var lived = try LivedStore(at: folder.path(), seed: seed)
        try await lived.live(150)
        let store = lived.store
        let asked = lived.moments.keys.sorted().enumerated().filter { $0.offset % 3 == 0 }
            .map(\.element)
        try #require(asked.count > 3)
        let found = try await store.makeCase(of: asked)
        // Nothing refers to anything here, so a case is what was asked for.
        #expect(found.recordIDs == asked && found.prunedRecordIDs.isEmpty)
        let state = lived.state()
        #expect(found.records.map(\.id) == asked.filter { state[$0] != nil })
        let (records, copy) = try await imported(found, .standard)
        #expect(records == found.records)
        // Every version is there, as it was made.
        for id in asked {
            var versions: [[String: FieldValue]] = []
            for try await case .change(let change) in try await copy.history(of: id) {
                guard let fields = change.record?.fields else { continue }
                versions.append(
                    Dictionary(uniqueKeysWithValues: fields.present.map { ($0.name, $0.value!) })
                )
            }
            let expected = lived.moments[id]?.filter { !$0.isGone }.reversed()
                .map { $0.fields.mapValues(\.value) }
            #expect(versions == expected.map(Array.init))
        }
        for masksNames in [false, true] {
            var random = SeededGenerator(seed: seed)
            let masked = try found.masked(names: masksNames, using: random)
            let (records, _) = try await imported(masked, .standard, "\(masksNames).tide")
            #expect(records == masked.records && records.count == found.records.count)
            #expect(zip(masked.lines, found.lines).allSatisfy { $0.time == $1.time })
            if !masksNames { #expect(masked.recordIDs == found.recordIDs) }
            random = SeededGenerator(seed: seed)
            #expect(try found.masked(names: masksNames, using: random).lines == masked.lines)
        }
    }

    /// Anna's zone: a tree under a share, with references, beside much that has nothing to do with it.
    private func tree() async throws -> JournalledStore {
        let world = try await JournalledStore(.refusals)
        for number in 0..<20 { try await world.modify([world.save("other \(number)")]) }
        try await world.modify([
            world.save("household", ["title": "The Household of Anna"]),
            world.save("groceries", ["title": "Groceries of this week"], under: "household"),
            world.save("friend Bob", ["mail": "bob@example.com"]),
        ])
        try await world.modify([
            world.share("sharing it", of: "household", with: [("bob", .readWrite)])
        ])
        try await world.accept("sharing it", as: "bob")
        let link = Reference(recordName: "friend Bob", action: .validate)
        try await world.modify([
            world.save(
                "milk",
                [
                    "title": "Milk of the happy cow", "amount": 739_184_625, "price": 8127.640625,
                    "buyer": .reference(link),
                    "tags": .stringList(["dairy food", "Groceries of this week"]),
                    "secret": .bytes([1, 2, 3, 4, 5, 6, 7, 8]),
                    "due": .timestamp(1_700_000_123_456),
                    "place": .location(Location(latitude: 48.123456, longitude: 11.654321)),
                ],
                under: "groceries"
            )
        ])
        try await world.modify([world.save("milk", ["amount": 77])], request: "request of Anna")
        try await world.modify([world.save("other 3", ["n": 5])])
        return world
    }

    @Test func `A case has the records that its records refer to, and no others`() async throws {
        let world = try await tree()
        let found = try await world.store.makeCase(of: [world.id("milk")], in: JournalledStore.anna)
        #expect(
            found.recordIDs.map(\.recordName)
                == ["friend Bob", "groceries", "household", "milk", "sharing it"]
        )
        let (records, copy) = try await imported(found, JournalledStore.anna)
        #expect(records == found.records && records.count == 5)
        // Bob sees in the copy what he sees here, and the type is in the schema.
        func seen(_ store: Store) async throws -> [String] {
            let request = ZoneChangesRequest(zone: world.zone(for: "bob"))
            return try await store.zoneChanges(request, as: world.caller("bob")).changes
                .compactMap {
                    if case .changed(let record) = $0 { record.recordID.recordName } else { nil }
                }.sorted()
        }
        #expect(try await seen(copy) == ["groceries", "household", "milk", "sharing it"])
        #expect(try await seen(copy) == seen(world.store))
        #expect(try copy.schema().recordTypes.contains { $0.name.string == "Note" })
        #expect(found.lines.reduce(0) { $0 + $1.changes.count } < 25)
    }

    @Test func `A mask removes every value and, if requested, every name`() async throws {
        let world = try await tree()
        let found = try await world.store.makeCase(of: [world.id("milk")], in: JournalledStore.anna)
        let values = [
            "The Household of Anna", "Groceries", "bob@example.com", "happy cow", "dairy food",
            "739184625", "8127.640625", "AQIDBAUGBwg", "1700000123456", "48.123456", "11.654321",
            "A share",
            "request of Anna",
        ]
        let names = ["_anna", "_bob", "phone", "Notes", "household", "friend Bob", "sharing it"]
        for masksNames in [false, true] {
            let masked = try found.masked(
                names: masksNames,
                using: SeededGenerator(seed: masksNames ? 1 : 2)
            )
            var text: [UInt8] = []
            for line in masked.lines { text.append(json: line) }
            let stream = String(decoding: text, as: UTF8.self)
            for value in values { #expect(!stream.contains(value), "\(value)") }
            for name in names { #expect(stream.contains(name) == !masksNames, "\(name)") }
            let share = try #require(found.records.first { $0.id.recordName == "sharing it" })
            guard case .string(let token)? = share.fields["___token"] else {
                Issue.record("no token")
                return
            }
            #expect(!stream.contains(token))
            let database = try #require(masked.lines.map(\.database).first { $0.scope == .private })
            let (records, copy) = try await imported(masked, database, "\(masksNames).tide")
            #expect(records == masked.records && records.count == 5)
            try expectSameShape(found, masked)
            // The share still shows the tree to its one participant.
            let holder = try #require(records.compactMap { $0.fields["___participantUsers"] }.first)
            guard case .stringList(let users) = holder, let zone = records.first?.id.zone else {
                Issue.record("no share")
                return
            }
            let bob = UserID(users[1])
            let page = try await copy.zoneChanges(
                ZoneChangesRequest(
                    zone: ZoneID(zoneName: zone.zoneName, ownerName: database.owner.userRecordName)
                ),
                as: Caller(database: DatabaseID(scope: .shared, owner: bob), user: bob)
            )
            #expect(page.changes.count == 4)
        }
    }

    @Test(arguments: [
        Double.greatestFiniteMagnitude, -Double.greatestFiniteMagnitude, 1e308, 1.5e300, -1234.5,
    ])
    func `The mask of a number is another number of the same sign`(number: Double) {
        var mask = ValueMask(SeededGenerator(seed: 1))
        let masked = mask.number(number)
        #expect(masked != number)
        #expect(masked.isFinite && masked.sign == number.sign)
        #expect(mask.number(number) == masked)
    }

    /// Checks lengths, equality and references of a masked case.
    private func expectSameShape(_ found: Case, _ masked: Case) throws {
        #expect(masked.lines.count == found.lines.count)
        let names = Dictionary(uniqueKeysWithValues: zip(found.recordIDs, masked.recordIDs))
        for (old, new) in names {
            #expect(old.recordName.utf8.count == new.recordName.utf8.count)
            #expect(old.zone.zoneName.utf8.count == new.zone.zoneName.utf8.count)
            let before = try #require(found.records.first { $0.id == old })
            let after = try #require(masked.records.first { $0.id == new })
            #expect(before.recordType == after.recordType)
            #expect(before.fields.map(\.name) == after.fields.map(\.name))
            #expect(before.fields.map(\.type) == after.fields.map(\.type))
            let parent = before.parent.map { RecordID(recordName: $0, zone: old.zone) }
            #expect(after.parent == parent.flatMap { names[$0] }?.recordName)
        }
        func record(_ name: String) throws -> CaseRecord {
            let old = try #require(found.recordIDs.first { $0.recordName == name })
            return try #require(masked.records.first { $0.id == names[old] })
        }
        let milk = try record("milk")
        guard case .string(let title)? = milk.fields["title"],
            case .stringList(let tags)? = milk.fields["tags"],
            case .reference(let buyer)? = milk.fields["buyer"],
            case .int64(let amount)? = milk.fields["amount"]
        else {
            Issue.record("\(milk)")
            return
        }
        #expect(title.utf8.count == "Milk of the happy cow".utf8.count)
        #expect(10...99 ~= amount && amount != 77)
        #expect(try buyer.recordName == record("friend Bob").id.recordName)
        // What was equal is equal, wherever it stands.
        #expect(try record("groceries").fields["title"] == .string(tags[1]))
    }

    @Test func `A record that never existed is rejected`() async throws {
        let world = try await JournalledStore(.refusals)
        await #expect(throws: SyncError.self) {
            try await world.store.makeCase(of: [world.id("x")], in: JournalledStore.anna)
        }
    }

    @Test func `The case of a pruned history has what is left`() async throws {
        let world = try await JournalledStore(.refusals)
        for number in 0..<5 {
            try await world.modify([world.save("a", ["n": .int64(Int64(number))])])
        }
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await world.store.compact(policy)
        try await world.modify([world.save("a", ["n": 9])])
        let found = try await world.store.makeCase(of: [world.id("a")], in: JournalledStore.anna)
        #expect(found.prunedRecordIDs == [world.id("a")])
        // The schema has lost versions too, and is no record of the case.
        try await world.modify([world.save("b", ["n": 1])])
        let whole = try await world.store.makeCase(of: [world.id("b")], in: JournalledStore.anna)
        #expect(whole.prunedRecordIDs.isEmpty)
        let (records, _) = try await imported(found, JournalledStore.anna)
        #expect(records == found.records && records.count == 1)
    }
}
