// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches subscriptions of the signed-in user.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Fetches subscriptions by their ids.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init()
        self.subscriptionIDs = subscriptionIDs
    }

    /// Fetches all subscriptions of the user in the database.
    open class func fetchAllSubscriptionsOperation() -> Self {
        let operation = CKFetchSubscriptionsOperation()
        operation.fetchesAll = true
        return Self.own(operation)
    }

    private(set) var fetchesAll = false

    /// The subscriptions to fetch.
    open var subscriptionIDs: [CKSubscription.ID]?

    /// Called for each subscription.
    open var perSubscriptionResultBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Called at the end.
    open var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end, with the subscriptions that were found.
    open var fetchSubscriptionCompletionBlock:
        (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

    private var found: [CKSubscription.ID: CKSubscription]?

    override func perform(_ session: Session) async throws(CKError) {
        let fetchesAll = fetchesAll
        let asked = subscriptionIDs ?? []
        let answers = try await session.call {
            (service, caller) async throws(SyncError) -> [Result<Subscription, SyncError>] in
            if fetchesAll {
                try await service.subscriptions(as: caller).map { .success($0) }
            } else {
                try await service.fetchSubscriptions(asked, as: caller)
            }
        }
        var found: [CKSubscription.ID: CKSubscription] = [:]
        var errors: [AnyHashable: any Error] = [:]
        for (index, answer) in answers.enumerated() {
            let id = fetchesAll ? answer.value?.id ?? "" : asked[index]
            let outcome = answer.map { CKSubscription.make($0) }
                .mapError { CKError($0) as any Error }
            found[id] = outcome.value
            errors[id] = outcome.error
            tell { self.perSubscriptionResultBlock?(id, outcome) }
        }
        self.found = found
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func complete(_ error: (any Error)?) {
        fetchSubscriptionsResultBlock?(Result(failing: error))
        fetchSubscriptionCompletionBlock?(found, error)
    }
}
