// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Subscriptions to save and to delete, in the caller's database, for the caller.
///
/// Each is done independently.
public struct ModifySubscriptionsRequest: Hashable, Codable, Sendable {
    /// Subscriptions to save; one with an id that the caller uses already is replaced.
    public var saves: [Subscription]
    /// The ids of subscriptions to delete.
    public var deletions: [String]

    /// Creates a request.
    public init(saves: [Subscription] = [], deletions: [String] = []) {
        self.saves = saves
        self.deletions = deletions
    }
}

/// The results of each subscription of a request, in its order.
public struct ModifySubscriptionsResult: Hashable, Sendable {
    /// For each save the subscription, or why it was not saved.
    public var saves: [Result<Subscription, SyncError>]
    /// For each deletion the id, or why it was not deleted.
    public var deletions: [Result<String, SyncError>]

    /// Collects outcomes.
    public init(
        saves: [Result<Subscription, SyncError>] = [],
        deletions: [Result<String, SyncError>] = []
    ) {
        self.saves = saves
        self.deletions = deletions
    }
}

extension ModifySubscriptionsResult {
    /// Returns the error that CloudKit's operations throw if items failed; `nil` if all were done.
    ///
    /// It is `partialFailure` with the error of each item, first of saves, then of deletions.
    /// `request` is the request of this result.
    public func partialFailure(of request: ModifySubscriptionsRequest) -> SyncError? {
        var errors: [SyncError.ItemError] = []
        errors.add(request.saves.map { .subscription($0.id) }, saves)
        errors.add(request.deletions.map { .subscription($0) }, deletions)
        return .partialFailure(errors)
    }
}

/// A request for the caller's unread notifications after a token.
public struct NotificationChangesRequest: Hashable, Codable, Sendable {
    /// The token of the last fetch; `nil` fetches everything.
    public var since: ChangeToken?
    /// The maximum number of notifications to return; `nil` leaves it to the store.
    public var limit: Int?

    /// Creates a request.
    public init(since: ChangeToken? = nil, limit: Int? = nil) {
        self.since = since
        self.limit = limit
    }
}

/// One page of a user's notifications, oldest first.
public struct NotificationChanges: Hashable, Codable, Sendable {
    /// The notifications, whole and not pruned.
    ///
    /// A page can be empty although there are more: the client's own changes are left out.
    public let notifications: [Subscription.Notification]
    /// The token that this response reaches.
    public let token: ChangeToken
    /// True if there are already more notifications after the token.
    public let moreComing: Bool

    /// Collects an answer.
    public init(
        notifications: [Subscription.Notification],
        token: ChangeToken,
        moreComing: Bool
    ) {
        self.notifications = notifications
        self.token = token
        self.moreComing = moreComing
    }
}
