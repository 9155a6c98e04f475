// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// One database of a container.
///
/// Each call named here runs the operation of the same purpose.
///
/// Unchecked: immutable.
open class CKDatabase: NSObject, @unchecked Sendable {
    /// One of the databases that a user sees.
    public typealias Scope = CKDatabaseScope

    let device: TidemarkDevice
    let container: ContainerID
    let defaults: OperationDefaults
    private let scope: Scope

    init(
        _ scope: Scope,
        of container: ContainerID,
        _ device: TidemarkDevice,
        _ defaults: OperationDefaults
    ) {
        self.device = device
        self.container = container
        self.defaults = defaults
        self.scope = scope
    }

    /// Creates the private database of the app's own container, for subclasses.
    public override init() {
        device = .current
        container = ContainerID(device.defaultContainerIdentifier)
        defaults = OperationDefaults()
        scope = .private
    }

    /// The scope of the database.
    open var databaseScope: Scope { scope }

    /// Returns true if the other object is the same database of the same device.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKDatabase else { return false }
        // The defaults do not count: the object that `configuredWith` creates is the same database.
        return other.device === device && other.container == container && other.scope == scope
    }

    /// Follows from the container and the scope.
    open override var hash: Int { container.hashValue ^ scope.rawValue }

    /// The container and the scope.
    open override var description: String {
        "<CKDatabase: \(container.identifier)/\(scope.model.name)>"
    }

    /// Begins an operation in this database, after its dependencies.
    ///
    /// An operation that has begun already, or is in a queue, is a programming error and stops the
    /// program.
    open func add(_ operation: CKDatabaseOperation) {
        operation.database = self
        operation.enqueue(on: device)
    }

    /// Runs code with a database that gives its operations a configuration and a group, unless they
    /// have their own.
    @discardableResult
    open func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(configured(configuration, group))
    }

    /// Runs code with a database that gives its operations a configuration and a group, unless they
    /// have their own.
    @discardableResult
    @preconcurrency
    public nonisolated(nonsending) func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: @concurrent (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(configured(configuration, group))
    }

    private func configured(
        _ configuration: CKOperation.Configuration?,
        _ group: CKOperationGroup?
    ) -> CKDatabase {
        CKDatabase(scope, of: container, device, defaults.inside(configuration, group))
    }

    /// Adds an operation and answers with it.
    func begin(_ operation: CKDatabaseOperation) -> CKOperation {
        add(operation)
        return operation
    }

    // The calls below can be overridden, as on Apple's systems; those of extensions cannot.

    // MARK: Records

    /// Fetches a record.
    @preconcurrency
    open func fetch(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        fetching(recordID) { completionHandler($0.value, $0.error) }
    }

    /// Saves a record, unless another client has saved it since it was fetched.
    @preconcurrency
    open func save(
        _ record: CKRecord,
        completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
    ) {
        saving(record) { completionHandler($0.value, $0.error) }
    }

    /// Deletes a record.
    @preconcurrency
    open func delete(
        withRecordID recordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
    ) {
        deleting(recordID) { completionHandler($0.value, $0.error) }
    }

    /// Finds records of a type, a page of them.
    @available(*, deprecated, message: "Use fetch(withQuery:inZoneWith:…)")
    @preconcurrency
    open func perform(
        _ query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID?,
        completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
    ) {
        finding(CKQueryOperation(query: query), zoneID) { result in
            completionHandler(
                result.value?.matchResults.compactMap(\.1.value),
                result.error
            )
        }
    }

    // MARK: Zones

    /// Fetches a zone.
    @preconcurrency
    open func fetch(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        fetchingZones([zoneID]) { result in
            let zone = result.item(zoneID)
            completionHandler(zone.value, zone.error)
        }
    }

    /// Creates a zone, unless it is there.
    @preconcurrency
    open func save(
        _ zone: CKRecordZone,
        completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
    ) {
        savingZone(zone) { completionHandler($0.value, $0.error) }
    }

    /// Deletes a zone with its content; succeeds if it does not exist.
    @preconcurrency
    open func delete(
        withRecordZoneID zoneID: CKRecordZone.ID,
        completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
    ) {
        deletingZone(zoneID) { completionHandler($0.value, $0.error) }
    }

    /// Fetches all zones.
    @preconcurrency
    open func fetchAllRecordZones(
        completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void
    ) {
        fetchingAllZones { completionHandler($0.value, $0.error) }
    }

    // MARK: Subscriptions

    /// Fetches a subscription.
    @preconcurrency
    open func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        fetchingSubscriptions([subscriptionID]) { result in
            let subscription = result.item(subscriptionID)
            completionHandler(subscription.value, subscription.error)
        }
    }

    /// Saves a subscription, replacing one with the same id.
    @preconcurrency
    open func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        savingSubscription(subscription) { completionHandler($0.value, $0.error) }
    }

    /// Deletes a subscription; succeeds if it does not exist.
    @preconcurrency
    open func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        deletingSubscription(subscriptionID) { completionHandler($0.value, $0.error) }
    }

    /// Fetches all subscriptions of the user in this database.
    @preconcurrency
    open func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        fetchingAllSubscriptions { completionHandler($0.value, $0.error) }
    }
}
