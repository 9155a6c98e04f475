// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
public import TidemarkModel

/// Subscriptions and notifications: `Docs/subscriptions.md`.
extension Store {
    /// Saves and deletes subscriptions of the caller, each independently.
    ///
    /// Every item reported as done is durable. A subscription is notified of commits after it.
    /// Saving an id that the caller already uses in this database replaces that subscription.
    /// Deleting a missing subscription succeeds. A repeated request id gets the first result again.
    ///
    /// Throws `notAuthenticated` without a user, `limitExceeded` for too many items,
    /// `invalidArguments` for an id that is named twice.
    public func modifySubscriptions(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        let parts = try parts
        let result = try await parts.reader.answer(.subscriptions, caller) { () throws(SyncError) in
            try await parts.writer().write(in: [], as: caller) { () throws(SyncError) in
                try await parts.notifications.modifySubscriptions(request, as: caller)
            }
        }
        parts.reader.note(
            result.partialFailure(of: request)?.partialErrors ?? [],
            of: .subscriptions,
            by: caller
        )
        return result
    }

    /// The caller's subscriptions in the caller's database, in the order of their ids' bytes.
    public func subscriptions(as caller: Caller) async throws(SyncError) -> [Subscription] {
        let parts = try parts
        return try await parts.reader.answer(.subscriptions, caller) { () throws(SyncError) in
            try await parts.notifications.subscriptions(as: caller)
        }
    }

    /// Subscriptions by their ids: for each, in order, the subscription or `unknownItem`.
    public func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<Subscription, SyncError>] {
        let parts = try parts
        return try await parts.reader.answer(.subscriptions, caller) { () throws(SyncError) in
            try await parts.notifications.fetchSubscriptions(ids, as: caller)
        }
    }

    /// Returns one page of the caller's notifications after a token, oldest first.
    ///
    /// These are the unread notifications of all of the caller's databases in the container's
    /// environment, except those of the calling client's own changes.
    ///
    /// Throws `changeTokenExpired` for a token that cannot be answered exactly, `invalidArguments`
    /// for a damaged or foreign token.
    public func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges {
        let parts = try parts
        return try await parts.reader.answer(.notifications, caller, since: request.since) {
            () throws(SyncError) in try parts.notifications.notificationChanges(request, as: caller)
        }
    }

    /// Marks notifications as read: they are no longer fetched, and the user's other clients are
    /// notified.
    ///
    /// Returns for each, in order, its id, or `unknownItem` for an id that no notification ever
    /// had. A notification that was already read, or that a later one has replaced, stays
    /// unchanged.
    public func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>] {
        let parts = try parts
        return try await parts.reader.answer(.notifications, caller) { () throws(SyncError) in
            try await parts.writer().write(in: [], as: caller) { () throws(SyncError) in
                try await parts.notifications.markNotificationsRead(ids, as: caller)
            }
        }
    }

    /// Returns a token after all of the caller's current notifications, without reading them.
    public func notificationToken(as caller: Caller) async throws(SyncError) -> ChangeToken {
        let parts = try parts
        return try await parts.reader.answer(.notifications, caller) { () throws(SyncError) in
            try parts.reader.checkAccess(of: caller, writes: false)
            let holder = try parts.notifications.reader.holder(of: caller)
            return try parts.notifications.notificationToken(of: holder)
        }
    }

    /// Returns the caller's notifications after a token as they occur, each with the token after
    /// it.
    ///
    /// They are fetched a page at a time, so a slow client delays no other client and misses
    /// nothing. The sequence ends when the store is closed or the task is cancelled; it throws as
    /// ``notificationChanges(_:as:)`` does.
    public func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        let parts = try parts
        try parts.reader.checkAccess(of: caller, writes: false)
        let news = try parts.notifications.notifier().news
        let holder = try parts.notifications.reader.holder(of: caller)
        let feed = NotificationFeed(self, news, as: caller, of: holder, since: token)
        return AsyncThrowingStream { try await feed.next() }
    }

    /// Waits until the notifications of all events that are durable now are made and durable.
    ///
    /// Notifications are normally made soon after the event, without a call to this. Use it in
    /// tests, or to be certain. Throws the error that keeps them from being made.
    public func waitUntilNotified() async throws(SyncError) {
        let parts = try parts
        let target = parts.reader.source.durableSequence
        let notifications = parts.notifications
        try await notifications.notifier().catchUp(through: target, notifications)
    }
}
