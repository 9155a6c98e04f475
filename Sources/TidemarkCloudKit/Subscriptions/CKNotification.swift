// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Names a notification.
///
/// Programs write `CKNotification.ID`.
///
/// Unchecked: nothing of it changes.
open class CKNotificationID: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// What the service marks the notification as read by.
    let text: String

    init(_ text: String) {
        self.text = text
    }

    /// Whether the other object names the same notification.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID)?.text == text
    }

    /// Follows from the name.
    open override var hash: Int { text.hashValue }

    /// The same object, which never changes.
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

/// What a client hears: that something changed.
///
/// It is a hint to fetch.
///
/// Unchecked: nothing of it changes.
open class CKNotification: NSObject, RemoteNotificationReading, @unchecked Sendable {
    /// Names a notification.
    public typealias ID = CKNotificationID

    /// What a notification is about.
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

    /// A notification that says nothing.
    public required override init() {
        payload = RemotePayload(of: .query)
    }

    /// What it is about.
    public var notificationType: NotificationType { payload.type }
    /// The notification's name; `nil` where there was no room for it.
    public var notificationID: CKNotification.ID? { payload.id.map { CKNotificationID($0) } }
    /// The app's container; `nil` where there was no room for it.
    public var containerIdentifier: String? { payload.container }
    /// The subscription that it comes from.
    public var subscriptionID: CKSubscription.ID? { payload.subscriptionID }
    /// Whose subscription it is.
    public var subscriptionOwnerUserRecordID: CKRecord.ID? {
        payload.user.map { CKRecordID(recordName: $0) }
    }
    /// Whether something had to be left out, so that only fetching tells what it was.
    public var isPruned: Bool { payload.isPruned }

    // MARK: What there is to show

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
    /// What the app's badge shows: the device counts, from what `CKModifyBadgeOperation` said.
    public var badge: NSNumber? { payload.aps["badge"] as? NSNumber }
    /// The kind of notification, by which the app chooses its actions.
    public var category: String? { payload.aps["category"] as? String }

    /// What it is about, and from which subscription.
    open override var description: String {
        "<\(type(of: self)): subscriptionID=\(subscriptionID ?? "none")>"
    }
}

/// What happened to a record that a subscription by query is about.
///
/// Unchecked: nothing of it changes.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
    /// What happened to a record.
    public enum Reason: Int, Sendable {
        /// It was created.
        case recordCreated = 1
        /// It was updated.
        case recordUpdated = 2
        /// It was deleted.
        case recordDeleted = 3
    }

    /// What happened to the record.
    ///
    /// Where there was no room for it, `recordUpdated`; see `isPruned`.
    public let queryNotificationReason: Reason
    /// The fields that the subscription asked for and the record has.
    public let recordFields: [String: Any]?
    /// The record; `nil` where there was no room for it.
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

    /// A notification that says nothing.
    public required convenience init() {
        self.init(RemotePayload(of: .query))
    }
}

/// That something changed in a zone.
///
/// Unchecked: nothing of it changes.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    /// The zone; `nil` where there was no room for it.
    public let recordZoneID: CKRecordZone.ID?
    /// The database that the zone is in.
    public let databaseScope: CKDatabaseScope

    override init(_ payload: RemotePayload) {
        recordZoneID = payload.zoneID
        databaseScope = payload.scope
        super.init(payload)
    }

    /// A notification that says nothing.
    public required convenience init() {
        self.init(RemotePayload(of: .recordZone))
    }
}

/// That something changed in a database.
///
/// Unchecked: nothing of it changes.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    /// The database.
    public let databaseScope: CKDatabaseScope

    override init(_ payload: RemotePayload) {
        databaseScope = payload.scope
        super.init(payload)
    }

    /// A notification that says nothing.
    public required convenience init() {
        self.init(RemotePayload(of: .database))
    }
}

/// What is read from the dictionaries that come as remote notifications.
///
/// An initializer of a class makes objects of that class, and `CKNotification`'s has to make those of its
/// subclasses; an initializer of a protocol's extension can.
public protocol RemoteNotificationReading {}

extension RemoteNotificationReading {
    // Older code does not unwrap it, newer code does: both compile.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a remote notification; `nil` for one that is not CloudKit's, or of another kind than this
    /// class is for.
    ///
    /// The result is of the subclass that the notification is for.
    public init!(fromRemoteNotificationDictionary notificationDictionary: [AnyHashable: Any]) {
        guard let payload = RemotePayload(notificationDictionary),
            let notification = payload.notification as? Self
        else { return nil }
        self = notification
    }
}

extension RemoteNotificationReading where Self: CKNotification {
    /// Reads a remote notification, as code does that was written when this could not fail.
    ///
    /// The result is of the subclass that the notification is for. For a dictionary that is not CloudKit's, or
    /// that is of another kind than this class is for, it is a notification without a subscription.
    public init(fromRemoteNotificationDictionary notificationDictionary: [String: NSObject]) {
        let payload = RemotePayload(notificationDictionary)
        self = payload?.notification as? Self ?? Self()
    }
}
