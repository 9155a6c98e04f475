// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// Notifications for servers that forward them to many clients.
extension Store {
    /// Calls a closure with the databases in which users' notifications were made or marked as
    /// read, once those are durable, until the store is closed.
    ///
    /// The closure runs on the thread that makes notifications: it must return soon and must not
    /// wait. Throws in a store that is open for reading.
    package func followNotifications(
        _ body: @escaping @Sendable (Set<DatabaseID>) -> Void
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
        let parts = try parts
        let notifications = parts.notifications
        return try await parts.reader.answer(.notifications, caller, since: token) {
            () throws(SyncError) in
            try parts.reader.checkAccess(of: caller, writes: false)
            let request = NotificationChangesRequest(since: token, limit: limit)
            let holder = try parts.reader.holder(of: caller)
            let page = try notifications.notificationPage(request, as: caller, of: holder)
            if !page.lines.isEmpty {
                parts.reader.note(
                    JournalEntry.Told(
                        .notifications,
                        caller,
                        since: token,
                        token: page.token,
                        shownThrough: page.shownThrough,
                        changeCount: page.lines.count,
                        moreComing: page.moreComing
                    )
                )
            }
            let byteLimit = parts.reader.options.limits.bytesPerPush
            return PushPage(
                lines: page.lines.map { line in
                    var line = line
                    line.notification = line.notification.pruned(toByteCount: byteLimit)
                    return line
                },
                token: page.token,
                moreComing: page.moreComing
            )
        }
    }
}
