// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// A subscription to changes in a custom zone.
///
/// Unchecked: the mutable state is behind the lock of its superclass.
open class CKRecordZoneSubscription: CKSubscription, @unchecked Sendable {
    /// The zone.
    public let zoneID: CKRecordZone.ID

    /// Creates a subscription to changes in a zone.
    public convenience init(zoneID: CKRecordZone.ID, subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID, zoneID, State())
    }

    /// Creates a subscription with a new id to changes in a zone.
    @available(*, deprecated, message: "Use init(zoneID:subscriptionID:).")
    public convenience init(zoneID: CKRecordZone.ID) {
        self.init(zoneID: zoneID, subscriptionID: UUID().uuidString)
    }

    init(_ id: String, _ zoneID: CKRecordZoneID, _ state: State) {
        self.zoneID = zoneID
        super.init(id, .recordZone, state)
    }

    /// The type of the records; `nil` for all.
    open var recordType: CKRecord.RecordType? {
        get { state.withLock { $0.recordType } }
        set { state.withLock { $0.recordType = newValue } }
    }

    /// Returns a subscription with the same content.
    open override func copy(with zone: NSZone? = nil) -> Any {
        CKRecordZoneSubscription(subscriptionID, zoneID, copiedState)
    }

    override var archived: Archive {
        var archive = super.archived
        archive.zoneID = zoneID.archived
        return archive
    }

    // Apple's does not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a subscription.
    public required init!(coder aDecoder: NSCoder) {
        guard let zone = aDecoder.archive(of: Archive.self)?.zoneID else { return nil }
        zoneID = CKRecordZoneID(zone)
        super.init(coder: aDecoder)
    }

    override func model() throws(CKError) -> Subscription {
        model(.zone(zoneID.model, recordType: recordType.map { Name($0) }))
    }
}

/// A subscription to changes in a private database's custom zones, or in a shared database.
///
/// Unchecked: the mutable state is behind the lock of its superclass.
open class CKDatabaseSubscription: CKSubscription, @unchecked Sendable {
    /// Creates a subscription to changes in a database.
    public convenience init(subscriptionID: CKSubscription.ID) {
        self.init(subscriptionID, State())
    }

    /// Creates a subscription with a new id to changes in a database.
    @available(*, deprecated, message: "Use init(subscriptionID:).")
    public convenience init() {
        self.init(subscriptionID: UUID().uuidString)
    }

    init(_ id: String, _ state: State) {
        super.init(id, .database, state)
    }

    /// The type of the records; `nil` for all.
    open var recordType: CKRecord.RecordType? {
        get { state.withLock { $0.recordType } }
        set { state.withLock { $0.recordType = newValue } }
    }

    /// Returns a subscription with the same content.
    open override func copy(with zone: NSZone? = nil) -> Any {
        CKDatabaseSubscription(subscriptionID, copiedState)
    }

    // Apple's does not fail; an archive may contain anything.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Reads a subscription.
    public required init!(coder aDecoder: NSCoder) {
        super.init(coder: aDecoder)
    }

    override func model() throws(CKError) -> Subscription {
        model(.database(recordType: recordType.map { Name($0) }))
    }
}
