// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `subscriptions/list`, `subscriptions/lookup` and `subscriptions/modify`.
extension WebServices {
    func listSubscriptions(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let subscriptions = try await ask { (it) throws(SyncError) in
            try await it.subscriptions(as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"subscriptions\":")
        writer.list(subscriptions) { $0.subscription($1) }
        return writer.finished()
    }

    func lookUpSubscriptions(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var named: [String]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "subscriptions" else { return false }
            named = try it.values { (it) throws(JSONError) in
                try it.neededMember("subscriptionID")
            }
            return true
        }
        let ids = try checked(named, "subscriptions")
        let results = try await ask { (it) throws(SyncError) in
            try await it.fetchSubscriptions(ids, as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"subscriptions\":")
        writer.list(zip(ids, results)) { writer, item in
            switch item.1 {
            case .success(let subscription): writer.subscription(subscription)
            case .failure(let error): writer.failure(WebError(error), ofSubscription: item.0)
            }
        }
        return writer.finished()
    }

    func modifySubscriptions(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var given: [SubscriptionOperation]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "operations" else { return false }
            var index = 0
            given = try it.values { (it) throws(JSONError) in
                defer { index += 1 }
                return try it.subscriptionOperation(index, of: request.caller)
            }
            return true
        }
        let operations = try checked(given, "operations")
        let modify = ModifySubscriptionsRequest(
            saves: operations.compactMap(\.saved),
            deletions: operations.compactMap(\.deletedID)
        )
        let result = try await ask { (it) throws(SyncError) in
            try await it.modifySubscriptions(modify, as: request.caller)
        }
        // The service returns saves and deletions apart, each in the order of the request. Taking
        // them one by one restores the order of the operations.
        var saves = result.saves[...]
        var deletions = result.deletions[...]
        var writer = WebWriter(self, request)
        writer.literal("{\"subscriptions\":")
        writer.list(operations) { writer, operation in
            switch operation {
            case .save(let subscription):
                switch saves.popFirst() {
                case .success(let saved)?: writer.subscription(saved)
                case .failure(let error)?:
                    writer.failure(WebError(error), ofSubscription: subscription.id)
                case nil: break
                }
            case .delete(let id):
                switch deletions.popFirst() {
                // Deleting a subscription that does not exist succeeds, so a repetition does too.
                case .failure(let error)? where error.code != .unknownItem:
                    writer.failure(WebError(error), ofSubscription: id)
                default:
                    writer.literal("{\"subscriptionID\":")
                    writer.string(id)
                    writer.literal(",\"deleted\":true}")
                }
            }
        }
        return writer.finished()
    }
}

private enum SubscriptionOperation {
    case save(Subscription)
    case delete(String)

    var saved: Subscription? {
        if case .save(let subscription) = self { subscription } else { nil }
    }

    var deletedID: String? { if case .delete(let id) = self { id } else { nil } }
}

extension JSONReader {
    fileprivate mutating func subscriptionOperation(
        _ index: Int,
        of caller: Caller
    ) throws(JSONError) -> SubscriptionOperation {
        let start = offset
        var kind: String?
        var subscription = SubscriptionInput()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "operationType": kind = try it.string()
            case "subscription": subscription = try it.subscription()
            default: return false
            }
            return true
        }
        switch kind {
        // The service replaces a subscription of the same id, so both do the same.
        case "create", "update":
            let id = subscription.id ?? UniqueName.make(forItem: index, of: caller)
            return .save(try subscription.subscription(id, at: start))
        case "delete":
            guard let id = subscription.id else {
                throw JSONError("The member \"subscriptionID\" is missing.", at: start)
            }
            return .delete(id)
        default:
            throw JSONError(
                "The operationType of a subscription is create, update or delete.",
                at: start
            )
        }
    }

    private mutating func subscription() throws(JSONError) -> SubscriptionInput {
        var input = SubscriptionInput()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "subscriptionID": input.id = try it.string()
            case "subscriptionType": input.type = try it.string()
            case "zoneID": input.zone = try it.zoneID()
            case "zoneWide": input.isZoneWide = try it.truth()
            case "query": input.query = try it.webQuery()
            case "firesOn": input.firesOn = try it.firesOn()
            case "firesOnce": input.firesOnce = try it.truth()
            case "recordType": input.recordType = try it.string()
            case "notificationInfo": input.content = try it.notificationInfo()
            default: return false
            }
            return true
        }
        return input
    }

    private mutating func firesOn() throws(JSONError) -> Subscription.Options {
        let start = offset
        var options: Subscription.Options = []
        for name in try strings() {
            switch name {
            case "create": options.insert(.create)
            case "update": options.insert(.update)
            case "delete": options.insert(.delete)
            default:
                throw JSONError(
                    "A subscription cannot fire on \"\(name)\"; it fires on create, update, delete.",
                    at: start
                )
            }
        }
        return options
    }

    private mutating func notificationInfo() throws(JSONError) -> NotificationContent {
        var content = NotificationContent()
        try members { (it, name) throws(JSONError) in
            switch name {
            case "alertBody": content.alert.text = try it.string()
            case "alertLocalizationKey": content.alert.localizationKey = try it.string()
            case "alertLocalizationArgs": content.alert.localizationArguments = try it.strings()
            case "title": content.title.text = try it.string()
            case "titleLocalizationKey": content.title.localizationKey = try it.string()
            case "titleLocalizationArgs": content.title.localizationArguments = try it.strings()
            case "subtitle": content.subtitle.text = try it.string()
            case "subtitleLocalizationKey": content.subtitle.localizationKey = try it.string()
            case "subtitleLocalizationArgs":
                content.subtitle.localizationArguments = try it.strings()
            case "alertActionLocalizationKey": content.actionLocalizationKey = try it.string()
            case "alertLaunchImage": content.launchImage = try it.string()
            case "soundName": content.soundName = try it.string()
            case "category": content.category = try it.string()
            case "collapseIdKey": content.collapseID = try it.string()
            case "additionalFields": content.desiredKeys = try it.strings()
            case "shouldBadge": content.badges = try it.truth()
            case "shouldSendContentAvailable": content.isContentAvailable = try it.truth()
            case "shouldSendMutableContent": content.isMutable = try it.truth()
            default: return false
            }
            return true
        }
        return content
    }
}

