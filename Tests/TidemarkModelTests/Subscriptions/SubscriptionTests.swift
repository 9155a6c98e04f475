// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct SubscriptionTests {
    private let privateDatabase = DatabaseID(owner: UserID("_anna"))
    private let publicDatabase = DatabaseID(scope: .public)
    private let sharedDatabase = DatabaseID(scope: .shared, owner: UserID("_anna"))

    private func error(
        _ subscription: Subscription,
        in database: DatabaseID,
        _ limits: Limits = Limits()
    ) -> SyncError? {
        do throws(SyncError) {
            try subscription.check(in: database, limits)
            return nil
        } catch {
            return error
        }
    }

    // MARK: What a database has

    @Test func `Each database allows certain kinds of subscriptions`() {
        let query = Subscription("q", .query(.init(recordType: "Note")))
        let zone = Subscription("z", .zone(ZoneID(zoneName: "Notes")))
        let database = Subscription("d", .database())
        let expected: [(DatabaseID, [SyncError.Code?])] = [
            (publicDatabase, [nil, .badDatabase, .badDatabase]),
            (privateDatabase, [nil, nil, nil]),
            (sharedDatabase, [.badDatabase, .badDatabase, nil]),
        ]
        for (place, codes) in expected {
            #expect([query, zone, database].map { error($0, in: place)?.code } == codes)
        }
        let defaultZone = Subscription("z", .zone(.default))
        #expect(error(defaultZone, in: privateDatabase)?.code == .invalidArguments)
    }

    // MARK: What is refused

    @Test func `A subscription needs at least one event to fire at`() {
        let silent = Subscription("q", .query(.init(recordType: "Note", options: [.once])))
        #expect(
            error(silent, in: privateDatabase)?.message
                == "The subscription \"q\" never fires: choose at least one of create, update and delete."
        )
        let unknown = Subscription.Options(rawValue: 1 | 64)
        let odd = Subscription("q", .query(.init(recordType: "Note", options: unknown)))
        #expect(error(odd, in: privateDatabase)?.code == .invalidArguments)
    }

    @Test func `Names and predicates are checked`() {
        func code(_ subscription: Subscription) -> SyncError.Code? {
            error(subscription, in: privateDatabase)?.code
        }
        let query = Subscription.RecordQuery(recordType: "Note")
        #expect(code(Subscription("", .query(query))) == .invalidArguments)
        let longID = String(repeating: "i", count: 256)
        #expect(code(Subscription(longID, .query(query))) == .invalidArguments)
        #expect(code(Subscription("q", .query(.init(recordType: "no type")))) == .invalidArguments)
        #expect(code(Subscription("d", .database(recordType: "1"))) == .invalidArguments)
        let zone = ZoneID(zoneName: "Notes")
        #expect(code(Subscription("z", .zone(zone, recordType: "a b"))) == .invalidArguments)
        let nonsense = Query.Predicate.compare("photo", .equal, .value(.bytes([1])))
        #expect(
            code(Subscription("q", .query(.init(recordType: "Note", predicate: nonsense))))
                == .invalidArguments
        )
        let long = Query.Predicate.compare(
            "text",
            .equal,
            .value(.string(String(repeating: "x", count: 100_000)))
        )
        #expect(
            code(Subscription("q", .query(.init(recordType: "Note", predicate: long))))
                == .limitExceeded
        )
    }

    @Test func `At most three distinct fields are sent`() {
        var subscription = Subscription("q", .query(.init(recordType: "Note")))
        subscription.content.desiredKeys = ["a", "b", "c"]
        #expect(error(subscription, in: privateDatabase) == nil)
        subscription.content.desiredKeys = ["a", "b", "c", "d"]
        #expect(
            error(subscription, in: privateDatabase)?.message
                == "The subscription \"q\" asks for 4 fields; at most 3 are allowed. Fetch the record for more."
        )
        subscription.content.desiredKeys = ["a", "a"]
        #expect(error(subscription, in: privateDatabase)?.code == .invalidArguments)
        subscription.content.desiredKeys = ["no field"]
        #expect(error(subscription, in: privateDatabase)?.code == .invalidArguments)
        subscription.content.desiredKeys = []
        subscription.content.title.localizationArguments = ["1"]
        #expect(error(subscription, in: privateDatabase)?.code == .invalidArguments)
    }

    @Test func `The total length of texts is limited`() {
        var subscription = Subscription("q", .query(.init(recordType: "Note")))
        var limits = Limits()
        limits.notificationContentByteCount = 10
        subscription.content.alert.text = "01234"
        subscription.content.category = "56789"
        #expect(error(subscription, in: privateDatabase, limits) == nil)
        subscription.content.soundName = "x"
        #expect(error(subscription, in: privateDatabase, limits)?.code == .limitExceeded)
    }

    // MARK: Notifications

    private func full() throws -> Subscription.Notification {
        var notification = Subscription.Notification(
            .query,
            id: "12-abc",
            of: UserID("_anna"),
            subscriptionID: "daily"
        )
        notification.container = .standard
        notification.scope = .private
        notification.reason = .updated
        notification.recordID = RecordID(recordName: "a", zone: ZoneID(zoneName: "Notes"))
        notification.fields = try Fields(["due": .timestamp(5), "text": "Milk"])
        notification.content.alert = .init(
            "Body",
            localizationKey: "KEY",
            localizationArguments: ["Milk"]
        )
        notification.content.title = .init("Title")
        notification.content.actionLocalizationKey = "OPEN"
        notification.content.launchImage = "image"
        notification.content.soundName = "ping"
        notification.content.badges = true
        notification.content.category = "c"
        return notification
    }

    @Test func `A notification is encoded as JSON`() throws {
        var bytes: [UInt8] = []
        bytes.append(json: try full())
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                {"kind":"query","notificationID":"12-abc","container":"iCloud.tidemark",\
                "subscriptionID":"daily","subscriptionOwner":"_anna","database":"private",\
                "reason":"updated","recordName":"a","zone":"Notes",\
                "fields":{"due":{"value":5,"type":"TIMESTAMP"},"text":"Milk"},\
                "alertBody":"Body","alertLocalizationKey":"KEY","alertLocalizationArgs":["Milk"],\
                "title":"Title","alertActionLocalizationKey":"OPEN","alertLaunchImage":"image",\
                "soundName":"ping","category":"c","shouldBadge":true}
                """
        )
    }

    /// One byte less at a time: things go in CloudKit's order, and only as many as have to.
    @Test func `Parts that exceed the size limit are omitted in order`() throws {
        let whole = try full()
        #expect(whole.pruned(toByteCount: whole.payloadByteCount) == whole)
        var gone: [String] = []
        func note(_ name: String, _ isGone: Bool) {
            if isGone, !gone.contains(name) { gone.append(name) }
        }
        for limit in (0..<whole.payloadByteCount).reversed() {
            let pruned = whole.pruned(toByteCount: limit)
            #expect(pruned.isPruned)
            note("container", pruned.container == nil)
            note("record", pruned.recordID == nil && pruned.fields.isEmpty && pruned.reason == nil)
            note("sound", pruned.content.soundName == nil)
            note("image", pruned.content.launchImage == nil)
            note("action", pruned.content.actionLocalizationKey == nil)
            note("body", pruned.content.alert.text == nil)
            note("arguments", pruned.content.alert.localizationArguments.isEmpty)
            note("key", pruned.content.alert.localizationKey == nil)
            note("badge", !pruned.content.badges)
            note("id", pruned.id == nil)
            note("title", pruned.content.title.isEmpty)
            note("category", pruned.content.category == nil)
            #expect(pruned.subscriptionID == "daily")
            if pruned.payloadByteCount > limit { #expect(gone.count == 12) }
        }
        #expect(
            gone == [
                "container", "record", "sound", "image", "action", "body", "arguments", "key",
                "badge", "id", "title", "category",
            ]
        )
    }

    @Test func `A notification without alert, sound or badge has low priority`() {
        var content = NotificationContent()
        content.isContentAvailable = true
        #expect(content.priority == .low)
        for change: (inout NotificationContent) -> Void in [
            { $0.alert.text = "x" }, { $0.alert.localizationKey = "X" }, { $0.soundName = "x" },
            { $0.badges = true },
        ] {
            var loud = content
            change(&loud)
            #expect(loud.priority == .high)
        }
    }
}
