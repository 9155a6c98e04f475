// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

/// Questions with a wrong name are answered with the names that may have been meant.
@Suite struct ExplanationHintTests {
    /// Saves a record in a zone of a user's private database, which is created.
    private func save(
        _ name: String,
        in zone: String,
        of user: String,
        _ world: JournalledStore
    ) async throws {
        let id = UserID("_" + user)
        let caller = Caller(database: DatabaseID(owner: id), user: id, device: "phone")
        let zone = ZoneID(zoneName: zone)
        let created = try await world.store.modifyZones(
            ModifyZonesRequest(saves: [zone]),
            as: caller
        )
        _ = try created.saves[0].get()
        let save = RecordSave(
            RecordID(recordName: name, zone: zone),
            type: "Note",
            fields: try Fields(["n": 1])
        )
        let saved = try await world.store.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: caller
        )
        _ = try saved.saves[0].get()
    }

    /// The places that the hints name, as `owner/zone`, and `owner/zone deleted` for a deleted record.
    private func places(_ why: Explanation) -> [String] {
        why.hints.compactMap { hint in
            guard case .recordElsewhere(let record, let database, let isDeleted) = hint else {
                return nil
            }
            let place = "\(database.owner.userRecordName)/\(record.zone.zoneName)"
            return isDeleted ? "\(place) deleted" : place
        }
    }

    @Test func `A record in another zone of the database is named`() async throws {
        let world = try await JournalledStore()
        try await save("milk", in: "Pantry", of: "anna", world)
        let why = try await world.why("milk", of: "anna")
        #expect(why.names == ["neverSaved"] && places(why) == ["_anna/Pantry"])
        // Not for a record that the zone has, or has had.
        try await world.modify([world.save("milk")])
        #expect(try await world.why("milk", of: "anna").hints == [.ownVersion])
        try await world.modify([], delete: ["milk"])
        #expect(try await world.why("milk", of: "anna").hints == [.ownVersion])
    }

    @Test func `A record in a zone of another owner is named after the nearer ones`() async throws {
        let world = try await JournalledStore()
        try await save("milk", in: "Far", of: "bob", world)
        try await save("milk", in: "Notes", of: "carol", world)
        try await save("milk", in: "Pantry", of: "anna", world)
        let why = try await world.why("milk", of: "anna")
        #expect(places(why) == ["_anna/Pantry", "_carol/Notes", "_bob/Far"])
        let caller = Caller(database: JournalledStore.anna, user: UserID("_anna"))
        let pantry = ZoneID(zoneName: "Pantry")
        _ = try await world.store.modifyRecords(
            ModifyRecordsRequest(
                deletions: [RecordDeletion(RecordID(recordName: "milk", zone: pantry))]
            ),
            as: caller
        )
        #expect(places(try await world.why("milk", of: "anna")).first == "_anna/Pantry deleted")
        // Records of zones that are gone are not named.
        _ = try await world.store.modifyZones(ModifyZonesRequest(deletions: [pantry]), as: caller)
        #expect(places(try await world.why("milk", of: "anna")) == ["_carol/Notes", "_bob/Far"])
    }

    @Test func `At most five records in other zones are named`() async throws {
        let world = try await JournalledStore()
        for number in 1...7 { try await save("milk", in: "Zone \(number)", of: "anna", world) }
        let why = try await world.why("milk", of: "anna")
        #expect(places(why) == (3...7).reversed().map { "_anna/Zone \($0)" })
    }

    @Test func `An unknown zone is the answer, with the zones that exist`() async throws {
        let world = try await JournalledStore()
        for number in 1...11 { try await save("r", in: "Zone \(number)", of: "anna", world) }
        let record = RecordID(recordName: "a", zone: ZoneID(zoneName: "Nots"))
        func why() async throws -> Explanation {
            try await world.store.explainAbsence(
                of: record,
                in: JournalledStore.anna,
                from: "phone",
                of: UserID("_anna")
            )
        }
        let unknown = try await why()
        guard case .noSuchZone(let known, let count)? = unknown.causes.first else {
            Issue.record("\(unknown.names)")
            return
        }
        #expect(count == 12)
        #expect(known == (2...11).reversed().map { "Zone \($0)" })
        // A rejected save to that zone comes first.
        let save = RecordSave(record, type: "Note", fields: try Fields(["n": 1]))
        _ = try? await world.store.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: world.caller()
        )
        #expect(try await why().names == ["refused", "noSuchZone"])
    }

    @Test func `A device without journal entries is reported with those that have some`()
        async throws
    {
        let world = try await JournalledStore()
        #expect(try await world.why("a", from: "fone").hints.isEmpty)
        for number in 1...11 { try await world.fetch(on: "device \(number)") }
        try await world.fetch(on: "device 5")
        let known = [5, 11, 10, 9, 8, 7, 6, 4, 3, 2].map { "device \($0)" }
        #expect(try await world.why("a", from: "fone").hints == [.deviceUnknown(known: known)])
        // The oldest one is no longer in the list, but is known.
        #expect(try await world.why("a", from: "device 1").hints.isEmpty)
    }

    @Test func `A device that made the version itself is named as its maker`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        #expect(try await world.why("a", from: "phone", of: "anna").hints == [.ownVersion])
        // Neither another device nor another user has made it.
        #expect(try await world.why("a", from: "tablet", of: "anna").hints.isEmpty)
        #expect(try await world.why("a", from: "phone", of: "bob").hints.isEmpty)
        try await world.fetch(on: "tablet")
        #expect(try await world.why("a", from: "phone", of: "anna").hints == [.ownVersion])
        // It has fetched the version since.
        try await world.fetch(on: "phone")
        #expect(try await world.why("a", from: "phone", of: "anna").hints.isEmpty)
    }
}
