// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TestSupport
import Testing
import Tidemark

@Suite struct `Names of users` {
    private let cloud = TidemarkCloud.temporary(userNames: .perContainer)

    private func container(_ identifier: String, _ user: String?, _ device: String) -> CKContainer {
        TidemarkDevice(cloud, user: user, name: device).container(identifier)
    }

    @Test func `a user has another name in each container, and one on all devices`() async throws {
        let notes = try await container("iCloud.notes", "anna", "phone").userRecordID()
        let again = try await container("iCloud.notes", "anna", "laptop").userRecordID()
        let photos = try await container("iCloud.photos", "anna", "phone").userRecordID()
        let ben = try await container("iCloud.notes", "ben", "phone").userRecordID()
        #expect(notes == again)
        #expect(Set([notes, photos, ben]).count == 3)
        // printf 'iCloud.notes\0anna' | sha256sum
        #expect(notes.recordName == "_e5d2a9e86d3628dc10cd31fbfd88fda6")
        #expect(notes.recordName == cloud.userRecordName(of: "anna", in: "iCloud.notes"))
    }

    @Test func `records say who made them by that name, and shares name it`() async throws {
        let anna = container("iCloud.notes", "anna", "phone")
        let ben = container("iCloud.notes", "ben", "tablet")
        let zone = CKRecordZone(zoneName: "Lists")
        _ = try await anna.privateCloudDatabase.save(zone)
        let list = CKRecord(
            recordType: "List",
            recordID: CKRecord.ID(recordName: "l", zoneID: zone.zoneID)
        )
        let share = CKShare(rootRecord: list)
        share.publicPermission = .readWrite
        let saved = try await anna.privateCloudDatabase.modifyRecords(
            saving: [list, share],
            deleting: []
        )
        let result = try #require(saved.saveResults[share.recordID])
        let url = try #require((try result.get() as? CKShare)?.url)
        _ = try await ben.accept(try await ben.shareMetadata(for: url))
        let shared = try #require(try await ben.sharedCloudDatabase.allRecordZones().first?.zoneID)
        #expect(shared.ownerName == cloud.userRecordName(of: "anna", in: "iCloud.notes"))
        let id = CKRecord.ID(recordName: "l", zoneID: shared)
        let record = try await ben.sharedCloudDatabase.record(for: id)
        #expect(record.creatorUserRecordID?.recordName == shared.ownerName)
    }

    @Test func `the user of a device that names none, and one name for all, stay as they are`()
        async throws
    {
        let own = container("iCloud.notes", CKCurrentUserDefaultName, "phone")
        #expect(try await own.userRecordID().recordName == CKCurrentUserDefaultName)
        let same = TidemarkDevice(.temporary(), user: "anna", name: "phone")
        #expect(try await same.container("iCloud.notes").userRecordID().recordName == "anna")
        #expect(try await same.container("iCloud.photos").userRecordID().recordName == "anna")
    }

    @Test func `a store that is opened again has the same names`() async throws {
        let folder = try ScratchFolder()
        var names: Set<String> = []
        for _ in 1...2 {
            let cloud = TidemarkCloud(storeAt: folder.path(), userNames: .perContainer)
            let container = TidemarkDevice(cloud, user: "anna", name: "phone").container()
            let record = CKRecord(recordType: "N")
            let saved = try await container.privateCloudDatabase.save(record)
            #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
            names.insert(try await container.userRecordID().recordName)
            await cloud.close()
        }
        #expect(names.count == 1)
    }
}
