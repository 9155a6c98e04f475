// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKDatabase {
    /// The results of subscriptions to save and to delete.
    public typealias ModifiedSubscriptions = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    // MARK: One subscription

    /// Returns a subscription by its id.
    public func subscription(for subscriptionID: CKSubscription.ID) async throws -> CKSubscription {
        try await answer { handler in
            fetchingSubscriptions([subscriptionID]) { handler($0.item(subscriptionID)) }
        }
    }

    /// Saves a subscription, replacing one with the same id.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await answer { savingSubscription(subscription, $0) }
    }

    /// Deletes a subscription; succeeds if it does not exist.
    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        try await answer { deletingSubscription(subscriptionID, $0) }
    }

    @discardableResult
    func savingSubscription(
        _ subscription: CKSubscription,
        _ handler: @escaping ResultHandler<CKSubscription>
    ) -> CKOperation {
        let id = subscription.subscriptionID
        return modifyingSubscriptions(saving: [subscription]) {
            handler($0.map(\.saveResults).item(id))
        }
    }

    @discardableResult
    func deletingSubscription(
        _ id: CKSubscription.ID,
        _ handler: @escaping ResultHandler<CKSubscription.ID>
    ) -> CKOperation {
        modifyingSubscriptions(deleting: [id]) { result in
            handler(result.map(\.deleteResults).item(id).map { id })
        }
    }

    // MARK: Several subscriptions

    /// Fetches subscriptions by their ids.
    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
            ) -> Void
    ) {
        fetchingSubscriptions(subscriptionIDs, completionHandler)
    }

    /// Returns subscriptions by their ids: each, or its error.
    public func subscriptions(
        for ids: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        try await answer { fetchingSubscriptions(ids, $0) }
    }

    /// Returns all subscriptions of the user in this database.
    public func allSubscriptions() async throws -> [CKSubscription] {
        try await answer { fetchingAllSubscriptions($0) }
    }

    @discardableResult
    func fetchingSubscriptions(
        _ ids: [CKSubscription.ID],
        _ handler: @escaping ResultHandler<[CKSubscription.ID: Result<CKSubscription, any Error>]>
    ) -> CKOperation {
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: ids)
        let items = Collected<[CKSubscription.ID: Result<CKSubscription, any Error>]>([:])
        operation.perSubscriptionResultBlock = { id, result in items.add { $0[id] = result } }
        operation.fetchSubscriptionsResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    @discardableResult
    func fetchingAllSubscriptions(
        _ handler: @escaping ResultHandler<[CKSubscription]>
    ) -> CKOperation {
        let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        let items = Collected<[CKSubscription]>([])
        operation.perSubscriptionResultBlock = { _, result in
            if let subscription = result.value { items.add { $0.append(subscription) } }
        }
        operation.fetchSubscriptionsResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    /// Saves and deletes subscriptions.
    @preconcurrency
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription],
        deleting subscriptionIDsToDelete: [CKSubscription.ID] = [],
        completionHandler:
            @escaping @Sendable (Result<ModifiedSubscriptions, any Error>) -> Void
    ) {
        modifyingSubscriptions(
            saving: subscriptionsToSave,
            deleting: subscriptionIDsToDelete,
            completionHandler
        )
    }

    /// Saves and deletes subscriptions, and returns the result of each.
    public func modifySubscriptions(
        saving subscriptionsToSave: [CKSubscription],
        deleting subscriptionIDsToDelete: [CKSubscription.ID] = []
    ) async throws -> ModifiedSubscriptions {
        try await answer {
            modifyingSubscriptions(
                saving: subscriptionsToSave,
                deleting: subscriptionIDsToDelete,
                $0
            )
        }
    }

    @discardableResult
    func modifyingSubscriptions(
        saving saves: [CKSubscription] = [],
        deleting deletions: [CKSubscription.ID] = [],
        _ handler: @escaping ResultHandler<ModifiedSubscriptions>
    ) -> CKOperation {
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: saves,
            subscriptionIDsToDelete: deletions
        )
        let items = Collected<ModifiedSubscriptions>(([:], [:]))
        operation.perSubscriptionSaveBlock = { id, result in
            items.add { $0.saveResults[id] = result }
        }
        operation.perSubscriptionDeleteBlock = { id, result in
            items.add { $0.deleteResults[id] = result }
        }
        operation.modifySubscriptionsResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }
}
