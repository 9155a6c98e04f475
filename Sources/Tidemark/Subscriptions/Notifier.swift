// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Makes notifications: follows the durable log and matches each event against the subscriptions of
/// that moment.
///
/// It appends the notifications and its new position as one commit. So after a stop at any moment,
/// each event is notified of exactly once. It also owns the subscriptions of the store: they are
/// changed here, one request after another.
actor Notifier {
    nonisolated let queue = WorkQueue(label: "tidemark.notifier")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
    /// Wakes it.
    nonisolated let wakeup = WakeupSignal<Notifications>()
    /// Notifies those that wait for notifications, by the database of the notifications.
    nonisolated let news: Broadcast<DatabaseID>

    /// `nil` until it is needed, and after a failure.
    private var following: Following?
    /// The subscriptions as of the last append; `nil` until they are needed, and after an import.
    private var known: SubscriptionCatalog?
    /// The end of the last commit that changed subscriptions since the opening.
    private var lastChange: SequenceNumber = 0
    /// The last position of a commit of its own.
    private var lastMade = SequenceNumber.zero
    /// The databases with new notifications that were not yet announced to waiting clients.
    private var untold: Set<DatabaseID> = []
    /// The retention that keeps collections within bounds.
    private var retention = NotificationRetention()
    /// The number of failures.
    ///
    /// After a failure, the log must grow by a certain amount before the next attempt.
    private var failureCount = 0
    private var nextAttempt: SequenceNumber = 0

    /// The number of events to read at a time.
    private static let eventLimit = 1_024
    /// The number of notifications to make at a time, not counting those of the last event.
    private static let notificationLimit = 512
    /// The number of events to read without saving the position, if none causes a notification.
    private static let unkeptLimit: UInt64 = 8_192

    init(_ news: Broadcast<DatabaseID>) {
        self.news = news
    }

    // MARK: Following the log

    /// Listens if there is something to listen for, as an opening has found it.
    nonisolated func begin(_ store: Notifications) throws(SyncError) {
        let picture = try store.reader.picture(.visible)
        let identity = ZoneIdentity(
            database: .ofStore,
            zoneName: Name(SystemZone.subscriptions.rawValue)
        )
        try SyncError.wrapping { () throws(ViewIndexError) in
            let epoch = try picture.epoch(of: identity)
            wakeup.arm(epoch.key != nil && epoch.end == nil)
        }
        ring()
    }

    /// Signals that events have become durable.
    nonisolated func ring() {
        if wakeup.ring() {
            // Not on the threads that all tasks share: a program may hold them up.
            Task(executorPreference: queue, priority: .utility) { await self.listen() }
        }
    }

    private func listen() async {
        repeat { await work() } while wakeup.endWork()
    }

    /// Makes the notifications of durable events, unless an attempt has just failed.
    private func work() async {
        guard let store = wakeup.beginWork() else { return }
        let target = store.reader.source.durableSequence
        if target < nextAttempt { return }
        do {
            try await catchUp(through: target, store)
            failureCount = 0
            nextAttempt = 0
        } catch {
            // The failure may be temporary; the log records the remaining work.
            failureCount += 1
            nextAttempt = target + 1 << min(failureCount, 16)
        }
    }

    /// Makes the notifications of all events up to a durable position, and waits until they are
    /// durable.
    func catchUp(through target: SequenceNumber, _ store: Notifications) async throws(SyncError) {
        let committer = try store.writer().committer
        while true {
            // The stored state is read from the durable log, so everything that was made must be
            // durable.
            if following == nil { try await committer.waitUntilDurable(lastMade) }
            guard try position(store) < target else { break }
            // Notifications are commits too, so the notifier waits like other writers while the
            // overlay is full.
            try await committer.waitForRoom()
            try step(through: target, store)
        }
        // Another call may append while this one waits. A woken client must find everything that is
        // removed from `untold` here, because it is not woken for it again.
        var waitedFor: SequenceNumber
        repeat {
            waitedFor = lastMade
            try await committer.waitUntilDurable(waitedFor)
        } while waitedFor != lastMade
        let told = untold
        untold = []
        news.tell(about: told)
        // After the clients were woken, because dropping old notifications may read a whole
        // collection.
        for collection in told {
            guard let dropped = try retention.keepWithinBounds(collection, store) else { continue }
            lastMade = max(lastMade, dropped)
        }
        try await committer.waitUntilDurable(lastMade)
    }

    /// Makes the notifications of all events up to a durable position, and keeps that they are made:
    /// no later start reads events before it.
    func settle(through target: SequenceNumber, _ store: Notifications) async throws(SyncError) {
        try await catchUp(through: target, store)
        // Without a zone of subscriptions no position is stored: a start then begins at the end of
        // the log.
        guard var following, following.subscriptionsZone != 0,
            following.keptPosition < target
        else { return }
        lastMade = try commit(NotificationBatch(), &following, store)
        self.following = following
        try await store.writer().committer.waitUntilDurable(lastMade)
    }

    /// Returns the position up to which notifications are made; the end of the log if there are no
    /// subscriptions.
    private func position(_ store: Notifications) throws(SyncError) -> SequenceNumber {
        if let following { return following.position }
        let begun = try store.beginFollowing()
        following = begun
        return begun.position
    }

    /// Reads the next events, and appends their notifications.
    ///
    /// It awaits nothing, so no other call can interleave. If it fails, it restarts from the stored
    /// position.
    private func step(through end: SequenceNumber, _ store: Notifications) throws(SyncError) {
        guard let begun = following else { return }
        following = nil
        var reading = EventReading(begun, store, try store.reader.picture(.visible))
        try reading.read(
            through: end,
            eventLimit: Self.eventLimit,
            notificationLimit: Self.notificationLimit
        )
        var following = reading.following
        let batch = reading.batch
        let unkept = following.position - following.keptPosition
        // The position alone is stored rarely. Without notifications, reading the same events again
        // after a stop costs time and notifies nobody twice.
        if !batch.isEmpty || unkept >= Self.unkeptLimit {
            lastMade = try commit(batch, &following, store)
            for group in batch.groups {
                untold.insert(group.collection)
                retention.count(group.saves.count, in: group.collection)
            }
        }
        // Until there is a subscription, there is nothing to listen for.
        // `lastChange` may be ahead of the position: then a new subscription is still to be read.
        if following.set.isEmpty, following.position >= lastChange { wakeup.arm(false) }
        self.following = following
    }

    /// Appends notifications, the ends of subscriptions, and the new position.
    private func commit(
        _ batch: NotificationBatch,
        _ following: inout Following,
        _ store: Notifications
    ) throws(SyncError) -> SequenceNumber {
        let committer = try store.writer().committer
        while true {
            let picture = try store.reader.picture(.appended)
            let time = store.reader.now()
            let facts = picture.facts
            var plan = CommitPlan(over: facts, time: time)
            let author = Authorship(time: time, user: nil)
            for group in batch.groups {
                let change = SystemChange(zone: .notifications, saves: group.saves)
                try plan.add(change, of: group.collection, by: author, over: facts)
            }
            var deletion = SystemChange(zone: .subscriptions)
            var spent = following.spent
            var ended: [HeldSubscription] = []
            for (name, sequence) in batch.ended {
                let live = try facts.record(named: name, of: .subscriptions, in: .ofStore)
                // Another request has saved or deleted the subscription since the event that ended
                // this version. The record of that request stays, so only the version is noted as
                // spent.
                guard let live, live.sequence == sequence else {
                    spent[name] = sequence
                    continue
                }
                deletion.deletions.append(name)
                ended.append(try SubscriptionRecords.read(try live.readBody()))
            }
            try plan.add(deletion, of: .ofStore, by: author, over: facts)
            // The position is in the same commit as the notifications. After a crash either both
            // are in the log or neither is.
            let kept = NotifiedRecord(position: following.position, spent: Set(spent.values))
            let position = SystemChange(zone: .notified, saves: [try kept.save()])
            try plan.add(position, of: .ofStore, by: author, over: facts)
            plan.seal(as: Caller(database: .ofStore, user: nil), nil, outcomes: [])
            guard let placed = try committer.append(&plan) else { continue }
            // No await since the append, so no other call of this actor sees a catalog that is
            // behind the log.
            for held in ended { known?.remove(held.subscription.name, of: held.holder) }
            following.spent = spent
            following.keptPosition = following.position
            return placed.last
        }
    }

    // MARK: The subscriptions of the store

    /// Saves and deletes subscriptions of a caller.
    func modify(
        _ request: ModifySubscriptionsRequest,
        as caller: Caller,
        _ store: Notifications
    ) async throws(SyncError) -> ModifySubscriptionsResult {
        let committer = try store.writer().committer
        let content = try request.contentBytes(as: caller)
        let key = try store.writer().identity(of: caller, content)
        try await committer.waitForRoom()
        while true {
            let picture = try store.reader.picture(.appended)
            if let key, let answer = try store.writer().firstAnswer(to: key, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                return request.result(of: answer.outcomes)
            }
            let holder = try store.reader.holder(of: caller)
            let checksSchema = store.reader.options.checksSchema
            let schema = checksSchema ? try store.reader.schema(of: holder.database, picture) : nil
            var decision = try SubscriptionDecision(
                request,
                as: caller,
                holder,
                with: try catalog(store, picture)[holder],
                under: SubscriptionSchema(
                    try schema?.excerpt(of: request.queriedTypes),
                    in: holder.database.environment,
                    isStrict: store.reader.options.isStrict
                ),
                store.reader.options.limits,
                over: picture.facts,
                time: store.reader.now()
            )
            decision.plan.seal(as: caller, key, outcomes: decision.outcomes)
            if decision.plan.eventCount == 0 {
                // Also for what is absent: its deletion may not be durable yet.
                try await committer.waitUntilDurable(picture.bound)
                return request.result(of: decision.outcomes)
            }
            guard let placed = try committer.append(&decision.plan) else { continue }
            known?[decision.holder] = decision.saved(at: placed.last)
            subscriptionsChanged(placed.first, placed.last)
            try await committer.waitUntilDurable(placed.last)
            return request.result(of: decision.outcomes)
        }
    }

    /// The subscriptions of a holder, in the order of their ids' bytes.
    func subscriptions(
        of holder: SubscriptionHolder,
        _ store: Notifications
    ) async throws(SyncError) -> [Name: Subscription] {
        // The catalog includes commits that are not durable yet. The answer must not show them
        // before they are, nor lack what they delete.
        let entries = try catalog(store, try store.reader.picture(.appended))[holder]
        let last = max(lastChange, entries.values.map(\.sequence).max() ?? 0)
        try await store.writer().committer.waitUntilDurable(last)
        return entries.mapValues(\.subscription)
    }

    /// Reloads the subscriptions after an import has changed them by a commit.
    func imported(_ first: SequenceNumber, _ last: SequenceNumber) {
        known = nil
        subscriptionsChanged(first, last)
    }

    private func catalog(
        _ store: Notifications,
        _ picture: ViewPicture
    ) throws(SyncError) -> SubscriptionCatalog {
        if let known { return known }
        let found = try store.reader.subscriptionCatalog(picture)
        known = found
        return found
    }

    /// Starts to listen from a commit on, if there was nothing to listen for before.
    private func subscriptionsChanged(_ first: SequenceNumber, _ last: SequenceNumber) {
        // Without subscriptions, the events up to this commit concern nobody. So reading continues
        // right before it.
        if let position = following?.position, following?.set.isEmpty ?? false,
            lastChange <= position
        {
            following?.position = max(position, first.previous)
            // They follow the events that are left out here, so they are looked up anew.
            following?.sharers = Sharers()
        }
        lastChange = max(lastChange, last)
        wakeup.arm(true)
        ring()
    }
}

extension ModifySubscriptionsRequest {
    /// The record types of the queries that are saved.
    fileprivate var queriedTypes: [Name] {
        saves.compactMap { subscription in
            guard case .query(let query) = subscription.kind else { return nil }
            return Name(query.recordType)
        }
    }
}
