// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// Archives that Apple's framework wrote.
struct AppleArchiveTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func record(_ data: Data, secure: Bool = true) throws -> CKRecord? {
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
        unarchiver.requiresSecureCoding = secure
        defer { unarchiver.finishDecoding() }
        return CKRecord(coder: unarchiver)
    }

    private func rooted(_ make: (inout AppleArchive) -> [String: Any]) throws -> Data {
        var archive = AppleArchive()
        archive.top["root"] = make(&archive)
        return try archive.data
    }

    private func token(_ bytes: [UInt8]) throws -> CKServerChangeToken? {
        let data = try rooted { archive in
            let bytes = archive.add(Data(bytes))
            return archive.add(["ChangeTokenData": bytes], of: "CKServerChangeToken")
        }
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
    }

    // MARK: What is read

    @Test func `IDs are decoded`() throws {
        let zone = try rooted { $0.zoneID("Notes", of: "_anna") }
        let readZone = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKRecordZone.ID.self,
            from: zone
        )
        let anna = CKRecordZone.ID(zoneName: "Notes", ownerName: "_anna")
        #expect(readZone == anna)

        let id = try rooted { archive in
            let zone = archive.zoneID("Notes", of: "_anna")
            return archive.recordID("n1", in: zone)
        }
        let readID = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.ID.self, from: id)
        #expect(readID == CKRecord.ID(recordName: "n1", zoneID: anna))

        let list = try rooted { archive in
            let zone = archive.zoneID("Notes", of: "_anna")
            let ids = ["a", "b"].map { archive.recordID($0, in: zone) }
            return archive.add(["NS.objects": ids], of: "NSArray")
        }
        let readList = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [NSArray.self, CKRecord.ID.self],
            from: list
        )
        #expect((readList as? [CKRecord.ID])?.map(\.recordName) == ["a", "b"])
        #expect((readList as? [CKRecord.ID])?.last?.zoneID == anna)
    }

    @Test(arguments: [true, false])
    func `System fields decode to a record`(secure: Bool) throws {
        let archive = AppleArchive.systemFields("n1", zone: "Notes", owner: "_anna")
        let read = try #require(try record(try archive.data, secure: secure))
        #expect(read.recordType == "Note")
        #expect(read.recordID.recordName == "n1")
        #expect(read.recordID.zoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: "_anna"))
        #expect(read.recordChangeTag == "mfxf03to")
        #expect(read.creationDate == Date(timeIntervalSinceReferenceDate: 780_376_728.161))
        #expect(read.modificationDate == Date(timeIntervalSinceReferenceDate: 780_376_729.5))
        #expect(read.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(read.lastModifiedUserRecordID?.zoneID == CKRecordZone.ID.default)
        #expect(read.parent == nil)
        #expect(read.share == nil)
        #expect(read.allKeys().isEmpty)
        #expect(read.changedKeys().isEmpty)

        // From here on it is an archive of this module.
        let again = try roundTrip(read)
        #expect(again.recordID == read.recordID)
        #expect(again.recordChangeTag == "mfxf03to")
        #expect(again.creationDate == read.creationDate)
    }

    @Test func `References in system fields are decoded`() throws {
        var archive = AppleArchive.systemFields()
        let zone = archive.zoneID("Notes", of: "__defaultOwner__")
        let target = archive.recordID("list", in: zone)
        archive.top["ParentReference"] = archive.add(
            ["RecordID": target, "ReferenceAction": 0],
            of: "CKReference"
        )
        let read = try #require(try record(try archive.data))
        #expect(read.parent?.recordID == CKRecord.ID(recordName: "list", zoneID: zoneID))
    }

    @Test func `A record that was never saved has no change tag`() throws {
        let read = try record(try AppleArchive.systemFields(tag: nil).data)
        #expect(read != nil)
        #expect(read?.recordChangeTag == nil)
    }

    // MARK: What becomes of it here

    @Test func `A record with a change tag of another service conflicts`() async throws {
        let database = try await CloudFixture().database(zone: zoneID)
        let stored = CKRecord("Note", "n1", in: zoneID)
        stored["text"] = "here"
        _ = try await database.save(stored)
        let read = try #require(try record(try AppleArchive.systemFields().data))
        read["text"] = "from there"
        let conflict = await #expect(throws: CKError.self) { try await database.save(read) }
        #expect(conflict?.code == .serverRecordChanged)
        #expect(conflict?.serverRecord?["text"] as? String == "here")
        #expect(conflict?.clientRecord?["text"] as? String == "from there")
        #expect(conflict?.serverRecord?.recordChangeTag == stored.recordChangeTag)

        let (saved, _) = try await database.modifyRecords(
            saving: [read],
            deleting: [],
            savePolicy: .changedKeys
        )
        #expect(try saved[read.recordID]?.get()["text"] as? String == "from there")
    }

    @Test func `Saving a record with an unknown change tag throws unknownItem`() async throws {
        let database = try await CloudFixture().database(zone: zoneID)
        let read = try #require(try record(try AppleArchive.systemFields().data))
        read["text"] = "from there"
        #expect(await code { _ = try await database.save(read) } == .unknownItem)
    }

    @Test func `A token of another service is opaque and expired`() async throws {
        let database = try await CloudFixture().database(zone: zoneID)
        let read = try #require(try token([31, 10, 16]))
        #expect(try token([31, 10, 16]) == read)
        #expect(try token([31, 10, 17]) != read)
        let expired = await code {
            _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: read)
        }
        #expect(expired == .changeTokenExpired)
        #expect(try roundTrip(read) == read)
    }

    // MARK: What is not read

    @Test func `Whole records and shares are rejected`() throws {
        var whole = AppleArchive.systemFields()
        whole.top = ["root": whole.add(whole.top, of: "CKRecord")]
        let data = try whole.data
        #expect(throws: (any Error).self) {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        }
        var share = AppleArchive.systemFields()
        share.top["RecordType"] = share.add("cloudkit.share")
        #expect(try record(try share.data) == nil)
    }

    /// What is wrong with the system fields of a record.
    static let faults: [(String, @Sendable (inout AppleArchive) -> Void)] = [
        ("no type", { $0.top["RecordType"] = nil }),
        ("no ID", { $0.top["RecordID"] = nil }),
        ("null for the ID", { $0.top["RecordID"] = AppleArchive.null }),
        ("a reference beyond the end", { $0.top["RecordID"] = AppleArchive.reference(9_999) }),
        ("a number for a reference", { $0.top["RecordID"] = 5 }),
        ("text for a reference", { $0.top["RecordType"] = "Note" }),
        ("text for an ID", { $0.top["RecordID"] = $0.add("n1") }),
        ("an ID for a text", { $0.top["RecordType"] = $0.top["RecordID"] }),
        ("a date for an ID", { $0.top["RecordID"] = $0.date(1) }),
        ("an ID without a class", { $0.top["RecordID"] = $0.add(["RecordName": "n1"]) }),
        ("an ID without a name", { $0.top["RecordID"] = $0.add([:], of: "CKRecordID") }),
        (
            "an ID in itself",
            { archive in
                let own = AppleArchive.reference(archive.objects.count + 2)
                let name = archive.top["RecordType"] ?? 0
                archive.top["RecordID"] = archive.add(
                    ["RecordName": name, "ZoneID": own],
                    of: "CKRecordID"
                )
            }
        ),
        (
            "a class that is itself",
            { archive in
                let own = AppleArchive.reference(archive.objects.count)
                archive.top["RecordID"] = archive.add(["$class": own])
            }
        ),
    ]

    @Test(arguments: 0..<faults.count)
    func `A damaged archive decodes to nil`(number: Int) throws {
        let (fault, damage) = Self.faults[number]
        var archive = AppleArchive.systemFields()
        damage(&archive)
        // A text that stands where a reference belongs says the same.
        let expectsRecord = fault == "text for a reference"
        #expect((try record(try archive.data) != nil) == expectsRecord, "\(fault)")
    }

    @Test func `A damaged part is omitted`() throws {
        var archive = AppleArchive.systemFields()
        archive.top["RecordCtime"] = archive.add("yesterday")
        archive.top["ETag"] = archive.date(1)
        archive.top["CreatorUserRecordID"] = archive.add([1, 2])
        archive.top["ParentReference"] = archive.add([:], of: "CKReference")
        let read = try #require(try record(try archive.data))
        #expect(read.creationDate == nil)
        #expect(read.recordChangeTag == nil)
        #expect(read.creatorUserRecordID == nil)
        #expect(read.parent == nil)
        #expect(read.modificationDate != nil)
    }

    @Test func `Decoding a truncated or altered archive never traps`() throws {
        let whole = try AppleArchive.systemFields().data
        for count in 0..<whole.count {
            #expect((try? record(whole.prefix(count))) == nil)
        }
        var survivors = 0
        for place in 8..<whole.count {
            for change in [0x01, 0x55, 0xFF] as [UInt8] {
                var bytes = whole
                bytes[place] ^= change
                survivors += (try? record(bytes)) == nil ? 0 : 1
            }
        }
        #expect(survivors > 0)
        #expect(try record(whole) != nil)
    }
}
