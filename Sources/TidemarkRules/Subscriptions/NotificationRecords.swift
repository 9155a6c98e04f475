// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A change that subscriptions report.
package struct NotifiedChange {
    /// Position of the event.
    package var sequence: SequenceNumber
    /// The zone that it is in.
    package var zone: ZoneIdentity
    /// The change of a record; `nil` for a zone that began or ended.
    package var reason: Subscription.Notification.Reason?
    /// The record's name, if the change is of a record.
    package var recordName: String?
    /// The record's type, if the change is of a record.
    package var recordType: Name?
    /// The current record, or the record before its deletion; `nil` if it is not needed.
    package var body: RecordBody?
    /// The user who made the change.
    package var user: UserID?
    /// The device that made the change.
    package var device: String?
    /// The time of the change, in milliseconds since 1970.
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

/// The encoding of notifications as records of a user's zone `_notifications`.
package enum NotificationRecords {
    private static let type = "Notification"

    /// Returns the save that stores a notification, under its name.
    ///
    /// A notification of a record has its own name. Those of a zone or a database have one name per
    /// source device: a later one replaces an earlier one, so that a client fetches it once,
    /// regardless of the number of changes.
    package static func save(
        _ held: HeldSubscription,
        _ change: NotifiedChange,
        tag: String,
        characterLimit: Int
    ) throws(SyncError) -> RecordSave {
        // The empty text stands for a client without a device name.
        let origin = change.user == held.holder.user ? change.device ?? "" : nil
        var builder = FieldsBuilder()
        let name: String
        try builder.set("database", .string(held.holder.database.scope.name))
        try builder.set("subscriptionID", .string(held.subscription.id))
        try builder.setIfAny("origin", origin)
        var content = held.subscription.content
        switch held.subscription.kind {
        case .query:
            // The names are fixed (events.md, "System zones"): one for each event here, one for
            // each device of origin below.
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

    /// Replaces field names with values: the desired keys, and the arguments of texts.
    ///
    /// Notifications of zones and databases are not about a record, and have neither.
    private static func setFields(
        _ content: inout NotificationContent,
        of change: NotifiedChange,
        in builder: inout FieldsBuilder,
        _ characterLimit: Int
    ) throws(SyncError) {
        let fields = change.body?.fields
        func value(_ key: String) -> FieldValue? {
            // The store cannot read encrypted fields (subscriptions.md, "What comes along").
            guard let fields, let index = fields.index(of: key), !fields[index].isEncrypted,
                fields[index].type?.fitsNotifications ?? false
            else { return nil }
            return fields[index].value?.cut(to: characterLimit)
        }
        let keys = content.desiredKeys
        content.desiredKeys = []
        for key in keys {
            // Keys and values are matched by number (events.md, "System zones"), so a key without a
            // value is left out of both.
            guard let value = value(key) else { continue }
            content.desiredKeys.append(key)
            try builder.set("value\(content.desiredKeys.count)", value)
        }
        for text in [\NotificationContent.alert, \.title, \.subtitle] {
            content[keyPath: text].localizationArguments = content[keyPath: text]
                .localizationArguments.map { value($0)?.plainText ?? "" }
        }
    }

    /// Returns the notification in a record.
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

    /// Returns the change tag of the notification's event, which is the same in all notifications
    /// of one change.
    ///
    /// `nil` for an older notification of a zone or database.
    package static func change(of body: RecordBody) -> String? {
        // A tag has no slash, so it is the first part of the name.
        isOfQuery(body)
            ? body.recordName.split(separator: "/").first.map(String.init)
            : body.fields.string("change")
    }

    /// Returns true if the notification is of a query, and thus one of many.
    package static func isOfQuery(_ body: RecordBody) -> Bool {
        body.fields.string("kind") == Subscription.Notification.Kind.query.rawValue
    }

    /// Returns the user's own device that made the change; `nil` if another user made it.
    package static func origin(of body: RecordBody) -> String? { body.fields.string("origin") }
}

extension FieldValue {
    /// Returns the value, with a text truncated to a number of characters.
    fileprivate func cut(to characterCount: Int) -> FieldValue {
        // A text cannot have more characters than bytes.
        guard case .string(let text) = self, text.utf8.count > characterCount else { return self }
        return .string(String(text.prefix(characterCount)))
    }

    /// The value as inserted into a text.
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
