// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TestSupport
import Testing
import Tidemark

@Suite struct `Names of users` {
    private let cloud = TidemarkCloud.temporary()

    private func container(_ identifier: String, _ user: String?, _ device: String) -> CKContainer {
        TidemarkDevice(cloud, user: user, name: device).container(identifier)
    }

    @Test func `A user has one name per container, the same on all devices`() async throws {
        let notes = try await container("iCloud.notes", "anna", "phone").userRecordID()
        let again = try await container("iCloud.notes", "anna", "laptop").userRecordID()
        let photos = try await container("iCloud.photos", "anna", "phone").userRecordID()
        let ben = try await container("iCloud.notes", "ben", "phone").userRecordID()
        #expect(notes == again)
        #expect(Set([notes, photos, ben]).count == 3)
        // printf 'iCloud.notes\0anna' | sha256sum
        #expect(notes.recordName == "_e5d2a9e86d3628dc10cd31fbfd88fda6")
        let name = try await cloud.userRecordName(of: "anna", in: "iCloud.notes")
        #expect(notes.recordName == name)
    }

    @Test func `Records and shares contain the container's name of a user`() async throws {
        let anna = container("iCloud.notes", "anna", "phone")
        let ben = container("iCloud.notes", "ben", "tablet")
        let zone = CKRecordZone(zoneName: "Lists")
        _ = try await anna.privateCloudDatabase.save(zone)
        let list = CKRecord("List", "l", in: zone.zoneID)
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
        let owner = try await cloud.userRecordName(of: "anna", in: "iCloud.notes")
        #expect(shared.ownerName == owner)
        let id = CKRecord.ID(recordName: "l", zoneID: shared)
        let record = try await ben.sharedCloudDatabase.record(for: id)
        #expect(record.creatorUserRecordID?.recordName == shared.ownerName)
    }

    @Test func `Unnamed users and stores with userNames .same use no per-container names`()
        async throws
    {
        let own = container("iCloud.notes", CKCurrentUserDefaultName, "phone")
        #expect(try await own.userRecordID().recordName == CKCurrentUserDefaultName)
        let same = TidemarkDevice(.temporary(userNames: .same), user: "anna", name: "phone")
        #expect(try await same.container("iCloud.notes").userRecordID().recordName == "anna")
        #expect(try await same.container("iCloud.photos").userRecordID().recordName == "anna")
    }

    @Test func `The own user is found by the name that records give as their creator`() async throws
    {
        let container = TidemarkDevice(.temporary(), user: "anna", name: "phone").container()
        let database = container.publicCloudDatabase
        let post = try await database.save(CKRecord(recordType: "Post"))
        let creator = try #require(post.creatorUserRecordID)
        let found = try await database.records(for: [creator, post.recordID])
        let user = try #require(try found[creator]?.get())
        #expect(user.recordID == (try await container.userRecordID()))
        #expect(try found[post.recordID]?.get().recordType == "Post")
    }

    @Test func `A parent may name its own zone's owner in either way`() async throws {
        let container = TidemarkDevice(.temporary(), user: "anna", name: "phone").container()
        let database = container.privateCloudDatabase
        let zone = CKRecordZone(zoneName: "Notes")
        try await database.save(zone)
        let parent = CKRecord("Note", "parent", in: zone.zoneID)
        try await database.save(parent)
        let name = try await container.userRecordID().recordName
        let same = CKRecordZone.ID(zoneName: "Notes", ownerName: name)
        let child = CKRecord("Note", "child", in: zone.zoneID)
        child.parent = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "parent", zoneID: same),
            action: .none
        )
        #expect(try await database.save(child).parent?.recordID.recordName == "parent")
        let other = CKRecordZone.ID(zoneName: "Other", ownerName: name)
        child.parent = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "parent", zoneID: other),
            action: .none
        )
        #expect(await code { try await database.save(child) } == .invalidArguments)
    }

    @Test func `A store has the same user names after it is opened again`() async throws {
        let folder = try ScratchFolder()
        var names: Set<String> = []
        for _ in 1...2 {
            let cloud = TidemarkCloud(storeAt: folder.path())
            let container = TidemarkDevice(cloud, user: "anna", name: "phone").container()
            let record = CKRecord(recordType: "N")
            let saved = try await container.privateCloudDatabase.save(record)
            #expect(saved.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
            names.insert(try await container.userRecordID().recordName)
            await cloud.close()
        }
        #expect(names.count == 1)
    }

    @Test
    func `Existing users keep their names, and new users get one name per container`()
        async throws
    {
        let folder = try ScratchFolder()
        let old = TidemarkCloud(storeAt: folder.path(), userNames: .same)
        let before = TidemarkDevice(old, user: "anna", name: "phone").container("iCloud.notes")
        _ = try await before.privateCloudDatabase.save(CKRecord(recordType: "N"))
        await old.close()

        for _ in 1...2 {
            let cloud = TidemarkCloud(storeAt: folder.path())
            let anna = TidemarkDevice(cloud, user: "anna", name: "phone")
            #expect(try await anna.container("iCloud.notes").userRecordID().recordName == "anna")
            let found = try await anna.container("iCloud.notes").privateCloudDatabase.records(
                matching: CKQuery(recordType: "N", predicate: NSPredicate(value: true))
            )
            #expect(found.matchResults.count == 1)
            let photos = try await anna.container("iCloud.photos").userRecordID().recordName
            #expect(
                photos == UserID(account: "anna", in: ContainerID("iCloud.photos")).userRecordName
            )
            let ben = TidemarkDevice(cloud, user: "ben", name: "phone").container("iCloud.notes")
            _ = try await ben.privateCloudDatabase.save(CKRecord(recordType: "N"))
            let name = UserID(account: "ben", in: ContainerID("iCloud.notes")).userRecordName
            #expect(try await ben.userRecordID().recordName == name)
            await cloud.close()
        }
    }

    @Test func `A user with an account set by the operator keeps the name`() async throws {
        let store = try #require(try await cloud.service() as? Store)
        try await store.setUser(UserAccount(UserID("anna")), of: ContainerID("iCloud.notes"))
        let notes = container("iCloud.notes", "anna", "phone")
        #expect(try await notes.userRecordID().recordName == "anna")
    }

    @Test func `Devices are notified of each other's changes`() async throws {
        func book(_ name: String) -> NoteBook {
            NoteBook(container("iCloud.notes", "anna", name), syncsByItself: true)
        }
        func wait(_ isDone: () async -> Bool) async throws {
            for _ in 0..<6000 {
                if await isDone() { return }
                try await Task.sleep(for: .milliseconds(10))
            }
            Issue.record("Nothing was heard for a minute.")
        }
        let (phone, laptop) = (book("phone"), book("laptop"))
        _ = await laptop.engine()
        await phone.write("hello", in: "n")
        try await wait { await laptop.notes["n"]?.text == "hello" }
        await laptop.write("there", in: "n")
        try await wait { await phone.notes["n"]?.text == "there" }
    }
}
