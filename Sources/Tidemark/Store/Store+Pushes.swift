// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// Notifications for servers that forward them to many clients.
extension Store {
    /// Calls a closure with the databases in which users' notifications were made or marked as
    /// read, once those are durable, until the store is closed; `nil` stands for all databases.
    ///
    /// The closure runs on the thread that makes notifications: it must return soon and must not
    /// wait. Throws in a store that is open for reading.
    package func followNotifications(
        _ body: @escaping @Sendable (Set<DatabaseID>?) -> Void
    ) throws(SyncError) {
        try parts.notifications.notifier().news.follow(body)
    }

    /// Returns the caller's notifications after a token, each with the token after it.
    ///
    /// Throws as ``notificationChanges(_:as:)`` does.
    package func pushes(
        since token: ChangeToken,
        limit: Int? = nil,
        as caller: Caller
    ) async throws(SyncError) -> PushPage {
        var page = try await sharedPushes(since: token, limit: limit, as: caller)
        page.lines.removeAll { $0.isOwn(of: caller) }
        try notePushes(page.lines.count, of: page, since: token, to: caller)
        return page
    }

    /// Returns the notifications of the caller's user after a token, those that the caller's own
    /// client made included.
    ///
    /// A server reads them once for all clients of the user at the same position. For each client,
    /// it omits the client's own and calls ``notePushes(_:of:since:to:)``.
    package func sharedPushes(
        since token: ChangeToken,
        limit: Int? = nil,
        as caller: Caller
    ) async throws(SyncError) -> PushPage {
        let parts = try parts
        let notifications = parts.notifications
        return try await parts.reader.answer(.notifications, caller, since: token) {
            () throws(SyncError) in
            try parts.reader.checkAccess(of: caller, writes: false)
            let request = NotificationChangesRequest(since: token, limit: limit)
            var page = try notifications.notificationPage(
                request,
                of: try parts.reader.holder(of: caller)
            )
            let byteLimit = parts.reader.options.limits.bytesPerPush
            for index in page.lines.indices {
                page.lines[index].notification =
                    page.lines[index].notification.pruned(toByteCount: byteLimit)
            }
            return page
        }
    }

    /// Records in the journal that a client gets some of the notifications of a page.
    ///
    /// Throws if the caller has no access.
    package func notePushes(
        _ count: Int,
        of page: PushPage,
        since token: ChangeToken,
        to caller: Caller
    ) throws(SyncError) {
        let reader = try parts.reader
        try reader.checkAccess(of: caller, writes: false)
        guard count > 0 else { return }
        reader.note(
            JournalEntry.Told(
                .notifications,
                caller,
                since: token,
                token: page.token,
                shownThrough: page.shownThrough,
                changeCount: count,
                moreComing: page.moreComing
            )
        )
    }
}
