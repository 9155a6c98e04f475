// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The notifications of one client as they come: a page at a time is fetched by token, so that
/// nothing piles up for a client that is slow, and nothing is lost.
actor NotificationFeed {
    /// Not what it is made of, which whoever closes it lets go of.
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
            let generation = news.generation
            if try !fetch() {
                await news.wait(for: holder.collection, since: generation)
            }
        }
    }

    /// Fetches the next page; says whether there may be something in it, or behind it.
    private func fetch() throws(SyncError) -> Bool {
        let notifications: Notifications
        do throws(SyncError) {
            notifications = try store.parts.notifications
        } catch {
            // Closed a moment ago.
            return true
        }
        let request = NotificationChangesRequest(since: token)
        let found = try notifications.notificationPage(request, as: caller, of: holder)
        token = found.token
        let limit = notifications.reader.options.limits.bytesPerPush
        page =
            found.lines.map { line in
                Subscription.Push(line.notification.pruned(toByteCount: limit), token: line.token)
            }[...]
        return !page.isEmpty || found.moreComing
    }
}
