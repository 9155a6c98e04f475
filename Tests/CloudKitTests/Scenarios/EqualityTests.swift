// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CloudKit
@testable import TidemarkCloudKit

/// Objects that Apple's framework compares by what they say, and those that it compares by identity.
///
/// Which are which is taken from the methods that its classes have: those with `isEqual:` and `hash` of
/// their own.
@Suite struct `Equality` {
    private static let zone = CKRecordZone.ID(zoneName: "Lists", ownerName: "anna")

    private static func location(_ longitude: Double) -> CLLocation {
        CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: longitude),
            altitude: 0,
            horizontalAccuracy: 0,
            verticalAccuracy: 0,
            timestamp: Date(timeIntervalSince1970: 1)
        )
    }

    /// Each class by two values that say the same and one that differs.
    private static var values: [(String, NSObject, NSObject, NSObject)] {
        [
            (
                "CKRecordZone.ID", CKRecordZone.ID(zoneName: "Lists", ownerName: "anna"), zone,
                CKRecordZone.ID(zoneName: "Lists", ownerName: "ben")
            ),
            (
                "CKRecord.ID", CKRecord.ID(recordName: "a", zoneID: zone),
                CKRecord.ID(recordName: "a", zoneID: zone), CKRecord.ID(recordName: "a")
            ),
            (
                "CKRecord.Reference",
                CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none),
                CKRecord.Reference(recordID: CKRecord.ID(recordName: "a"), action: .none),
                CKRecord.Reference(recordID: CKRecord.ID(recordName: "b"), action: .none)
            ),
            (
                "CKRecordZone", CKRecordZone(zoneID: zone), CKRecordZone(zoneID: zone),
                CKRecordZone(zoneName: "Other")
            ),
            (
                "CKUserIdentity.LookupInfo",
                CKUserIdentity.LookupInfo(emailAddress: "a@example.org"),
                CKUserIdentity.LookupInfo(emailAddress: "a@example.org"),
                CKUserIdentity.LookupInfo(phoneNumber: "1")
            ),
            (
                "CLLocation", location(2), location(2), location(3)
            ),
            (
                "CKDatabaseSubscription", CKDatabaseSubscription(subscriptionID: "a"),
                CKDatabaseSubscription(subscriptionID: "a"),
                CKDatabaseSubscription(subscriptionID: "b")
            ),
            (
                "CKRecordZoneSubscription",
                CKRecordZoneSubscription(zoneID: zone, subscriptionID: "a"),
                CKRecordZoneSubscription(zoneID: zone, subscriptionID: "a"),
                CKRecordZoneSubscription(zoneID: CKRecordZone.default().zoneID, subscriptionID: "a")
            ),
            (
                "CKSubscription.NotificationInfo", CKSubscription.NotificationInfo(),
                CKSubscription.NotificationInfo(),
                {
                    let info = CKSubscription.NotificationInfo()
                    info.alertBody = "x"
                    return info
                }()
            ),
        ]
    }

    @Test func `Objects with equal content are equal and have equal hashes`() {
        for (name, one, same, other) in Self.values {
            #expect(one.isEqual(same), "\(name)")
            #expect(one.hash == same.hash, "\(name)")
            #expect(!one.isEqual(other), "\(name)")
            #expect(!one.isEqual("text"), "\(name)")
            if let copy = (one as? any NSCopying)?.copy(with: nil) as? NSObject {
                #expect(one.isEqual(copy), "a copy of \(name)")
            }
        }
    }

    @Test func `Unarchived objects equal their originals`() throws {
        for (name, one, _, _) in Self.values {
            let data = try NSKeyedArchiver.archivedData(
                withRootObject: one,
                requiringSecureCoding: true
            )
            let back = try NSKeyedUnarchiver.unarchivedObject(
                ofClasses: [type(of: one)],
                from: data
            )
            #expect(one.isEqual(back), "\(name)")
        }
    }

    @Test func `Records, assets, queries and settings are equal by identity only`() throws {
        let file = URL(fileURLWithPath: #filePath)
        let pairs: [(NSObject, NSObject)] = [
            (
                CKRecord(recordType: "N", recordID: CKRecord.ID(recordName: "a")),
                CKRecord(recordType: "N", recordID: CKRecord.ID(recordName: "a"))
            ),
            (CKAsset(fileURL: file), CKAsset(fileURL: file)),
            (
                CKQuery(recordType: "N", predicate: NSPredicate(value: true)),
                CKQuery(recordType: "N", predicate: NSPredicate(value: true))
            ),
            (CKOperation.Configuration(), CKOperation.Configuration()),
            (CKOperationGroup(), CKOperationGroup()),
        ]
        for (one, other) in pairs {
            #expect(one.isEqual(one))
            #expect(!one.isEqual(other), "\(type(of: one))")
        }
    }

    @Test func `Two fetches of the same object return equal objects`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: CKRecordZone.ID(zoneName: "Lists"))
        let list = CKRecord("List", "l", in: CKRecordZone.ID(zoneName: "Lists"))
        let share = CKShare(rootRecord: list)
        share.publicPermission = .readOnly
        let saved = try await database.modifyRecords(saving: [list, share], deleting: [])
        let result = try #require(saved.saveResults[share.recordID])
        let url = try #require((try result.get() as? CKShare)?.url)
        let ben = fixture.container(on: "tablet", of: "ben")
        let metadata = try await ben.shareMetadata(for: url)
        let again = try await ben.shareMetadata(for: url)
        #expect(metadata !== again)
        #expect(metadata == again)
        #expect(metadata.hash == again.hash)
        #expect(metadata.ownerIdentity == again.ownerIdentity)
        #expect(metadata.share.participants == again.share.participants)
        _ = try await ben.accept(metadata)
        #expect(try await ben.shareMetadata(for: url) != metadata)
    }
}
