// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// Whoever waits for notifications, by the database that the notifications are in.
final class NotificationFeeds: Sendable {
    private struct Waiter {
        var id: UInt64
        var collection: DatabaseID
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var waiting: [Waiter] = []
        /// Grows with everything that is told.
        var generation: UInt64 = 0
        var lastID: UInt64 = 0
        var cancelled: Set<UInt64> = []
        var isClosed = false
    }

    private let state = Lock(State())

    /// How much has been told so far: to be read before looking, and handed to
    /// ``wait(in:since:)``.
    var generation: UInt64 { state.withLock { $0.generation } }

    /// Whether nothing more will be told.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Waits until something is told about a collection after a generation, or the task is cancelled,
    /// or nothing more will be told.
    func wait(in collection: DatabaseID, since generation: UInt64) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isClosed || state.generation != generation
                        || state.cancelled.remove(id) != nil
                    {
                        return true
                    }
                    state.waiting.append(
                        Waiter(id: id, collection: collection, continuation: continuation)
                    )
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil as Waiter?
                }
                return state.waiting.remove(at: index)
            }
            waiter?.continuation.resume()
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Tells those who wait that there is something in some collections.
    func wake(_ collections: Set<DatabaseID>) {
        if collections.isEmpty { return }
        let woken = state.withLock { state in
            state.generation += 1
            let woken = state.waiting.filter { collections.contains($0.collection) }
            if !woken.isEmpty {
                state.waiting.removeAll { collections.contains($0.collection) }
            }
            return woken.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Tells everybody that nothing more will come.
    func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }
}

/// The notifications of one client as they come: a page at a time is fetched by token, so that
/// nothing piles up for a client that is slow, and nothing is lost.
actor NotificationFeed {
    /// Not what it is made of, which whoever closes it lets go of.
    private let store: Store
    private let feeds: NotificationFeeds
    private let caller: Caller
    private let holder: SubscriptionHolder
    private var token: ChangeToken
    private var page: ArraySlice<Subscription.Push> = []

    init(
        _ store: Store,
        _ feeds: NotificationFeeds,
        as caller: Caller,
        of holder: SubscriptionHolder,
        since token: ChangeToken
    ) {
        self.store = store
        self.feeds = feeds
        self.caller = caller
        self.holder = holder
        self.token = token
    }

    /// The next notification; `nil` when the store is closed or the task cancelled.
    func next() async throws(SyncError) -> Subscription.Push? {
        while true {
            if let push = page.popFirst() { return push }
            if Task.isCancelled || feeds.isClosed { return nil }
            let generation = feeds.generation
            if try !fetch() {
                await feeds.wait(in: holder.collection, since: generation)
            }
        }
    }

    /// Fetches the next page; says whether there may be something in it, or behind it.
    private func fetch() throws(SyncError) -> Bool {
        let engine: Engine
        do throws(SyncError) {
            engine = try store.engine
        } catch {
            // Closed a moment ago.
            return true
        }
        let request = NotificationChangesRequest(since: token)
        let found = try engine.notificationPage(request, as: caller, of: holder)
        token = found.token
        let limit = engine.options.limits.bytesPerPush
        page =
            found.lines.map { line in
                Subscription.Push(line.notification.pruned(toByteCount: limit), token: line.token)
            }[...]
        return !page.isEmpty || found.moreComing
    }
}
