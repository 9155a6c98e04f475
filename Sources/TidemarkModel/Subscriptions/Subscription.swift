// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A user's request for notifications of changes in one of their databases (Docs/subscriptions.md).
///
/// It belongs to the user who saved it and to the database in which it was saved. Its notifications
/// go to all of that user's clients except the one that made the change.
public struct Subscription: Hashable, Codable, Sendable {
    private var idName: Name
    /// The changes that the subscription is for.
    public var kind: Kind
    /// The content of the subscription's notifications.
    public var content: NotificationContent

    private enum CodingKeys: String, CodingKey {
        case kind, content
        case idName = "id"
    }

    /// Creates a subscription.
    public init(_ id: String, _ kind: Kind, content: NotificationContent = NotificationContent()) {
        idName = Name(id)
        self.kind = kind
        self.content = content
    }

    /// The id, unique among the user's subscriptions in the same database.
    ///
    /// Saving another one under the same id replaces it.
    public var id: String {
        get { idName.string }
        set { idName = Name(newValue) }
    }

    /// The id, compared by its bytes.
    package var name: Name { idName }

    /// The kind of changes that a subscription is for.
    public enum Kind: Hashable, Codable, Sendable {
        /// Records that fulfil a predicate.
        case query(RecordQuery)
        /// A custom zone; with a record type, only its records of that type.
        case zone(ZoneID, recordType: Name? = nil)
        /// All custom zones of a private database, or all zones shared with the user.
        ///
        /// With a record type, only records of that type.
        case database(recordType: Name? = nil)

        /// Records of a type in a custom zone.
        public static func zone(_ zone: ZoneID, recordType: String) -> Kind {
            .zone(zone, recordType: Name(recordType))
        }

        /// Records of a type in all custom zones of a private database, or in all that is shared
        /// with the user.
        public static func database(recordType: String) -> Kind {
            .database(recordType: Name(recordType))
        }
    }

    /// The records that a subscription by query is for, and the changes to them that fire it.
    public struct RecordQuery: Hashable, Codable, Sendable {
        private var typeName: Name
        /// The condition that a record must fulfil.
        ///
        /// It is checked on the new version of a created or updated record, and on the last version
        /// of a deleted one.
        public var predicate: Query.Predicate
        /// The changes that fire the subscription.
        public var options: Options
        /// The zone it must be in; `nil` for every zone of the database.
        public var zone: ZoneID?

        private enum CodingKeys: String, CodingKey {
            case predicate, options, zone
            case typeName = "recordType"
        }

        /// Creates the records and the changes that fire a subscription.
        public init(
            recordType: String,
            predicate: Query.Predicate = .always,
            options: Options = [.create, .update, .delete],
            zone: ZoneID? = nil
        ) {
            typeName = Name(recordType)
            self.predicate = predicate
            self.options = options
            self.zone = zone
        }

        /// The type of the records.
        public var recordType: String {
            get { typeName.string }
            set { typeName = Name(newValue) }
        }
    }

    /// The changes that fire a subscription by query.
    ///
    /// Raw values are CloudKit's, and on disk.
    public struct Options: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt8

        /// Wraps bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// A record is created.
        public static let create = Options(rawValue: 1)
        /// A record is updated.
        public static let update = Options(rawValue: 2)
        /// A record is deleted.
        public static let delete = Options(rawValue: 4)
        /// Only once: the subscription is deleted when it has fired.
        public static let once = Options(rawValue: 8)

        /// All defined bits.
        static let known: Options = [.create, .update, .delete, .once]
    }
}

/// The content of a subscription's notifications.
///
/// Texts are for the system that shows a notification. The store reads nothing here except the
/// names of fields.
public struct NotificationContent: Hashable, Codable, Sendable {
    /// A text that is shown in three places.
    ///
    /// It is a plain text, or the key of a localized format with the fields whose values are
    /// inserted.
    public struct Text: Hashable, Codable, Sendable {
        /// The plain text.
        public var text: String?
        /// The key of a localized format.
        public var localizationKey: String?
        /// The names of the record's fields whose values are put into the format.
        public var localizationArguments: [String]

        /// Creates a text.
        public init(
            _ text: String? = nil,
            localizationKey: String? = nil,
            localizationArguments: [String] = []
        ) {
            self.text = text
            self.localizationKey = localizationKey
            self.localizationArguments = localizationArguments
        }

        /// True if there is nothing to show.
        public var isEmpty: Bool { text == nil && localizationKey == nil }
    }

    /// The notification's main text.
    public var alert = Text()
    /// The text above it.
    public var title = Text()
    /// The text between the two.
    public var subtitle = Text()
    /// The localization key of the button that opens the app.
    public var actionLocalizationKey: String?
    /// The image that the app shows while it is launched from the notification.
    public var launchImage: String?
    /// The sound to play.
    public var soundName: String?
    /// The kind of notification, by which the app chooses its actions.
    public var category: String?
    /// The value by which notifications replace each other on the device.
    public var collapseID: String?
    /// The names of the record's fields to include: at most three.
    public var desiredKeys: [String] = []
    /// True if the notification changes the app's badge.
    public var badges = false
    /// True if the notification wakes the app to fetch.
    public var isContentAvailable = false
    /// True if an extension of the app may change the notification before it is shown.
    public var isMutable = false

    /// Creates empty content: a notification that shows nothing and wakes no app.
    public init() {}

    /// The urgency of a notification.
    ///
    /// A notification that shows, plays and badges nothing is delivered at a convenient time.
    public var priority: Subscription.Priority {
        alert.isEmpty && soundName == nil && !badges ? .low : .high
    }
}

extension Subscription {
    /// The urgency of a notification.
    public enum Priority: String, Hashable, CaseIterable, Sendable {
        /// Delivered when it is convenient.
        case low
        /// Delivered at once: it shows or plays something.
        case high
    }
}
