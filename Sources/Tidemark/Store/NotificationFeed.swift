// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The live notifications of one client.
///
/// They are fetched by token, a page at a time, so nothing queues up for a slow client, and nothing
/// is lost.
actor NotificationFeed {
    /// The store, not its parts: closing the store releases the parts.
    private let store: Store
    private let news: Broadcast<DatabaseID>
    private let caller: Caller
    private let holder: SubscriptionHolder
    private var token: ChangeToken
    private var page: ArraySlice<Subscription.Push> = []

    init(
        _ store: Store,
        _ news: Broadcast<DatabaseID>,
        as caller: Caller,
        of holder: SubscriptionHolder,
        since token: ChangeToken
    ) {
        self.store = store
        self.news = news
        self.caller = caller
        self.holder = holder
        self.token = token
    }

    /// The next notification; `nil` when the store is closed or the task cancelled.
    func next() async throws(SyncError) -> Subscription.Push? {
        while true {
            if let push = page.popFirst() { return push }
            if Task.isCancelled || news.isClosed { return nil }
            // Read before the fetch. A broadcast during the fetch changes the generation, and the
            // wait below returns at once.
            let generation = news.generation
            if try !fetch() {
                await news.wait(for: holder.collection, since: generation)
            }
        }
    }

    /// Fetches the next page; returns true if the page, or a later one, may have notifications.
    private func fetch() throws(SyncError) -> Bool {
        let notifications: Notifications
        do throws(SyncError) {
            notifications = try store.parts.notifications
        } catch {
            // The store is being closed, or something is erased. The wait ends after either.
            return false
        }
        let request = NotificationChangesRequest(since: token)
        var found = try notifications.notificationPage(request, of: holder)
        found.lines.removeAll { $0.isOwn(of: caller) }
        token = found.token
        let limit = notifications.reader.options.limits.bytesPerPush
        page =
            found.lines.map { line in
                Subscription.Push(line.notification.pruned(toByteCount: limit), token: line.token)
            }[...]
        return !page.isEmpty || found.moreComing
    }
}
