// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Subscription {
    /// A message to a client that something changed, with as much detail as fits.
    ///
    /// It is a hint to fetch, not the change itself.
    public struct Notification: Hashable, Codable, Sendable {
        /// The subject of a notification.
        public enum Kind: String, Hashable, CaseIterable, Codable, Sendable {
            /// A change to a record, for a subscription by query.
            case query
            /// A zone; several changes may be one notification.
            case zone
            /// A database; several changes may be one notification.
            case database
            /// Another client of the user has marked the notification with this id as read.
            ///
            /// It can no longer be fetched.
            case read
        }

        /// The kind of change to a record.
        ///
        /// Raw values are CloudKit's, and on disk.
        public enum Reason: UInt8, Hashable, CaseIterable, Codable, Sendable {
            /// It was created.
            case created = 1
            /// It was updated.
            case updated = 2
            /// It was deleted.
            case deleted = 3
        }

        /// The subject of the notification.
        public var kind: Kind
        /// The id by which the notification is marked as read; `nil` if there was no room for it.
        public var id: String?
        /// The app's container; `nil` if there was no room for it.
        public var container: ContainerID?
        /// The subscription of the notification; empty for a notification that was read.
        public var subscriptionID: String
        /// The owner of the subscription, who receives the notification.
        public var user: UserID
        /// The scope of the user's database; `nil` if there was no room for it.
        public var scope: DatabaseScope?
        /// The kind of change to the record; `nil` for zones and databases.
        public var reason: Reason?
        /// The record; `nil` for zones and databases, or if there was no room for it.
        public var recordID: RecordID?
        /// The zone; `nil` for databases, or if there was no room for it.
        public var zone: ZoneID?
        /// The fields that the subscription requests and the record has; a text has at most 100
        /// characters.
        public var fields = Fields()
        /// The content to show, with the names of fields replaced by their values.
        public var content = NotificationContent()
        /// True if something was left out, so that the client must fetch to learn it.
        public var isPruned = false

        /// Creates a notification.
        public init(_ kind: Kind, id: String?, of user: UserID, subscriptionID: String = "") {
            self.kind = kind
            self.id = id
            self.user = user
            self.subscriptionID = subscriptionID
        }

        /// The urgency of the notification.
        public var priority: Priority { content.priority }
    }

    /// A notification for one client, pruned to the size of a push.
    public struct Push: Hashable, Codable, Sendable {
        /// The notification.
        public let notification: Notification
        /// The token of the client after it has handled this notification.
        public let token: ChangeToken

        /// Pairs a notification with the token after it.
        public init(_ notification: Notification, token: ChangeToken) {
            self.notification = notification
            self.token = token
        }
    }
}

extension Subscription.Notification {
    /// Returns the notification without some parts, in CloudKit's order, so that its JSON fits a
    /// number of bytes.
    ///
    /// If anything is left out, ``isPruned`` is true. In the end only its user, its kind and its
    /// subscription are left.
    public func pruned(toByteCount limit: Int) -> Self {
        var pruned = self
        var steps = Self.pruning[...]
        // Each step measures the whole again, since the size depends on the escapes in texts.
        while pruned.payloadByteCount > limit, let step = steps.popFirst() {
            let before = pruned
            step(&pruned)
            if pruned != before { pruned.isPruned = true }
        }
        return pruned
    }

    /// Bytes of the notification as JSON.
    public var payloadByteCount: Int {
        var bytes: [UInt8] = []
        bytes.append(json: self)
        return bytes.count
    }

    /// The parts to drop if there is no room: first CloudKit's list, then CloudKit's later
    /// additions.
    private static let pruning: [@Sendable (inout Self) -> Void] = [
        { $0.container = nil },
        {
            $0.recordID = nil
            $0.zone = nil
            $0.reason = nil
            $0.fields = Fields()
            $0.scope = nil
        },
        { $0.content.soundName = nil },
        { $0.content.launchImage = nil },
        { $0.content.actionLocalizationKey = nil },
        { $0.content.alert.text = nil },
        { $0.content.alert.localizationArguments = [] },
        { $0.content.alert.localizationKey = nil },
        { $0.content.badges = false },
        { $0.id = nil },
        { $0.content.subtitle = NotificationContent.Text() },
        { $0.content.title = NotificationContent.Text() },
        { $0.content.category = nil },
        { $0.content.collapseID = nil },
    ]
}
