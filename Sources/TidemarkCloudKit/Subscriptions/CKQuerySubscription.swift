// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// A subscription to changes of records that fulfil a predicate.
///
/// Unchecked: the mutable state is behind the lock of its superclass.
open class CKQuerySubscription: CKSubscription, @unchecked Sendable {
    /// The changes that fire a subscription.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Wraps bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// A record is created.
        public static let firesOnRecordCreation = Options(rawValue: 1)
        /// A record is updated.
        public static let firesOnRecordUpdate = Options(rawValue: 2)
        /// A record is deleted.
        public static let firesOnRecordDeletion = Options(rawValue: 4)
        /// Only once: then the subscription is deleted.
        public static let firesOnce = Options(rawValue: 8)
    }

    /// The condition that a record must fulfil.
    public let predicate: NSPredicate
    /// The changes that fire the subscription.
    public let querySubscriptionOptions: Options
    private let type: String
    private let tree: PredicateTree

    /// The type of the records.
    open var recordType: CKRecord.RecordType? { type }

    /// Creates a subscription to records of a type that fulfil a predicate.
    public convenience init(
        recordType: CKRecord.RecordType,
        predicate: NSPredicate,
        subscriptionID: CKSubscription.ID,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            subscriptionID,
            recordType,
            PredicateTree(predicate),
            querySubscriptionOptions,
            State(),
            predicate
        )
    }

    /// Creates a subscription with a new id to records of a type that fulfil a predicate.
    public convenience init(
        recordType: CKRecord.RecordType,
        predicate: NSPredicate,
        options querySubscriptionOptions: CKQuerySubscription.Options = [
            .firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion,
        ]
    ) {
        self.init(
            recordType: recordType,
            predicate: predicate,
            subscriptionID: UUID().uuidString,
            options: querySubscriptionOptions
        )
    }

    init(
        _ id: String,
        _ recordType: String,
        _ tree: PredicateTree,
        _ options: Options,
        _ state: State,
        _ predicate: NSPredicate? = nil
    ) {
        type = recordType
        self.tree = tree
        self.predicate = predicate ?? NSPredicate(tree)
        querySubscriptionOptions = options
        super.init(id, .query, state)
    }

    /// The zone that the records must be in; `nil` for every zone.
    open var zoneID: CKRecordZone.ID? {
        get { state.withLock { $0.zoneID } }
        set { state.withLock { $0.zoneID = newValue } }
    }

    // MARK: Copying and coding

    /// Returns a subscription with the same content.
    open override func copy(with zone: NSZone? = nil) -> Any {
        CKQuerySubscription(
            subscriptionID,
            type,
            tree,
            querySubscriptionOptions,
            copiedState,
            predicate
        )
    }

    override var archived: Archive {
        var archive = super.archived
        archive.query = QueryArchive(type, tree, nil)
        archive.options = querySubscriptionOptions.rawValue
        return archive
    }

    // Apple's does not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a subscription.
    public required init!(coder aDecoder: NSCoder) {
        guard let archive = aDecoder.archive(of: Archive.self), let query = archive.query else {
            return nil
        }
        type = query.recordType
        tree = query.tree
        predicate = NSPredicate(tree)
        querySubscriptionOptions = Options(rawValue: archive.options ?? 0)
        super.init(coder: aDecoder)
    }

    // MARK: The service

    override func model() throws(CKError) -> Subscription {
        model(
            .query(
                Subscription.RecordQuery(
                    recordType: type,
                    predicate: try tree.predicate,
                    options: Subscription.Options(
                        // The four bits have the same meaning in both types.
                        rawValue: UInt8(truncatingIfNeeded: querySubscriptionOptions.rawValue)
                    ),
                    zone: zoneID?.model
                )
            )
        )
    }
}
