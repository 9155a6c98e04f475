// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Subscriptions and notifications as JSON.
///
/// The names are those of CloudKit Web Services where it has one. Empty members are left out.
extension [UInt8] {
    /// Appends a notification as an object.
    package mutating func append(json notification: Subscription.Notification) {
        append(literal: "{\"kind\":")
        append(jsonString: notification.kind.rawValue)
        append(optional: notification.id, "notificationID")
        append(optional: notification.container?.identifier, "container")
        if !notification.subscriptionID.isEmpty {
            append(optional: notification.subscriptionID, "subscriptionID")
        }
        append(optional: notification.user.userRecordName, "subscriptionOwner")
        append(optional: notification.scope?.name, "database")
        append(optional: notification.reason?.webName, "reason")
        append(optional: notification.recordID?.recordName, "recordName")
        if let zone = notification.zone ?? notification.recordID?.zone { append(zoneOf: zone) }
        if !notification.fields.isEmpty {
            append(member: "fields")
            append(json: notification.fields)
        }
        append(members: notification.content, argumentsAreValues: true)
        append(flag: notification.isPruned, "isPruned")
        append(literal: "}")
    }

    /// Appends a subscription as an object.
    package mutating func append(json subscription: Subscription) {
        append(literal: "{\"subscriptionID\":")
        append(jsonString: subscription.id)
        append(literal: ",\"subscriptionType\":")
        switch subscription.kind {
        case .query(let query):
            append(literal: "\"query\"")
            append(optional: query.recordType, "recordType")
            append(optional: "\(query.predicate)", "predicate")
            append(list: query.options.webNames, "firesOn")
            append(flag: query.options.contains(.once), "firesOnce")
            if let zone = query.zone { append(zoneOf: zone) }
        case .zone(let zone, let type):
            append(literal: "\"zone\"")
            append(zoneOf: zone)
            append(optional: type?.string, "recordType")
        case .database(let type):
            append(literal: "\"database\"")
            append(optional: type?.string, "recordType")
        }
        append(members: subscription.content, argumentsAreValues: false)
        append(literal: "}")
    }

    private mutating func append(members content: NotificationContent, argumentsAreValues: Bool) {
        append(text: content.alert, ("alertBody", "alertLocalizationKey", "alertLocalizationArgs"))
        append(text: content.title, ("title", "titleLocalizationKey", "titleLocalizationArgs"))
        append(
            text: content.subtitle,
            ("subtitle", "subtitleLocalizationKey", "subtitleLocalizationArgs")
        )
        append(optional: content.actionLocalizationKey, "alertActionLocalizationKey")
        append(optional: content.launchImage, "alertLaunchImage")
        append(optional: content.soundName, "soundName")
        append(optional: content.category, "category")
        append(optional: content.collapseID, argumentsAreValues ? "collapseID" : "collapseIDKey")
        if !argumentsAreValues { append(list: content.desiredKeys, "desiredKeys") }
        append(flag: content.badges, "shouldBadge")
        append(flag: content.isContentAvailable, "shouldSendContentAvailable")
        append(flag: content.isMutable, "shouldSendMutableContent")
    }

    private mutating func append(
        text: NotificationContent.Text,
        _ names: (StaticString, StaticString, StaticString)
    ) {
        append(optional: text.text, names.0)
        append(optional: text.localizationKey, names.1)
        append(list: text.localizationArguments, names.2)
    }

    private mutating func append(zoneOf zone: ZoneID) {
        append(optional: zone.zoneName, "zone")
        if zone.ownerName != ZoneID.currentOwner { append(optional: zone.ownerName, "zoneOwner") }
    }

    private mutating func append(optional text: String?, _ name: StaticString) {
        append(member: name, jsonString: text)
    }

    private mutating func append(list texts: [String], _ name: StaticString) {
        if texts.isEmpty { return }
        append(member: name)
        append(json: FieldValue.stringList(texts))
    }

    private mutating func append(flag: Bool, _ name: StaticString) {
        if !flag { return }
        append(member: name)
        append(literal: "true")
    }
}

extension Subscription.Options {
    /// The options' names in CloudKit Web Services.
    package var webNames: [String] {
        var names: [String] = []
        if contains(.create) { names.append("create") }
        if contains(.update) { names.append("update") }
        if contains(.delete) { names.append("delete") }
        return names
    }
}

extension Subscription.Notification.Reason {
    /// The reason as the command line prints it.
    package var webName: String {
        switch self {
        case .created: "created"
        case .updated: "updated"
        case .deleted: "deleted"
        }
    }
}
