// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
import Tidemark
#endif

@Suite(.needsCloud) struct `Sharing` {
    private let zoneID = CKRecordZone.ID(zoneName: "Lists")

    private func record(_ type: String, _ name: String) -> CKRecord {
        CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    /// Lets a user be invited by an e-mail address.
    private func introduce(_ user: String, in fixture: CloudFixture) async throws {
        #if !TidemarkName
        if CloudFixture.address == nil {
            let store = try #require(try await fixture.cloud.service() as? Store)
            var account = UserAccount(UserID(user))
            account.emails = ["\(user)@example.org"]
            return try await store.setUser(account, of: ContainerID("iCloud.example.notes"))
        }
        #endif
        // Signing in tells the server the address.
        _ = fixture.device("tablet", of: user)
    }

    @Test func `A list with its items is shared with a second user`() async throws {
        let fixture = CloudFixture()
        try await introduce("ben", in: fixture)
        let anna = fixture.container(on: "phone")
        let ben = fixture.container(on: "tablet", of: "ben")
        let (annaID, benID) = (try await anna.userRecordID(), try await ben.userRecordID())
        let mine = anna.privateCloudDatabase
        _ = try await mine.save(CKRecordZone(zoneID: zoneID))
        let list = record("List", "groceries")
        list["title"] = "Groceries"
        let item = record("Item", "milk")
        item["text"] = "Milk"
        item.setParent(list)
        let other = record("Item", "secret")
        _ = try await mine.modifyRecords(saving: [list, item, other], deleting: [])

        // Anna shares the list, and invites Ben.
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        let lookup = CKUserIdentity.LookupInfo(emailAddress: "ben@example.org")
        let participants = try await anna.shareParticipants(for: [lookup])
        let participant = try #require(try participants[lookup]?.get())
        participant.permission = .readWrite
        share.addParticipant(participant)
        let saved = try await mine.modifyRecords(saving: [list, share], deleting: [])
        let savedShare = try #require(
            try saved.saveResults[share.recordID]?.get() as? CKShare
        )
        let url = try #require(savedShare.url)

        // Ben opens the link.
        let metadata = try await ben.shareMetadata(for: url)
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.share[CKShare.SystemFieldKey.title] == "Groceries")
        let accepted = try await ben.accept(metadata)
        #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)

        let shared = ben.sharedCloudDatabase
        let zones = try await shared.allRecordZones()
        let sharedZone = try #require(zones.first?.zoneID)
        #expect(sharedZone.zoneName == "Lists")
        #expect(sharedZone.ownerName == annaID.recordName)
        let seen = try await shared.recordZoneChanges(inZoneWith: sharedZone, since: nil)
        let names = Set(seen.modificationResultsByID.keys.map(\.recordName))
        #expect(names.isSuperset(of: ["groceries", "milk"]))
        #expect(!names.contains("secret"))

        // Ben adds an item, which Anna sees; and may not add one beside the list.
        let butter = CKRecord("Item", "butter", in: sharedZone)
        butter["text"] = "Butter"
        #expect(await code { _ = try await shared.save(butter) } == .permissionFailure)
        butter.setParent(CKRecord.ID(recordName: "groceries", zoneID: sharedZone))
        _ = try await shared.save(butter)
        let fetched = try await mine.record(for: record("Item", "butter").recordID)
        #expect(fetched["text"] == "Butter")
        #expect(fetched.creatorUserRecordID?.recordName == benID.recordName)

