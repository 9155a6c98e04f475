// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Names a notification.
///
/// Programs write `CKNotification.ID`.
///
/// Unchecked: immutable.
open class CKNotificationID: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The id by which the service marks the notification as read.
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Returns true if the other object names the same notification.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text == text
    }

    /// Follows from the name.
    open override var hash: Int { text.hashValue }

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var text: String
    }

    /// Writes the name.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: Archive(text: text))
    }

    /// Reads a name.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        text = archive.text
    }
}

/// A message to a client that something changed.
///
/// It is a hint to fetch.
///
/// Unchecked: immutable.
open class CKNotification: NSObject, RemoteNotificationReading, @unchecked Sendable {
    /// Names a notification.
    public typealias ID = CKNotificationID

    /// The subject of a notification.
    public enum NotificationType: Int, Sendable {
        /// A record that a subscription by query is about.
        case query = 1
        /// A zone.
        case recordZone = 2
        /// Another client has read the notification of this name.
        case readNotification = 3
        /// A database.
        case database = 4
    }

    private let payload: RemotePayload

    init(_ payload: RemotePayload) {
        self.payload = payload
    }

    /// The subject of the notification.
    public var notificationType: NotificationType { payload.type }
    /// The notification's name; `nil` if there was no room for it.
    public var notificationID: CKNotification.ID? { payload.id.map { CKNotificationID($0) } }
    /// The app's container; `nil` if there was no room for it.
    public var containerIdentifier: String? { payload.container }
    /// The subscription that it comes from.
    public var subscriptionID: CKSubscription.ID? { payload.subscriptionID }
    /// The owner of the subscription.
    public var subscriptionOwnerUserRecordID: CKRecord.ID? {
        payload.user.map { CKRecordID(recordName: $0) }
    }
    /// True if something was left out, so that the client must fetch to learn it.
    public var isPruned: Bool { payload.isPruned }

    // MARK: Content to show

    /// The main text.
    public var alertBody: String? { payload.alert("body") }
    /// The key of a localized format for the main text.
    public var alertLocalizationKey: String? { payload.alert("loc-key") }
    /// The values that are put into that format.
    public var alertLocalizationArgs: [String]? { payload.alert("loc-args") }
    /// The text above the main one.
    public var title: String? { payload.alert("title") }
    /// The key of a localized format for the title.
    public var titleLocalizationKey: String? { payload.alert("title-loc-key") }
    /// The values that are put into that format.
    public var titleLocalizationArgs: [String]? { payload.alert("title-loc-args") }
    /// The text between title and main text.
    public var subtitle: String? { payload.alert("subtitle") }
    /// The key of a localized format for the subtitle.
    public var subtitleLocalizationKey: String? { payload.alert("subtitle-loc-key") }
    /// The values that are put into that format.
    public var subtitleLocalizationArgs: [String]? { payload.alert("subtitle-loc-args") }
    /// The localization key of the button that opens the app.
    public var alertActionLocalizationKey: String? { payload.alert("action-loc-key") }
    /// The image that is shown while the app is launched.
    public var alertLaunchImage: String? { payload.alert("launch-image") }
    /// The sound to play.
    public var soundName: String? { payload.aps["sound"] as? String }
    /// The number that the app's badge shows.
    ///
    /// The device counts from the value that `CKModifyBadgeOperation` set.
    public var badge: NSNumber? { payload.aps["badge"] as? NSNumber }
    /// The kind of notification, by which the app chooses its actions.
    public var category: String? { payload.aps["category"] as? String }

    /// The subject and the subscription of the notification.
    open override var description: String {
        "<\(type(of: self)): subscriptionID=\(subscriptionID ?? "none")>"
    }
}

/// A change to a record that a subscription by query is for.
///
/// Unchecked: immutable.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// The kind of change to a record.
    public enum Reason: Int, Sendable {
        /// It was created.
        case recordCreated = 1
        /// It was updated.
        case recordUpdated = 2
        /// It was deleted.
        case recordDeleted = 3
    }

    /// The kind of change to the record.
    ///
    /// `recordUpdated` if there was no room for it; see `isPruned`.
    public let queryNotificationReason: Reason
    /// The fields that the subscription requests and the record has.
    public let recordFields: [String: Any]?
    /// The record; `nil` if there was no room for it.
    public let recordID: CKRecord.ID?
    /// The database that the record is in.
    public let databaseScope: CKDatabaseScope

    override init(_ payload: RemotePayload) {
        queryNotificationReason = payload.reason ?? .recordUpdated
        recordFields = payload.fields
        recordID = payload.recordID
        databaseScope = payload.scope
        super.init(payload)
    }
}

/// A notification that something changed in a zone.
///
/// Unchecked: immutable.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone; `nil` if there was no room for it.
    public let recordZoneID: CKRecordZone.ID?
    /// The database that the zone is in.
    public let databaseScope: CKDatabaseScope

    override init(_ payload: RemotePayload) {
        recordZoneID = payload.zoneID
        databaseScope = payload.scope
        super.init(payload)
    }
}

/// A notification that something changed in a database.
///
/// Unchecked: immutable.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The database.
    public let databaseScope: CKDatabaseScope

    override init(_ payload: RemotePayload) {
        databaseScope = payload.scope
        super.init(payload)
    }
}

/// The types that are read from the dictionaries of remote notifications.
///
/// An initializer of a class creates objects of that class only. `CKNotification`'s has to create
/// objects of its subclasses, which an initializer of a protocol extension can do.
public protocol RemoteNotificationReading {}

extension RemoteNotificationReading {
    // Older code does not unwrap it, newer code does: both compile.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a remote notification; `nil` for one that is not CloudKit's, or of another kind than
    /// this class is for.
    ///
    /// The result is of the subclass that the notification is for.
    public init!(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let payload = RemotePayload(notificationDictionary),
            let notification = payload.notification as? Self
        else { return nil }
        self = notification
    }
}

// Code that was written before the initializer could fail uses its result without unwrapping it, which no longer
// compiles on Apple's systems. These are the properties by which such code looks at a notification first.
extension Optional where Wrapped: CKNotification {
    /// The type of the notification; `nil` if there is none.
    public var notificationType: CKNotification.NotificationType? { self?.notificationType }

    /// The identity of the notification; `nil` if there is none.
    public var notificationID: CKNotification.ID? { self?.notificationID }

    /// The identity of the subscription; `nil` if there is none.
    public var subscriptionID: CKSubscription.ID? { self?.subscriptionID }
}
