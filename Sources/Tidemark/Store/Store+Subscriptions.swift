// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
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

    /// The caller's notifications after a token, one page of them, oldest first: those of all of the
    /// caller's databases in the container's environment that nobody has marked as read, but for
    /// what the asking client did itself.
    ///
    /// Throws `changeTokenExpired` for a token that cannot be answered exactly, `invalidArguments`
    /// for one that is of something else or damaged.
    public func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) async throws(SyncError) -> NotificationChanges {
        let parts = try parts
        return try await parts.reader.answer(.notifications, caller, since: request.since) {
            () throws(SyncError) in try parts.notifications.notificationChanges(request, as: caller)
        }
    }

    /// Marks notifications as read: they are not fetched any more, and the user's other clients hear
    /// of it.
    ///
    /// Answers for each, in order, its id, or `unknownItem` for an id that no notification ever had.
    /// One that was read before, or that a later one has taken the place of, stays as it is.
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

    /// A token behind all of the caller's notifications of now, without reading them.
    public func notificationToken(as caller: Caller) async throws(SyncError) -> ChangeToken {
        let parts = try parts
        return try await parts.reader.answer(.notifications, caller) { () throws(SyncError) in
            try parts.reader.checkAccess(of: caller, writes: false)
            let holder = try parts.notifications.reader.holder(of: caller)
            return try parts.notifications.notificationToken(of: holder)
        }
    }

    /// The caller's notifications after a token as they come, each with the token behind it.
    ///
    /// They are fetched a page at a time, so a slow client holds up nobody and misses nothing. Ends
    /// when the store is closed or the task is cancelled; throws as ``notificationChanges(_:as:)``
    /// does.
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

    /// Waits until the notifications of all events up to a position have been made and are durable;
    /// without a position, of all that is durable now.
    ///
    /// Notifications are made soon after the event, without anybody waiting for them; this is for
    /// tests, and for whoever wants to be sure. Throws why they cannot be made.
    public func waitUntilNotified(
        through position: SequenceNumber? = nil
    ) async throws(SyncError) {
        let parts = try parts
        let writer = try parts.writer()
        let target = position ?? parts.reader.source.durableSequence
        try await writer.committer.waitUntilDurable(target)
        let notifications = parts.notifications
        try await notifications.notifier().catchUp(through: target, notifications)
    }
}