        // Anna stops sharing, and the zone is gone from Ben's shared database.
        let before = try await shared.databaseChanges(since: nil).changeToken
        try await mine.deleteRecord(withID: share.recordID)
        let after = try await shared.databaseChanges(since: before)
        #expect(after.deletions.map(\.zoneID) == [sharedZone])
        #expect(
            await code { _ = try await shared.record(for: butter.recordID) } == .zoneNotFound
        )
    }

    @Test func `A link grants access to a zone, and a stranger may request access`() async throws {
        let fixture = CloudFixture()
        let anna = fixture.container(on: "phone")
        let cleo = fixture.container(on: "laptop", of: "cleo")
        let mine = anna.privateCloudDatabase
        _ = try await mine.save(CKRecordZone(zoneID: zoneID))
        let share = CKShare(recordZoneID: zoneID)
        share.allowsAccessRequests = true
        let first = try #require(try await mine.save(share) as? CKShare)
        let url = try #require(first.url)

        let strange = await code { _ = try await cleo.shareMetadata(for: url) }
        #expect(strange == .unknownItem)
        let metadata = try await anna.shareMetadata(for: url)
        #expect(await code { _ = try await cleo.accept(metadata) } == .permissionFailure)
        let request = CKShareRequestAccessOperation(shareURLs: [url])
        let asked = Heard<URL>()
        request.perShareAccessRequestResultBlock = { url, result in
            if case .success = result { asked.add(url) }
        }
        await request.run { cleo.add($0) }
        #expect(asked.items == [url])
        let unknown = try #require(URL(string: "https://tidemark.invalid/share/unknown"))
        let answers = try await cleo.requestShareAccess(for: [url, unknown])
        #expect(answers.count == 2)
        #expect(answers[url]?.error == nil)

        let current = try #require(try await mine.record(for: first.recordID) as? CKShare)
        let cleoID = try await cleo.userRecordID()
        #expect(
            current.requesters.compactMap(\.userIdentity.userRecordID?.recordName)
                == [cleoID.recordName]
        )
        current.publicPermission = .readOnly
        _ = try await mine.save(current)

        let fetch = CKFetchShareMetadataOperation(shareURLs: [url])
        let metadatas = Heard<CKShare.Metadata>()
        fetch.perShareMetadataResultBlock = { _, result in
            if case .success(let metadata) = result { metadatas.add(metadata) }
        }
        await fetch.run { cleo.add($0) }
        let accept = CKAcceptSharesOperation(shareMetadatas: metadatas.items)
        let shares = Heard<CKShare>()
        accept.perShareResultBlock = { _, result in
            if case .success(let share) = result { shares.add(share) }
        }
        await accept.run { cleo.add($0) }
        #expect(shares.items.count == 1)
        #expect(try await cleo.sharedCloudDatabase.allRecordZones().count == 1)
        #expect(try await mine.recordZone(for: zoneID).share?.recordID == first.recordID)
    }

    @Test(arguments: [CKModifyRecordsOperation.RecordSavePolicy.changedKeys, .allKeys])
    func `A save of an old share changes no participants`(
        _ policy: CKModifyRecordsOperation.RecordSavePolicy
    ) async throws {
        let fixture = CloudFixture()
        let mine = fixture.container(on: "phone").privateCloudDatabase
        let zone = CKRecordZone(zoneID: zoneID)
        _ = try await mine.save(zone)
        let share = CKShare(recordZoneID: zoneID)
        _ = try await mine.save(share)
        let old = try #require(try await mine.record(for: share.recordID) as? CKShare)
        // An archive of it is as old.
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: old,
            requiringSecureCoding: true
        )
        let archived = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
        )
        let lookup = CKUserIdentity.LookupInfo(emailAddress: "ben@example.org")
        let ben = try await fixture.container(on: "phone").shareParticipants(for: [lookup])
        share.addParticipant(try #require(try ben[lookup]?.get()))
        _ = try await mine.save(share)
        for (number, share) in [old, archived].enumerated() {
            share[CKShare.SystemFieldKey.title] = "Title \(number)"
            let operation = CKModifyRecordsOperation(recordsToSave: [share])
            operation.savePolicy = policy
            let errors = Heard<CKError.Code?>()
            operation.perRecordSaveBlock = { errors.add(($1.error as? CKError)?.code) }
            await operation.run { mine.add($0) }
            #expect(errors.items == [nil])
            let now = try #require(try await mine.record(for: share.recordID) as? CKShare)
            #expect(now[CKShare.SystemFieldKey.title] == "Title \(number)")
            #expect(now.participants.count == 2)
        }
        // What it changes, it changes.
        archived.publicPermission = .readOnly
        let operation = CKModifyRecordsOperation(recordsToSave: [archived])
        operation.savePolicy = policy
        await operation.run { mine.add($0) }
        let now = try #require(try await mine.record(for: share.recordID) as? CKShare)
        #expect(now.publicPermission == .readOnly)
    }

    #if !TidemarkName
    @Test(.needsStore) func `Only discoverable users are found`() async throws {
        let fixture = CloudFixture()
        let store = try #require(try await fixture.cloud.service() as? Store)
        var ben = UserAccount(UserID("ben"))
        ben.emails = ["ben@example.org"]
        ben.name = PersonName(givenName: "Ben")
        ben.isDiscoverable = true
        try await store.setUser(ben, of: ContainerID("iCloud.example.notes"))
        let anna = fixture.container(on: "phone")
        let cleo = CKRecord.ID(recordName: "cleo")
        let noUser = CKRecord.ID(recordName: "cleo", zoneID: zoneID)
        let participants = try await anna.shareParticipants(
            forUserRecordIDs: [CKRecord.ID(recordName: "ben"), cleo, noUser]
        )
        let found = try participants[CKRecord.ID(recordName: "ben")]?.get()
        #expect(found?.userIdentity.nameComponents?.givenName == "Ben")
        // Who did not ask to be found can be invited by who knows their record, and no name is told.
        let unseen = try participants[cleo]?.get()
        #expect(unseen?.userIdentity.userRecordID == cleo)
        #expect(unseen?.userIdentity.nameComponents == nil)
        let missing = participants[noUser]?.error as? CKError
        #expect(missing?.code == .unknownItem)
    }

    @Test func `A new share is saved with its root if the store is strict`() async throws {
        var options = StoreOptions()
        options.durability = .none
        for isStrict in [false, true] {
            options.isStrict = isStrict
            let cloud = TidemarkCloud.temporary(options: options)
            let mine = TidemarkDevice(cloud, user: "anna").container().privateCloudDatabase
            _ = try await mine.save(CKRecordZone(zoneID: zoneID))
            let list = record("List", "groceries")
            _ = try await mine.save(list)
            let alone = await code { _ = try await mine.save(CKShare(rootRecord: list)) }
            #expect(alone == (isStrict ? .invalidArguments : nil))
            if isStrict {
                let share = CKShare(rootRecord: list)
                _ = try await mine.modifyRecords(saving: [share, list], deleting: [])
                // Later on it is saved alone, and so is that of a whole zone from the first.
                share.publicPermission = .readOnly
                _ = try await mine.save(share)
                let zone = CKRecordZone(zoneName: "Wide")
                _ = try await mine.save(zone)
                _ = try await mine.save(CKShare(recordZoneID: zone.zoneID))
            }
        }
    }
    #endif

    /// In a store, the user has no account.
    @Test func `A user is invited by user record`() async throws {
        let fixture = CloudFixture()
        let anna = fixture.container(on: "phone")
        let ben = fixture.container(on: "tablet", of: "ben")
        let mine = anna.privateCloudDatabase
        _ = try await mine.save(CKRecordZone(zoneID: zoneID))
        let list = record("List", "groceries")
        let share = CKShare(rootRecord: list)
        let participant = try await anna.shareParticipant(
            forUserRecordID: try await ben.userRecordID()
        )
        participant.permission = .readWrite
        share.addParticipant(participant)
        _ = try await mine.modifyRecords(saving: [list, share], deleting: [])

        let metadata = try await ben.shareMetadata(for: try #require(share.url))
        #expect(metadata.participantStatus == .pending)
        let accepted = try await ben.accept(metadata)
        #expect(accepted.currentUserParticipant?.permission == .readWrite)
        let theirs = try await ben.sharedCloudDatabase.allRecordZones()
        #expect(theirs.map(\.zoneID.zoneName) == ["Lists"])
    }
}
