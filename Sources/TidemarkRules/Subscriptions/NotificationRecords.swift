// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A change as subscriptions hear of it.
package struct NotifiedChange {
    /// Position of the event.
    package var sequence: SequenceNumber
    /// The zone that it is in.
    package var zone: ZoneIdentity
    /// What happened to a record; `nil` for a zone that began or ended.
    package var reason: Subscription.Notification.Reason?
    /// The record's name, if it is about one.
    package var recordName: String?
    /// The record's type, if it is about one.
    package var recordType: Name?
    /// The record as it is now, or as it was before its deletion; `nil` where nobody needs it.
    package var body: RecordBody?
    /// Who made the change.
    package var user: UserID?
    /// On which device.
    package var device: String?
    /// When, in milliseconds since 1970.
    package var time: Int64

    package init(
        sequence: SequenceNumber,
        zone: ZoneIdentity,
        reason: Subscription.Notification.Reason? = nil,
        recordName: String? = nil,
        recordType: Name? = nil,
        body: RecordBody? = nil,
        user: UserID? = nil,
        device: String? = nil,
        time: Int64
    ) {
        self.sequence = sequence
        self.zone = zone
        self.reason = reason
        self.recordName = recordName
        self.recordType = recordType
        self.body = body
        self.user = user
        self.device = device
        self.time = time
    }
}

/// How notifications are written as records of a user's zone `_notifications`.
package enum NotificationRecords {
    private static let type = "Notification"

    /// The name under which a notification is kept, and what it says.
    ///
    /// A notification of a record has a name of its own. Those of a zone or a database have one name
    /// for each device that changes came from, so that a later one takes the place of an earlier
    /// one, and whoever fetches meets it once, however much has happened.
    package static func save(
        _ held: HeldSubscription,
        _ change: NotifiedChange,
        tag: String,
        characterLimit: Int
    ) throws(SyncError) -> RecordSave {
        // The empty text stands for a client that does not say which device it is.
        let origin = change.user == held.holder.user ? change.device ?? "" : nil
        var builder = FieldsBuilder()
        let name: String
        try builder.set("database", .string(held.holder.database.scope.name))
        try builder.set("subscriptionID", .string(held.subscription.id))
        try builder.setIfAny("origin", origin)
        var content = held.subscription.content
        switch held.subscription.kind {
        case .query:
            name = "\(tag)/\(held.nameInCollection)"
            try builder.set("kind", .string(Subscription.Notification.Kind.query.rawValue))
            try builder.set("reason", .int64(Int64(change.reason?.rawValue ?? 0)))
            try builder.setIfAny("recordName", change.recordName)
            try builder.set(change.zone.zone)
        case .zone:
            name = "latest/\(held.nameInCollection)" + (origin.map { "/\($0.escaped)" } ?? "")
            try builder.set("change", .string(tag))
            try builder.set("kind", .string(Subscription.Notification.Kind.zone.rawValue))
            try builder.set(change.zone.zone)
        case .database:
            name = "latest/\(held.nameInCollection)" + (origin.map { "/\($0.escaped)" } ?? "")
            try builder.set("change", .string(tag))
            try builder.set("kind", .string(Subscription.Notification.Kind.database.rawValue))
        }
        try setFields(&content, of: change, in: &builder, characterLimit)
        try builder.set(content)
        return RecordSave(
            RecordID(recordName: name, zone: SystemZone.notifications.zone),
            type: type,
            fields: try builder.finish(),
            policy: .replace
        )
    }

    /// Puts values in the place of names: those that come along, and those that are put into texts.
    ///
    /// Notifications of zones and databases are about no record, and have neither.
    private static func setFields(
        _ content: inout NotificationContent,
        of change: NotifiedChange,
        in builder: inout FieldsBuilder,
        _ characterLimit: Int
    ) throws(SyncError) {
        let fields = change.body?.fields
        func value(_ key: String) -> FieldValue? {
            guard let fields, let index = fields.index(of: key), !fields[index].isEncrypted,
                fields[index].type?.fitsNotifications ?? false
            else { return nil }
            return fields[index].value?.cut(to: characterLimit)
        }
        let keys = content.desiredKeys
        content.desiredKeys = []
        for key in keys {
            guard let value = value(key) else { continue }
            content.desiredKeys.append(key)
            try builder.set("value\(content.desiredKeys.count)", value)
        }
        for text in [\NotificationContent.alert, \.title, \.subtitle] {
            content[keyPath: text].localizationArguments = content[keyPath: text]
                .localizationArguments.map { value($0)?.plainText ?? "" }
        }
    }

    /// The notification that a record says.
    package static func read(
        _ body: RecordBody,
        id: String,
        of holder: SubscriptionHolder
    ) throws(SyncError) -> Subscription.Notification {
        let fields = body.fields
        let kind = fields.string("kind").flatMap { Subscription.Notification.Kind(rawValue: $0) }
        var notification = Subscription.Notification(
            kind ?? .database,
            id: id,
            of: holder.user,
            subscriptionID: fields.string("subscriptionID") ?? ""
        )
        notification.container = holder.database.container
        notification.scope = fields.string("database").flatMap { DatabaseScope(name: $0) }
        notification.reason = fields.integer("reason").flatMap(UInt8.init(exactly:))
            .flatMap { Subscription.Notification.Reason(rawValue: $0) }
        notification.zone = fields.zone
        notification.recordID = fields.string("recordName").map { name in
            RecordID(recordName: name, zone: fields.zone ?? .default)
        }
        notification.content = fields.content
        var builder = FieldsBuilder()
        for (index, key) in notification.content.desiredKeys.enumerated() {
            if let value = fields["value\(index + 1)"] { try builder.set(key, value) }
        }
        notification.fields = try builder.finish()
        notification.content.desiredKeys = []
        return notification
    }

    /// The change tag of the event that a notification tells of: the same in all notifications of one change.
    ///
    /// `nil` for an older notification of a zone or database.
    package static func change(of body: RecordBody) -> String? {
        isOfQuery(body)
            ? body.recordName.split(separator: "/").first.map(String.init)
            : body.fields.string("change")
    }

    /// Whether a notification is of a query, and so one of many.
    package static func isOfQuery(_ body: RecordBody) -> Bool {
        body.fields.string("kind") == Subscription.Notification.Kind.query.rawValue
    }

    /// The device of the user's own that a notification's change came from; `nil` if it was somebody
    /// else's.
    package static func origin(of body: RecordBody) -> String? { body.fields.string("origin") }
}

extension FieldValue {
    /// The value, of a text no more than some characters.
    fileprivate func cut(to characterCount: Int) -> FieldValue {
        // A text of so few bytes cannot have more characters.
        guard case .string(let text) = self, text.utf8.count > characterCount else { return self }
        return .string(String(text.prefix(characterCount)))
    }

    /// The value as it is put into a text.
    fileprivate var plainText: String {
        switch self {
        case .string(let text): return text
        case .int64(let number), .timestamp(let number): return String(number)
        case .double(let number): return "\(number)"
        case .reference(let link): return link.recordName
        default:
            var bytes: [UInt8] = []
            bytes.append(json: self)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
