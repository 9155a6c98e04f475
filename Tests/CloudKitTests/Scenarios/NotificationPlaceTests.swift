// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TestSupport
import Testing
import Tidemark

@Suite struct `A device's place among notifications` {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("device") }
    private let cloud = TidemarkCloud.temporary()

    init() throws {
        scratch = try ScratchFolder()
    }

    private var database: CKDatabase {
        TidemarkDevice(cloud, user: "anna", name: "phone").container().privateCloudDatabase
    }

    private func note(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record["text"] = name
        return record
    }

    /// What the laptop hears in one process: until so many notifications have come, or without any.
    private func laptop(
        _ heard: Heard<(String?, Int?)>,
        until count: Int,
        _ body: (CKContainer) async throws -> Void = { _ in }
    ) async throws {
        let laptop = TidemarkDevice(cloud, user: "anna", name: "laptop", folder: folder)
        laptop.onRemoteNotification { dictionary in
            let notification = CKQueryNotification(fromRemoteNotificationDictionary: dictionary)
            heard.add((notification?.recordID?.recordName, notification?.badge?.intValue))
        }
        let container = laptop.container()
        _ = try await container.privateCloudDatabase.allRecordZones()
        try await body(container)
        try await heard.wait(for: count)
        laptop.onRemoteNotification(nil)
    }

    private func subscribe(_ database: CKDatabase) async throws {
        let subscription = CKQuerySubscription(
            recordType: "Note",
            predicate: NSPredicate(value: true),
            subscriptionID: "notes",
            options: [.firesOnRecordCreation]
        )
        let info = CKSubscription.NotificationInfo()
        info.alertBody = "A note"
        info.shouldBadge = true
        subscription.notificationInfo = info
        try await database.save(subscription)
    }

    @available(*, deprecated)
    @Test func `The position and the badge persist across restarts`() async throws {
        let phone = database
        try await subscribe(phone)
        try await phone.save(note("before"))
        let store = try #require(try await cloud.service() as? Store)
        try await store.waitUntilNotified()

        // The first time: from now on, whether or not anything comes.
        let first = Heard<(String?, Int?)>()
        try await laptop(first, until: 0)
        #expect(first.items.isEmpty)
        try await phone.save(note("a"))

        let second = Heard<(String?, Int?)>()
        try await laptop(second, until: 2) { _ in try await phone.save(note("b")) }
        #expect(second.items.map(\.0) == ["a", "b"])
        #expect(second.items.map(\.1) == [1, 2])

        // The program shows its user what there is, and goes on counting from nothing.
        try await phone.save(note("c"))
        let badge = CKModifyBadgeOperation(badgeValue: 0)
        let errors = Heard<(any Error)?>()
        badge.modifyBadgeCompletionBlock = { errors.add($0) }
        let same = TidemarkDevice(cloud, user: "anna", name: "laptop", folder: folder).container()
        await badge.run { same.add($0) }
        #expect(errors.items.count == 1)
        #expect(errors.items.first.flatMap { $0 } == nil)
        let third = Heard<(String?, Int?)>()
        try await laptop(third, until: 1)
        #expect(third.items.map(\.0) == ["c"])
        #expect(third.items.map(\.1) == [1])
    }
}
