// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Saves and deletes subscriptions, each independently.
///
/// Unchecked: see ``CKOperation``.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Saves and deletes subscriptions.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil,
        subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init()
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    /// The subscriptions to save, in place of those with the same ids.
    open var subscriptionsToSave: [CKSubscription]?
    /// The subscriptions to delete.
    open var subscriptionIDsToDelete: [CKSubscription.ID]?

    /// Called for each subscription that was to be saved.
    open var perSubscriptionSaveBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Called for each subscription that was to be deleted.
    open var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end, with the subscriptions that were saved and deleted.
    open var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

    private var done: (saved: [CKSubscription], deleted: [CKSubscription.ID])?

    override func perform(_ session: Session) async throws(CKError) {
        let subscriptions = subscriptionsToSave ?? []
        let deletions = subscriptionIDsToDelete ?? []
        var saves: [Subscription] = []
        // One predicate that is not supported ends the operation before anything is sent.
        for subscription in subscriptions { saves.append(try subscription.model()) }
        let request = ModifySubscriptionsRequest(saves: saves, deletions: deletions)
        let result = try await session.change { (service, caller) async throws(SyncError) in
            try await service.modifySubscriptions(request, as: caller)
        }
        var saved: [CKSubscription] = []
        var deleted: [CKSubscription.ID] = []
        var errors: [AnyHashable: any Error] = [:]
        for (subscription, result) in zip(subscriptions, result.saves) {
            let id = subscription.subscriptionID
            let outcome = result.map { CKSubscription.make($0) }
                .mapError { CKError($0) as any Error }
            if let subscription = outcome.value { saved.append(subscription) }
            errors[id] = outcome.error
            tell { self.perSubscriptionSaveBlock?(id, outcome) }
        }
        for (id, result) in zip(deletions, result.deletions) {
            let error = result.error.map { CKError($0) }
            if let error { errors[id] = error } else { deleted.append(id) }
            tell { self.perSubscriptionDeleteBlock?(id, Result(failing: error)) }
        }
        done = (saved, deleted)
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func complete(_ error: (any Error)?) {
        modifySubscriptionsResultBlock?(Result(ofWhole: error))
        modifySubscriptionsCompletionBlock?(done?.saved, done?.deleted, error)
    }
}