private struct SubscriptionInput {
    var id: String?
    var type: String?
    var zone: ZoneID?
    // A subscription to a query covers all zones unless it says otherwise, unlike a query itself.
    var isZoneWide = true
    var query: WebQuery?
    var firesOn: Subscription.Options = [.create, .update, .delete]
    var firesOnce = false
    var recordType: String?
    var content = NotificationContent()

    func subscription(_ id: String, at offset: Int) throws(JSONError) -> Subscription {
        Subscription(id, try kind(at: offset), content: content)
    }

    private func kind(at offset: Int) throws(JSONError) -> Subscription.Kind {
        let typeName = recordType.map { Name($0) }
        switch type ?? (query == nil ? "zone" : "query") {
        case "query":
            guard let query, let recordType = query.recordType else {
                throw JSONError(
                    "A subscription of the type query needs a query with a recordType.",
                    at: offset
                )
            }
            return .query(
                Subscription.RecordQuery(
                    recordType: recordType,
                    predicate: query.predicate,
                    options: firesOnce ? firesOn.union(.once) : firesOn,
                    zone: zone ?? (isZoneWide ? nil : .default)
                )
            )
        case "zone":
            guard let zone else {
                throw JSONError("A subscription of the type zone needs a zoneID.", at: offset)
            }
            return .zone(zone, recordType: typeName)
        case "database": return .database(recordType: typeName)
        case let other:
            throw JSONError(
                "There is no subscriptionType \"\(other)\"; the types are query, zone, database.",
                at: offset
            )
        }
    }
}

extension WebWriter {
    fileprivate mutating func failure(_ error: WebError, ofSubscription id: String) {
        failure(error) {
            $0.literal("\"subscriptionID\":")
            $0.string(id)
        }
    }

    fileprivate mutating func subscription(_ subscription: Subscription) {
        literal("{\"subscriptionID\":")
        string(subscription.id)
        switch subscription.kind {
        case .query(let query): self.query(query)
        case .zone(let zone, let recordType):
            literal(",\"subscriptionType\":\"zone\",\"zoneID\":")
            zoneID(zone)
            member("recordType", recordType?.string)
        case .database(let recordType):
            literal(",\"subscriptionType\":\"database\"")
            member("recordType", recordType?.string)
        }
        if subscription.content != NotificationContent() { content(subscription.content) }
        literal("}")
    }

    private mutating func query(_ query: Subscription.RecordQuery) {
        literal(",\"subscriptionType\":\"query\",\"query\":{\"recordType\":")
        string(query.recordType)
        literal(",\"filterBy\":")
        filters(query.predicate)
        literal("},\"firesOn\":")
        let events: [(Subscription.Options, String)] = [
            (.create, "create"), (.update, "update"), (.delete, "delete"),
        ]
        list(events.filter { query.options.contains($0.0) }) { $0.string($1.1) }
        member("firesOnce", query.options.contains(.once))
        if let zone = query.zone {
            literal(",\"zoneID\":")
            zoneID(zone)
        }
        member("zoneWide", query.zone == nil)
    }

    private mutating func content(_ content: NotificationContent) {
        literal(",\"notificationInfo\":{")
        member("shouldBadge", content.badges)
        member("shouldSendContentAvailable", content.isContentAvailable)
        if content.isMutable { member("shouldSendMutableContent", true) }
        member("alertBody", content.alert.text)
        member("alertLocalizationKey", content.alert.localizationKey)
        arguments("alertLocalizationArgs", content.alert.localizationArguments)
        member("title", content.title.text)
        member("titleLocalizationKey", content.title.localizationKey)
        arguments("titleLocalizationArgs", content.title.localizationArguments)
        member("subtitle", content.subtitle.text)
        member("subtitleLocalizationKey", content.subtitle.localizationKey)
        arguments("subtitleLocalizationArgs", content.subtitle.localizationArguments)
        member("alertActionLocalizationKey", content.actionLocalizationKey)
        member("alertLaunchImage", content.launchImage)
        member("soundName", content.soundName)
        member("category", content.category)
        member("collapseIdKey", content.collapseID)
        arguments("additionalFields", content.desiredKeys)
        literal("}")
    }

    private mutating func arguments(_ name: StaticString, _ values: [String]) {
        guard !values.isEmpty else { return }
        literal(",\"")
        literal(name)
        literal("\":")
        list(values) { $0.string($1) }
    }
}
