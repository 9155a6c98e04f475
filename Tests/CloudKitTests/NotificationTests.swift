// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

struct NotificationTests {
    @Test func `A query notification contains the record ID, reason and fields`() throws {
        var model = Subscription.Notification(
            .query,
            id: "n1",
            of: UserID("_anna"),
            subscriptionID: "notes"
        )
        model.container = ContainerID("iCloud.example")
        model.scope = .private
        model.reason = .updated
        model.recordID = RecordID(recordName: "r1", zone: ZoneID(zoneName: "Notes"))
        model.fields = try Fields(["title": "Milk", "count": 3])
        model.content.alert = NotificationContent.Text("Changed")
        model.content.title = NotificationContent.Text(
            localizationKey: "TITLE",
            localizationArguments: ["Milk"]
        )
        model.content.soundName = "default"
        model.content.badges = true

        let read = CKNotification(fromRemoteNotificationDictionary: model.remoteDictionary)
        let notification = try #require(read as? CKQueryNotification)
        #expect(notification.notificationType == .query)
        #expect(notification.notificationID == CKNotificationID("n1"))
        #expect(notification.containerIdentifier == "iCloud.example")
        #expect(notification.subscriptionID == "notes")
        #expect(notification.subscriptionOwnerUserRecordID?.recordName == "_anna")
        #expect(notification.queryNotificationReason == .recordUpdated)
        #expect(notification.recordID?.recordName == "r1")
        #expect(notification.recordID?.zoneID.zoneName == "Notes")
        #expect(notification.databaseScope == .private)
        #expect(notification.recordFields?["title"] as? String == "Milk")
        #expect(notification.recordFields?["count"] as? Int == 3)
        #expect(notification.alertBody == "Changed")
        #expect(notification.titleLocalizationKey == "TITLE")
        #expect(notification.titleLocalizationArgs == ["Milk"])
        #expect(notification.soundName == "default")
        #expect(notification.badge == 1)
        #expect(!notification.isPruned)
    }

    @Test func `Zone, database and read notifications have their classes`() throws {
        var zone = Subscription.Notification(.zone, id: "n", of: UserID("_a"), subscriptionID: "z")
        zone.zone = ZoneID(zoneName: "Notes", ownerName: "_b")
        zone.scope = .shared
        let changed = try #require(
            CKNotification(fromRemoteNotificationDictionary: zone.remoteDictionary)
                as? CKRecordZoneNotification
        )
        #expect(changed.recordZoneID == CKRecordZone.ID(zoneName: "Notes", ownerName: "_b"))
        #expect(changed.databaseScope == .shared)

        var database = Subscription.Notification(.database, id: nil, of: UserID("_a"))
        database.isPruned = true
        let hint = try #require(
            CKNotification(fromRemoteNotificationDictionary: database.remoteDictionary)
        )
        #expect(hint is CKDatabaseNotification)
        #expect(hint.isPruned)
        #expect(hint.notificationID == nil)

        let read = Subscription.Notification(.read, id: "n", of: UserID("_a"))
        #expect(
            CKNotification(fromRemoteNotificationDictionary: read.remoteDictionary)?
                .notificationType == .readNotification
        )
    }

    @Test func `Dictionaries from other sources decode to nil`() {
        let other: [AnyHashable: Any] = ["aps": ["alert": "x"]]
        #expect(CKNotification(fromRemoteNotificationDictionary: other) == nil)
        let zone = Subscription.Notification(.zone, id: "n", of: UserID("_a"))
        #expect(CKQueryNotification(fromRemoteNotificationDictionary: zone.remoteDictionary) == nil)
    }

    @Test func `Subscriptions convert to the service's type and back`() throws {
        let query = CKQuerySubscription(
            recordType: "Note",
            predicate: NSPredicate(format: "count > 3"),
            subscriptionID: "q",
            options: [.firesOnRecordDeletion, .firesOnce]
        )
        query.zoneID = CKRecordZone.ID(zoneName: "Notes")
        query.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "a",
            titleLocalizationKey: "t",
            titleLocalizationArgs: ["x"],
            desiredKeys: ["count"],
            shouldBadge: true,
            category: "c",
            collapseIDKey: "k"
        )
        let zone = CKRecordZoneSubscription(
            zoneID: CKRecordZone.ID(zoneName: "Notes"),
            subscriptionID: "z"
        )
        zone.recordType = "Note"
        let database = CKDatabaseSubscription(subscriptionID: "d")
        for subscription in [query, zone, database] as [CKSubscription] {
            let model = try subscription.model()
            let back = CKSubscription.make(model)
            #expect(type(of: back) == type(of: subscription))
            #expect(try back.model() == model)
        }
        let model = try query.model()
        #expect(model.content.badges)
        #expect(model.content.collapseID == "k")
        guard case .query(let asked) = model.kind else {
            Issue.record("not a query")
            return
        }
        #expect(asked.options == [.delete, .once])
        #expect(asked.predicate == .compare("count", .greaterThan, 3))
        #expect(asked.zone == ZoneID(zoneName: "Notes"))
    }
}

@Suite struct SubscriptionEqualityTests {
    @Test func `Subscriptions with equal content are equal`() throws {
        let zone = CKRecordZone.ID(zoneName: "Notes")
        func query(_ title: String) -> CKSubscription {
            CKQuerySubscription(
                recordType: "Note",
                predicate: NSPredicate(format: "title == %@", title),
                subscriptionID: "s",
                options: [.firesOnRecordCreation]
            )
        }
        let subscriptions = [
            query("a"), query("b"), CKRecordZoneSubscription(zoneID: zone, subscriptionID: "s"),
            CKDatabaseSubscription(subscriptionID: "s"),
            CKDatabaseSubscription(subscriptionID: "t"),
        ]
        for (index, subscription) in subscriptions.enumerated() {
            let copy = try #require(subscription.copy() as? CKSubscription)
            #expect(copy !== subscription)
            #expect(copy == subscription && copy.hash == subscription.hash)
            for other in subscriptions[(index + 1)...] { #expect(other != subscription) }
            let info = CKSubscription.NotificationInfo()
            info.alertBody = "New"
            copy.notificationInfo = info
            #expect(copy != subscription && copy.notificationInfo == info)
        }
    }
}
