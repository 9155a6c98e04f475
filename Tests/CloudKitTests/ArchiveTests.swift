// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

struct ArchiveTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes", ownerName: "_anna")

    @Test func `IDs and references round-trip`() throws {
        let id = CKRecord.ID(recordName: "n1", zoneID: zoneID)
        #expect(try roundTrip(zoneID) == zoneID)
        #expect(try roundTrip(id) == id)
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        let read = try roundTrip(reference)
        #expect(read == reference)
        #expect(read.action == .deleteSelf)
    }

    @Test func `Numbers that are not finite round-trip`() throws {
        let record = CKRecord(recordType: "Note")
        record["place"] = CLLocation(latitude: .nan, longitude: .infinity)
        record["date"] = Date(timeIntervalSinceReferenceDate: .infinity)
        record["ratio"] = -Double.infinity
        let read = try roundTrip(record)
        let place = try #require(read["place"] as? CLLocation)
        #expect(place.coordinate.latitude.isNaN)
        #expect(place.coordinate.longitude == .infinity)
        #expect(read["date"] as? Date == Date(timeIntervalSinceReferenceDate: .infinity))
        #expect(read["ratio"] as? Double == -.infinity)
    }

    @Test func `IDs in arrays round-trip`() throws {
        let ids = [CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "b", zoneID: zoneID)]
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: ids as NSArray,
            requiringSecureCoding: true
        )
        let read = try NSKeyedUnarchiver.unarchivedObject(
            ofClasses: [NSArray.self, CKRecord.ID.self],
            from: data
        )
        #expect(read as? [CKRecord.ID] == ids)
    }

    @Test func `A record round-trips with its fields and changes`() throws {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n1"))
        record["text"] = "Milk"
        record["count"] = 3
        record["ratio"] = 3.0
        record["nan"] = Double.nan
        record["large"] = UInt64.max
        record["date"] = Date(timeIntervalSinceReferenceDate: 1.5)
        record["data"] = Data([1, 2])
        record["tags"] = ["a"]
        record["empty"] = [Int]()
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        record["list"] = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "list"),
            action: .none
        )
        record["gone"] = nil
        record.encryptedValues["secret"] = "x"
        record.setParent(CKRecord.ID(recordName: "list"))

        let read = try roundTrip(record)
        #expect(read.recordID == record.recordID)
        #expect(read.recordType == "Note")
        #expect(read["text"] as? String == "Milk")
        #expect(read["count"] as? Int == 3)
        #expect((read["ratio"] as? NSNumber)?.doubleValue == 3)
        #expect((read["nan"] as? NSNumber)?.doubleValue.isNaN == true)
        #expect(read["large"] as? UInt64 == UInt64.max)
        #expect(read["date"] as? Date == Date(timeIntervalSinceReferenceDate: 1.5))
        #expect(read["data"] as? Data == Data([1, 2]))
        #expect(read["tags"] as? [String] == ["a"])
        #expect((read["empty"] as? NSArray)?.count == 0)
        #expect((read["place"] as? CLLocation)?.coordinate.longitude == 2)
        #expect((read["file"] as? CKAsset)?.fileURL?.path == "/tmp/file")
        #expect((read["list"] as? CKRecord.Reference)?.recordID.recordName == "list")
        #expect(read.encryptedValues["secret"] as? String == "x")
        #expect(read.parent?.recordID.recordName == "list")
        #expect(read.allKeys().sorted() == record.allKeys().sorted())
        #expect(read.changedKeys().sorted() == record.changedKeys().sorted())
        #expect(read.changedKeys().contains("gone"))
    }

    @Test func `System fields are decoded without fields`() throws {
        let record = CKRecord("Note", "n1", in: zoneID)
        record["text"] = "Milk"
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        unarchiver.requiresSecureCoding = true
        let read = try #require(CKRecord(coder: unarchiver))
        unarchiver.finishDecoding()
        #expect(read.recordID == record.recordID)
        #expect(read.recordType == "Note")
        #expect(read.allKeys().isEmpty)
        #expect(read.changedKeys().isEmpty)
    }

    @Test func `An archive of another type decodes to nil and does not trap`() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode("x" as NSString, forKey: "other")
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(CKRecord(coder: unarchiver) == nil)
        #expect(CKRecord.ID(coder: unarchiver) == nil)
        #expect(CKServerChangeToken(coder: unarchiver) == nil)
        let query: CKQuery? = CKQuery(coder: unarchiver)
        #expect(query == nil)
    }

    @Test func `Zones, queries and sort descriptors round-trip`() throws {
        #expect(try roundTrip(CKRecordZone(zoneID: zoneID)).zoneID == zoneID)

        let query = CKQuery(
            recordType: "Note",
            predicate: NSPredicate(format: "count > %d AND text BEGINSWITH %@", 3, "M")
        )
        query.sortDescriptors = [
            NSSortDescriptor(key: "count", ascending: false),
            CKLocationSortDescriptor(
                key: "place",
                relativeLocation: CLLocation(latitude: 1, longitude: 2)
            ),
        ]
        let read = try roundTrip(query)
        #expect(read.recordType == "Note")
        #expect(read.description == query.description)
        #expect(read.sortDescriptors?.count == 2)
        #expect(read.sortDescriptors?[0].key == "count")
        #expect(read.sortDescriptors?[0].ascending == false)
        let near = try #require(read.sortDescriptors?[1] as? CKLocationSortDescriptor)
        #expect(near.relativeLocation.coordinate.latitude == 1)
        #expect(try roundTrip(near).key == "place")
    }

    @Test func `Subscriptions round-trip`() throws {
        let query = CKQuerySubscription(
            recordType: "Note",
            predicate: NSPredicate(value: true),
            subscriptionID: "q",
            options: [.firesOnRecordCreation, .firesOnce]
        )
        query.zoneID = zoneID
        query.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "New",
            desiredKeys: ["text"],
            shouldSendContentAvailable: true
        )
        let read = try roundTrip(query)
        #expect(read.subscriptionID == "q")
        #expect(read.recordType == "Note")
        #expect(read.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnce])
        #expect(read.zoneID == zoneID)
        #expect(read.notificationInfo?.alertBody == "New")
        #expect(read.notificationInfo?.desiredKeys == ["text"])
        #expect(read.notificationInfo?.shouldSendContentAvailable == true)

        let zone = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "z")
        zone.recordType = "Note"
        #expect(try roundTrip(zone).zoneID == zoneID)
        #expect(try roundTrip(zone).recordType == "Note")
        let database = CKDatabaseSubscription(subscriptionID: "d")
        #expect(try roundTrip(database).subscriptionID == "d")
        #expect(try roundTrip(database).subscriptionType == .database)
    }

    @Test func `Shares, participants and users round-trip`() throws {
        let root = CKRecord("List", "list", in: zoneID)
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Shopping"
        share.publicPermission = .readOnly
        share.addParticipant(.oneTimeURLParticipant())
        let read = try roundTrip(share)
        #expect(read.recordID == share.recordID)
        #expect(read.publicPermission == .readOnly)
        #expect(read.participants == share.participants)
        #expect(read.owner == share.owner)
        #expect(read[CKShare.SystemFieldKey.title] as? String == "Shopping")

        let lookup = CKUserIdentity.LookupInfo(emailAddress: "anna@example.org")
        #expect(try roundTrip(lookup) == lookup)
        #expect(try roundTrip(share.owner).role == .owner)
        #expect(try roundTrip(share.owner.userIdentity) == share.owner.userIdentity)
        #expect(try roundTrip(CKAllowedSharingOptions.standard).allowsAccessRequests == false)
    }

    @Test func `A query with an order that queries do not have keeps its error`() async throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: nil, ascending: true)]
        let database = TidemarkDevice(TidemarkCloud.temporary()).container().privateCloudDatabase
        for query in [query, try roundTrip(query)] {
            let error = await #expect(throws: CKError.self) {
                try await database.records(matching: query)
            }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test func `A cursor equals its archived copy`() async throws {
        let database = TidemarkDevice(TidemarkCloud.temporary()).container().privateCloudDatabase
        for _ in 0..<5 { _ = try await database.save(CKRecord(recordType: "Note")) }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let page = try await database.records(
            matching: query,
            desiredKeys: ["title"],
            resultsLimit: 2
        )
        let cursor = try #require(page.queryCursor)
        #expect(try roundTrip(cursor) == cursor)
    }

    @Test func `Queries with long lists and deep predicates round-trip`() throws {
        let names = (0..<3000).map { _ in UUID().uuidString }
        let list = CKQuery(
            recordType: "Note",
            predicate: NSPredicate(format: "name IN %@", names)
        )
        #expect(try roundTrip(list).description == list.description)
        #expect(list.description.contains(names[2999]))
        var deep = NSPredicate(format: "n = 1")
        for number in 0..<100 {
            let other = NSPredicate(format: "n = %d", number)
            deep = NSCompoundPredicate(orPredicateWithSubpredicates: [
                NSCompoundPredicate(andPredicateWithSubpredicates: [deep, other]), other,
            ])
        }
        let query = CKQuery(recordType: "Note", predicate: deep)
        #expect(try roundTrip(query).description == query.description)
    }
}
