// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A subscription to changes: one of its subclasses.
///
/// Unchecked: the mutable state is behind a lock.
open class CKSubscription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identity of a subscription among the user's subscriptions in the same database.
    public typealias ID = String
    /// The content of a subscription's notifications.
    public typealias NotificationInfo = CKNotificationInfo

    /// The subject of a subscription.
    public enum SubscriptionType: Int, Sendable {
        /// Records that fulfil a predicate.
        case query = 1
        /// A zone.
        case recordZone = 2
        /// A database.
        case database = 3
    }

    /// The mutable part of a subscription.
    struct State: Sendable {
        var notificationInfo: CKNotificationInfo?
        var recordType: String?
        var zoneID: CKRecordZoneID?
    }

    /// The identity of the subscription among the user's subscriptions in the same database.
    public let subscriptionID: CKSubscription.ID
    /// The subject of the subscription.
    public let subscriptionType: SubscriptionType
    let state: Lock<State>

    init(_ id: String, _ type: SubscriptionType, _ state: State) {
        subscriptionID = id
        subscriptionType = type
        self.state = Lock(state)
    }

    /// The content of the notifications; a copy is kept.
    open var notificationInfo: CKSubscription.NotificationInfo? {
        // The object itself, so that `notificationInfo?.title = "…"` changes this subscription.
        get { state.withLock { $0.notificationInfo } }
        set {
            let copy = newValue.map { CKNotificationInfo($0.content) }
            state.withLock { $0.notificationInfo = copy }
        }
    }

    /// The id and the subject.
    open override var description: String {
        "<\(Swift.type(of: self)): subscriptionID=\(subscriptionID)>"
    }

    /// Returns true if the other object is a subscription with the same content.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKSubscription)?.archived == archived
    }

    /// Follows from the id.
    open override var hash: Int { subscriptionID.hashValue }

    // MARK: Copying and coding

    /// Returns a subscription with the same content.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKSubscription(subscriptionID, subscriptionType, copiedState)
    }

    /// The changeable part, apart from this object.
    var copiedState: State {
        var copy = state.withLock { $0 }
        copy.notificationInfo = copy.notificationInfo.map { CKNotificationInfo($0.content) }
        return copy
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// A subscription of any kind, as it is archived.
    struct Archive: Codable, Equatable {
        var id: String
        var type: Int
        var info: CKNotificationInfo.Content?
        var recordType: String?
        var zoneID: CKRecordZoneID.Archive?
        var query: QueryArchive?
        var options: UInt?

        var state: State {
            State(
                notificationInfo: info.map { CKNotificationInfo($0) },
                recordType: recordType,
                zoneID: zoneID.map { CKRecordZoneID($0) }
            )
        }
    }

    var archived: Archive {
        let state = state.withLock { $0 }
        return Archive(
            id: subscriptionID,
            type: subscriptionType.rawValue,
            info: state.notificationInfo?.content,
            recordType: state.recordType,
            zoneID: state.zoneID?.archived
        )
    }

    /// Writes the subscription.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    // Apple's subclasses do not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a subscription.
    public required init!(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self),
            let type = SubscriptionType(rawValue: archive.type)
        else { return nil }
        subscriptionID = archive.id
        subscriptionType = type
        state = Lock(archive.state)
    }

    // MARK: The service

    /// Returns the subscription for the service.
    ///
    /// Throws `invalidArguments` for a predicate that queries do not have.
    func model() throws(CKError) -> Subscription {
        throw CKError(
            .invalidArguments,
            "The subscription \(subscriptionID) has no query, zone or database."
        )
    }

    /// Returns the subscription with the content of its notifications.
    func model(_ kind: Subscription.Kind) -> Subscription {
        Subscription(
            subscriptionID,
            kind,
            content: notificationInfo?.model ?? NotificationContent()
        )
    }

    /// Returns a subscription of the service.
    static func make(_ model: Subscription) -> CKSubscription {
        let info = CKNotificationInfo(model.content)
        switch model.kind {
        case .query(let query):
            return CKQuerySubscription(
                model.id,
                query.recordType,
                PredicateTree(query.predicate),
                CKQuerySubscription.Options(rawValue: UInt(query.options.rawValue)),
                State(
                    notificationInfo: info,
                    zoneID: query.zone.map { CKRecordZoneID($0) }
                )
            )
        case .zone(let zone, let type):
            return CKRecordZoneSubscription(
                model.id,
                CKRecordZoneID(zone),
                State(notificationInfo: info, recordType: type?.string)
            )
        case .database(let type):
            return CKDatabaseSubscription(
                model.id,
                State(notificationInfo: info, recordType: type?.string)
            )
        }
    }
}
