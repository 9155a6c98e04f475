// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
import Tidemark
#endif

@Suite(.needsCloud) struct `Subscriptions` {
    private func subscription(_ id: String) -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Item",
            predicate: NSPredicate(format: "list == %@", "groceries"),
            subscriptionID: id,
            options: [.firesOnRecordCreation, .firesOnRecordDeletion]
        )
        let info = CKSubscription.NotificationInfo()
        info.alertBody = "Something new"
        info.desiredKeys = ["title"]
        subscription.notificationInfo = info
        return subscription
    }

    private func item(_ name: String, in list: String) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name))
        record["list"] = list
        record["title"] = "Title of \(name)"
        return record
    }

    @Test func `A query subscription notifies of each change and its record`() async throws {
        let fixture = CloudFixture()
        let laptop = fixture.device("laptop")
        let heard = Heard<CKQueryNotification>()
        laptop.onRemoteNotification { dictionary in
            if let query = CKNotification(fromRemoteNotificationDictionary: dictionary)
                as? CKQueryNotification
            {
                heard.add(query)
            }
        }
        let mine = laptop.container().privateCloudDatabase
        _ = try await mine.save(subscription("new"))
        let phone = try await fixture.database()
        _ = try await phone.save(item("milk", in: "groceries"))
        _ = try await phone.save(item("nail", in: "tools"))
        _ = try await phone.deleteRecord(withID: CKRecord.ID(recordName: "milk"))
        // A device does not hear of what it does itself.
        _ = try await mine.save(item("bread", in: "groceries"))
        try await heard.wait(for: 2)
        #expect(heard.items.map { $0.recordID?.recordName } == ["milk", "milk"])
        #expect(
            heard.items.map(\.queryNotificationReason) == [.recordCreated, .recordDeleted]
        )
        #expect(heard.items[0].recordFields?["title"] as? String == "Title of milk")
        #expect(heard.items[0].containerIdentifier == laptop.container().containerIdentifier)
        #expect(heard.items[0].alertBody == "Something new")
    }

    @Test func `A notification with values of any type passes through JSON`() async throws {
        let fixture = CloudFixture()
        let laptop = fixture.device("laptop")
        let heard = Heard<(json: Data?, notification: CKQueryNotification?)>()
        laptop.onRemoteNotification { dictionary in
            let json = try? JSONSerialization.data(withJSONObject: dictionary)
            heard.add((json, CKQueryNotification(fromRemoteNotificationDictionary: dictionary)))
        }
        let subscription = subscription("new")
        let info = CKSubscription.NotificationInfo()
        info.desiredKeys = ["due", "place", "parent"]
        subscription.notificationInfo = info
        _ = try await laptop.container().privateCloudDatabase.save(subscription)
        let record = item("milk", in: "groceries")
        let parent = CKRecord.Reference(recordID: record.recordID, action: .none)
        record["due"] = Date(timeIntervalSince1970: 5)
        record["place"] = CLLocation(latitude: 1, longitude: 2)
        record["parent"] = parent
        _ = try await fixture.database().save(record)
        try await heard.wait(for: 1)
        let json = try #require(heard.items[0].json)
        let object = try JSONSerialization.jsonObject(with: json) as? [AnyHashable: Any]
        let dictionary = try #require(object)
        for notification in [
            heard.items[0].notification,
            CKQueryNotification(fromRemoteNotificationDictionary: dictionary),
        ] {
            let fields = try #require(notification?.recordFields)
            #expect(fields["due"] as? Date == record["due"] as? Date)
            #expect((fields["place"] as? CLLocation)?.coordinate.longitude == 2)
            #expect(fields["parent"] as? CKRecord.Reference == parent)
        }
    }

    @Test func `Subscriptions are fetched, replaced and deleted`() async throws {
        let database = try await CloudFixture().database()
        let both = try await database.modifySubscriptions(
            saving: [subscription("a"), CKDatabaseSubscription(subscriptionID: "b")],
            deleting: []
        )
        #expect(both.saveResults.count == 2)
        let fetched = try await database.subscription(for: "a") as? CKQuerySubscription
        #expect(fetched?.recordType == "Item")
        #expect(fetched?.notificationInfo?.desiredKeys == ["title"])
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["a", "b"])
        let some = try await database.subscriptions(for: ["b", "c"])
        #expect(try some["b"]?.get() is CKDatabaseSubscription)
        #expect((some["c"]?.error as? CKError)?.code == .unknownItem)
        #expect(try await database.deleteSubscription(withID: "a") == "a")
        #expect(try await database.allSubscriptions().count == 1)
        let zone = CKRecordZoneSubscription(
            zoneID: CKRecordZone.ID(zoneName: "Nowhere"),
            subscriptionID: "z"
        )
        #expect(await code { _ = try await database.save(zone) } == .zoneNotFound)
    }

    @available(*, deprecated)
    @Test func `Notifications are fetched and marked as read`() async throws {
        let fixture = CloudFixture()
        let laptop = fixture.container(on: "laptop")
        _ = try await laptop.privateCloudDatabase.save(subscription("new"))
        let phone = try await fixture.database()
        _ = try await phone.save(item("milk", in: "groceries"))

        func fetch() async -> [CKNotification] {
            let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
            let heard = Heard<CKNotification>()
            operation.notificationChangedBlock = { heard.add($0) }
            await operation.run { laptop.add($0) }
            #expect(!operation.moreComing)
            return heard.items
        }

        // They are made after the save has its answer.
        let end = ContinuousClock.now + .seconds(60)
        var notifications = await fetch()
        while notifications.isEmpty, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(10))
            notifications = await fetch()
        }
        #expect(notifications.map(\.subscriptionID) == ["new"])
        let ids = notifications.compactMap(\.notificationID)
        let mark = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: ids)
        let marked = Heard<Int?>()
        mark.markNotificationsReadCompletionBlock = { ids, _ in marked.add(ids?.count) }
        await mark.run { laptop.add($0) }
        #expect(marked.items == [1])
        #expect(await fetch().isEmpty)
    }

    #if !TidemarkName
    @available(*, deprecated)
    @Test(.needsStore) func `Deprecated operations find subscriptions and users`() async throws {
        let fixture = CloudFixture()
        let store = try #require(try await fixture.cloud.service() as? Store)
        let place = ContainerID("iCloud.example.notes")
        var ben = UserAccount(UserID("ben"))
        ben.emails = ["ben@example.org"]
        ben.isDiscoverable = true
        try await store.setUser(ben, of: place)
        var anna = UserAccount(UserID("anna"))
        anna.contacts = [.email("ben@example.org"), .email("cleo@example.org")]
        try await store.setUser(anna, of: place)
        let container = fixture.container(on: "phone")

        let discover = CKDiscoverUserIdentitiesOperation(
            userIdentityLookupInfos: CKUserIdentity.LookupInfo.lookupInfos(
                withEmails: ["ben@example.org", "cleo@example.org"]
            )
        )
        let found = Heard<String?>()
        discover.userIdentityDiscoveredBlock = { identity, _ in
            found.add(identity.userRecordID?.recordName)
        }
        await discover.run { container.add($0) }
        #expect(found.items == ["ben"])
        let contacts = try await container.allUserIdentitiesFromContacts()
        #expect(contacts.map { $0.userRecordID?.recordName } == ["ben"])
        let byEmail = try await container.userIdentities(forEmailAddresses: ["ben@example.org"])
        #expect(byEmail["ben@example.org"]?.userRecordID?.recordName == "ben")
        let nobody = try await container.userIdentity(forEmailAddress: "cleo@example.org")
        #expect(nobody == nil)
        let old = CKDiscoverUserInfosOperation(
            emailAddresses: ["ben@example.org"],
            userRecordIDs: [CKRecord.ID(recordName: "nobody")]
        )
        let infos = Heard<[String]>()
        old.discoverUserInfosCompletionBlock = { byEmail, byID, error in
            #expect(byID?.isEmpty == true)
            #expect(error == nil)
            infos.add(byEmail.map { Array($0.keys) } ?? [])
        }
        await old.run { container.add($0) }
        #expect(infos.items == [["ben@example.org"]])
        #expect(
            try await container.requestApplicationPermission(.userDiscoverability) == .granted
        )
    }
    #endif
}
