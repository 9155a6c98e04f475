// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkLock
import TidemarkModel
import TidemarkSync

/// The driver of a sync loop, which performs one step after another and calls the delegate.
final class SyncEngineDriver: Sendable {
    private typealias Waiting = CheckedContinuation<CKError?, Never>

    private struct Guarded {
        var loop: SyncLoop
        /// Calls of the app that wait.
        var waiting: [SyncCall: Waiting] = [:]
        var fetchOptions: [SyncCall: CKSyncEngine.FetchChangesOptions] = [:]
        var sendOptions: [SyncCall: CKSyncEngine.SendChangesOptions] = [:]
        /// The zones to save as the app added them, since the loop has only their names.
        var zones: [ZoneID: CKRecordZone] = [:]
        /// The running request to the server.
        var running: Task<SyncEngineServerStep.Answer, Never>?
        /// The run, while there is nothing to do.
        var sleeper: CheckedContinuation<Void, Never>?
        /// True if something happened since the run last checked.
        var isAwake = false
        /// The callers that wait until there is nothing to do.
        var restWaiting: [CheckedContinuation<Void, Never>] = []
        /// The task that receives the server's news.
        var listening: Task<Void, Never>?
        /// The identity of the task in which the delegate is called.
        var runIdentity: Int?
        var accountWatch: AccountWatch?
        /// The user who was signed in when the last check of the account began.
        var account: CheckedAccount?
        /// The number of times that the zones with changes were fetched.
        var zoneListCount = 0
        var isEnded = false
    }

    private let guarded: Lock<Guarded>
    private let serverStep: SyncEngineServerStep
    private let delegate: Delegate

    /// The delegate, which the engine does not keep alive.
    ///
    /// Unchecked: set once, and weak references are read and cleared atomically.
    private final class Delegate: @unchecked Sendable {
        weak var value: (any CKSyncEngineDelegate)?

        init(_ value: any CKSyncEngineDelegate) {
            self.value = value
        }
    }

    init(_ configuration: CKSyncEngine.Configuration) {
        let state = configuration.stateSerialization?.state ?? SyncState()
        guarded = Lock(
            Guarded(loop: SyncLoop(state, isAutomatic: configuration.automaticallySync))
        )
        serverStep = SyncEngineServerStep(
            database: configuration.database,
            subscriptionID: configuration.subscriptionID
        )
        delegate = Delegate(configuration.delegate)
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    private var device: TidemarkDevice { serverStep.database.device }
}

// MARK: - Actions of the app

extension SyncEngineDriver {
    /// Begins to perform the loop's steps, as long as there are an engine and a delegate.
    func begin(for engine: CKSyncEngine) {
        // The run retains the driver, but neither the engine nor the delegate. The engine's
        // `deinit` calls `end()`, after which the run returns.
        let watch = AccountWatch(device) { [weak self] in
            self?.change { loop, _ in loop.noteAccountChange() }
        }
        let reference = EngineReference(engine)
        guarded.withLock { $0.accountWatch = watch }
        // Nothing cancels this task: after `end()` it answers the calls that wait, and returns.
        Task(executorPreference: OwnThreads.shared) { [device] in
            // The delegate runs in this task, so containers that it creates belong to the device.
            await TidemarkDevice.$bound.withValue(device) { await self.run(reference) }
        }
    }

    /// Does nothing more; calls that wait fail.
    func end() {
        guarded.withLock { guarded in
            guarded.isEnded = true
            guarded.loop.cancel()
            guarded.running?.cancel()
            guarded.accountWatch = nil
            guarded.listening?.cancel()
        }
        wake()
    }

    func look<Answer>(_ body: (SyncLoop) -> Answer) -> Answer {
        guarded.withLock { body($0.loop) }
    }

    /// Reports an event with its time to the loop.
    func change(_ body: (inout SyncLoop, Int64) -> Void) {
        let now = Self.now
        guarded.withLock { body(&$0.loop, now) }
        wake()
    }

    /// The zones to create and delete, those to create as the app added them.
    var pendingZones: [CKSyncEngine.PendingDatabaseChange] {
        guarded.withLock { guarded in
            guarded.loop.outgoingZones.map { .init($0, guarded.zones) }
        }
    }

    func add(_ changes: [CKSyncEngine.PendingDatabaseChange]) {
        let now = Self.now
        guarded.withLock { guarded in
            let pending = Set(guarded.loop.outgoingZones.map(\.id))
            guarded.zones = guarded.zones.filter { pending.contains($0.key) }
            for case .saveZone(let zone) in changes { guarded.zones[zone.zoneID.model] = zone }
            guarded.loop.add(zones: changes.map(\.model), at: now)
        }
        wake()
    }

    func fetch(_ options: CKSyncEngine.FetchChangesOptions) async throws {
        try await wait("fetchChanges") { guarded in
            let call = guarded.loop.fetch(options.scope.model)
            guarded.fetchOptions[call] = options
            return call
        }
    }

    func send(_ options: CKSyncEngine.SendChangesOptions) async throws {
        try await wait("sendChanges") { guarded in
            let call = guarded.loop.send(options.scope.model)
            guarded.sendOptions[call] = options
            return call
        }
    }

    private func wait(_ name: String, _ begin: (inout Guarded) -> SyncCall) async throws {
        // The delegate is called in the task of the run, so a callback that awaits this call has
        // the run's identity. A task that the callback creates has another: if the callback awaits
        // that task, both wait forever.
        let identity = withUnsafeCurrentTask { $0?.hashValue }
        if let identity, guarded.withLock({ $0.runIdentity }) == identity {
            throw CKError(
                .invalidArguments,
                "\(name)() cannot be awaited in a callback of the engine's delegate, because each "
                    + "would wait for the other. Start it in a task of its own, or change the "
                    + "state and let the engine do it."
            )
        }
        let error = await withCheckedContinuation { (waiting: Waiting) in
            // `end()` sets `isEnded` and cancels the loop in one critical section. A call is
            // therefore either registered before and answered by the loop, or rejected here.
            let isEnded = guarded.withLock { guarded in
                if !guarded.isEnded {
                    let call = begin(&guarded)
                    guarded.waiting[call] = waiting
                }
                return guarded.isEnded
            }
            if isEnded {
                waiting.resume(returning: CKError(.operationCancelled, "The engine has ended."))
            } else {
                wake()
            }
        }
        if let error { throw error }
    }

    func cancel() async {
        let running = guarded.withLock { guarded in
            guarded.loop.cancel()
            return guarded.running
        }
        // The loop ends after its current step. Cancelling the request ends that step at once.
        running?.cancel()
        let identity = withUnsafeCurrentTask { $0?.hashValue }
        await withCheckedContinuation { waiting in
            let isOver = guarded.withLock { guarded in
                // A callback of the delegate must not wait for its own end.
                let isOver = guarded.isEnded || guarded.runIdentity == identity
                if !isOver { guarded.restWaiting.append(waiting) }
                return isOver
            }
            if isOver { waiting.resume() }
            // A sleeping run has to wake up and find nothing to do: only then `rest(until:)` resumes
            // this waiter.
            wake()
        }
    }
}

// MARK: - Steps of the loop

/// Observes changes of a device's account, as long as the device exists.
///
/// Unchecked: immutable, and a notification center can be used on any thread.
private final class AccountWatch: @unchecked Sendable {
    private let observer: any NSObjectProtocol

    init(_ device: TidemarkDevice, _ body: @escaping @Sendable () -> Void) {
        // For this device only: a process may have several, each with its own account.
        observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged,
            object: device,
            queue: nil
        ) { _ in body() }
    }

    deinit {
        NotificationCenter.default.removeObserver(observer)
    }
}

/// An engine that is not kept alive.
///
/// Unchecked: set once, and weak references are read and cleared atomically.
private final class EngineReference: @unchecked Sendable {
    weak var engine: CKSyncEngine?

    init(_ engine: CKSyncEngine) {
        self.engine = engine
    }
}

extension SyncEngineDriver {
    private func run(_ reference: EngineReference) async {
        let identity = withUnsafeCurrentTask { $0?.hashValue }
        guarded.withLock { $0.runIdentity = identity }
        // The result of the last request. The loop notifies the app of a result and answers calls
        // before it requests the next server step, so one variable is enough.
        var content = SyncEngineServerStep.Content.none
        var batch: CKSyncEngine.RecordZoneChangeBatch?
        while true {
            let (step, isEnded) = guarded.withLock { guarded in
                (guarded.loop.nextStep(at: Self.now), guarded.isEnded)
            }
            switch step {
            case .wait(let time):
                if isEnded { break }
                await rest(until: time)
                continue
            case .finish(let calls, let error):
                finish(calls, error, content)
                continue
            case .tell(let notice):
                if !isEnded, let engine = reference.engine, let delegate = delegate.value {
                    let event = event(notice, content)
                    await delegate.handleEvent(event, syncEngine: engine)
                }
                // If the engine or the delegate is gone, the notice counts as handled, so that the
                // loop can end. The tokens that it moves are harmless: no state is delivered to the
                // app either.
                take(.done)
                continue
            case .askFetchOptions(let reason, let scope):
                take(await fetchOptions(reason, scope, reference))
                continue
            case .askBatch(let reason, let scope):
                // No batch ends the send operation; the changes stay pending.
                batch = nil
                if !isEnded, let engine = reference.engine, let delegate = delegate.value {
                    let context = sendContext(reason, scope)
                    batch = await delegate.nextRecordZoneChangeBatch(context, syncEngine: engine)
                }
                take(.batch(batch?.model))
                continue
            case .checkAccount, .subscribe, .fetchZoneList, .fetchZoneChanges, .sendZones,
                .sendBatch:
                let answer = await answer(step, batch)
                content = answer.content
                take(answer.outcome)
                // The check may have found another user, whose notifications are in another feed.
                if step == .checkAccount { listen() }
                continue
            }
            break
        }
        // These called `cancel()` after the last rest.
        for waiting in guarded.withLock({ takeRest(&$0) }) { waiting.resume() }
    }

    private func take(_ outcome: SyncOutcome) {
        guarded.withLock { $0.loop.take(outcome, at: Self.now) }
    }

    /// Sends the request of a step, in the operation group that the app wants, until it is
    /// cancelled.
    private func answer(
        _ step: SyncStep,
        _ batch: CKSyncEngine.RecordZoneChangeBatch?
    ) async -> SyncEngineServerStep.Answer {
        let (group, account) = guarded.withLock { guarded in
            if step == .checkAccount { guarded.account = CheckedAccount(user: device.userID) }
            if case .fetchZoneList = step { guarded.zoneListCount += 1 }
            let group = guarded.loop.servedCall.flatMap { call in
                guarded.fetchOptions[call]?.operationGroup
                    ?? guarded.sendOptions[call]?.operationGroup
            }
            return (group, guarded.account)
        }
        let serverStep = serverStep.inGroup(group, as: account)
        let zones = guarded.withLock { $0.zones }
        // A task of its own: `cancel()` and `end()` stop the request without stopping the run.
        let running = Task(executorPreference: OwnThreads.shared) {
            await serverStep.answer(step, batch, zones)
        }
        guarded.withLock { $0.running = running }
        defer { guarded.withLock { $0.running = nil } }
        // `end()` may have come before `running` was set, and then found no request to cancel.
        if guarded.withLock({ $0.isEnded }) { running.cancel() }
        return await running.value
    }

    private func fetchOptions(
        _ reason: SyncReason,
        _ scope: FetchScope,
        _ reference: EngineReference
    ) async -> SyncOutcome {
        let context = fetchContext(reason, scope)
        guard let engine = reference.engine, let delegate = delegate.value else {
            return .fetchOptions(scope, first: [])
        }
        let options = await delegate.nextFetchChangesOptions(context, syncEngine: engine)
        return .fetchOptions(options.scope.model, first: options.prioritizedZoneIDs.map(\.model))
    }

    private func finish(
        _ calls: [SyncCall],
        _ error: SyncError?,
        _ content: SyncEngineServerStep.Content
    ) {
        let waiting = guarded.withLock { guarded in
            for call in calls {
                guarded.fetchOptions[call] = nil
                guarded.sendOptions[call] = nil
            }
            return calls.compactMap { guarded.waiting.removeValue(forKey: $0) }
        }
        // The loop's error has codes and texts. The result of the last request has the whole error
        // of each item, with the records of a conflict.
        let error = error.map { error in
            error.code == .partialFailure ? content.failure ?? CKError(error) : CKError(error)
        }
        for waiting in waiting { waiting.resume(returning: error) }
    }

    /// Subscribes to changes on the server, if the loop fetches automatically.
    private func listen() {
        let database = serverStep.database
        let old = guarded.withLock { $0.listening }
        old?.cancel()
        let isAgain = old != nil
        let zoneListCount = guarded.withLock(\.zoneListCount)
        // A manual engine fetches when the app calls. Without a user there are no notifications.
        guard look({ $0.isAutomatic }), device.userID != nil else { return }
        let scope = database.databaseScope.model
        let listening = Task(executorPreference: OwnThreads.shared) { [weak self, device] in
            await keepHearing { () async throws(SyncError) in
                let caller = try await device.caller(of: database.container, .private)
                let service = try await device.cloud.service()
                return (try await service.notifications(as: caller), caller.user)
            } _: { feed, hasMissed in
                let (pushes, user) = feed
                // Changes before this point were not reported. A list of zones that was fetched meanwhile
                // may be older than the feed.
                let hasFetched = self?.guarded.withLock(\.zoneListCount) != zoneListCount
                if hasMissed || isAgain || hasFetched {
                    self?.change { $0.noteServerChange(at: $1) }
                }
                for try await push in pushes where push.notification.user == user {
                    guard let self, !Task.isCancelled else { return }
                    // A pruned notification has no scope. A fetch without changes is better than a
                    // missed change.
                    let pushed = push.notification.scope ?? scope
                    if pushed == scope { self.change { $0.noteServerChange(at: $1) } }
                }
            }
        }
        guarded.withLock { guarded in
            guarded.listening = listening
            if guarded.isEnded { listening.cancel() }
        }
    }
}

// MARK: - Waiting

extension SyncEngineDriver {
    /// Waits until something happens, or a time.
    private func rest(until time: Int64?) async {
        // The loop has nothing to do, so everything that was cancelled has ended.
        for waiting in guarded.withLock({ takeRest(&$0) }) { waiting.resume() }
        let timer = time.map { time in
            Task(executorPreference: OwnThreads.shared) { [weak self] in
                let wait = max(0, time - Self.now)
                await pause(seconds: Double(wait) / 1000)
                if !Task.isCancelled { self?.wake() }
            }
        }
        await withCheckedContinuation { sleeper in
            let isAwake = guarded.withLock { guarded in
                defer { guarded.isAwake = false }
                // An event after the loop chose to wait found no sleeper, and set `isAwake`. The
                // run must not sleep then: the next event may be far away.
                if !guarded.isAwake { guarded.sleeper = sleeper }
                return guarded.isAwake
            }
            if isAwake { sleeper.resume() }
        }
        timer?.cancel()
    }

    private func takeRest(_ guarded: inout Guarded) -> [CheckedContinuation<Void, Never>] {
        defer { guarded.restWaiting = [] }
        return guarded.restWaiting
    }

    private func wake() {
        let sleeper = guarded.withLock { guarded in
            guarded.isAwake = guarded.sleeper == nil
            defer { guarded.sleeper = nil }
            return guarded.sleeper
        }
        sleeper?.resume()
    }
}

// MARK: - Events

extension SyncEngineDriver {
    private func fetchContext(
        _ reason: SyncReason,
        _ scope: FetchScope
    ) -> CKSyncEngine.FetchChangesContext {
        let asked = guarded.withLock { guarded in
            guarded.loop.servedCall.flatMap { guarded.fetchOptions[$0] }
        }
        let options = asked ?? CKSyncEngine.FetchChangesOptions(scope: .init(scope))
        return CKSyncEngine.FetchChangesContext(reason: .init(reason), options: options)
    }

    private func sendContext(
        _ reason: SyncReason,
        _ scope: SendScope
    ) -> CKSyncEngine.SendChangesContext {
        let asked = guarded.withLock { guarded in
            guarded.loop.servedCall.flatMap { guarded.sendOptions[$0] }
        }
        let options = asked ?? CKSyncEngine.SendChangesOptions(scope: .init(scope))
        return CKSyncEngine.SendChangesContext(reason: .init(reason), options: options)
    }

    private func event(
        _ notice: SyncNotice,
        _ content: SyncEngineServerStep.Content
    ) -> CKSyncEngine.Event {
        switch notice {
        case .stateChanged:
            return .stateUpdate(.init(stateSerialization: .init(look(\.state))))
        case .accountChanged(let old, let new):
            return .accountChange(.init(changeType: .init(from: old, to: new)))
        case .willFetch(let reason, let scope):
            return .willFetchChanges(.init(context: fetchContext(reason, scope)))
        case .fetchedZoneList(let missing):
            guard case .zoneList(let page) = content else { break }
            let ended = missing.map { zone in
                CKDatabase.DatabaseChange.Deletion(zoneID: CKRecordZone.ID(zone), reason: .deleted)
            }
            return .fetchedDatabaseChanges(
                .init(modifications: page.modifications, deletions: page.deletions + ended)
            )
        case .willFetchZone(let zone):
            return .willFetchRecordZoneChanges(.init(zoneID: CKRecordZone.ID(zone)))
        case .fetchedZoneChanges:
            guard case .records(let event) = content else { break }
            return .fetchedRecordZoneChanges(event)
        case .didFetchZone(let zone, let error):
            let failure = error.map { CKError($0) }
            return .didFetchRecordZoneChanges(.init(zoneID: CKRecordZone.ID(zone), error: failure))
        case .didFetch(let reason, let scope):
            return .didFetchChanges(.init(context: fetchContext(reason, scope)))
        case .willSend(let reason, let scope):
            return .willSendChanges(.init(context: sendContext(reason, scope)))
        case .sentZones:
            guard case .sentZones(let event) = content else { break }
            return .sentDatabaseChanges(event)
        case .sentBatch:
            guard case .sentBatch(let event) = content else { break }
            return .sentRecordZoneChanges(event)
        case .didSend(let reason, let scope):
            return .didSendChanges(.init(context: sendContext(reason, scope)))
        }
        preconditionFailure("The loop tells of \(notice), which is not what came last.")
    }
}

extension CKSyncEngine.Event.AccountChange.ChangeType {
    fileprivate init(from old: UserID?, to new: UserID?) {
        switch (old, new) {
        case (let old?, let new?):
            self = .switchAccounts(previousUser: CKRecord.ID(old), currentUser: CKRecord.ID(new))
        case (let old?, nil): self = .signOut(previousUser: CKRecord.ID(old))
        // Both are never `nil`: the loop reports a user only if it differs from the previous one.
        case (nil, let new): self = .signIn(currentUser: CKRecord.ID(new ?? .current))
        }
    }
}

extension SyncEngineServerStep {
    /// Returns the same executor of steps, with operations in a group and of a user.
    ///
    /// If another user signs in meanwhile, the step still ends as the user whose changes it sends.
    fileprivate func inGroup(
        _ group: CKOperationGroup?,
        as account: CheckedAccount?
    ) -> SyncEngineServerStep {
        var defaults = database.defaults.inside(nil, group)
        defaults.account = account
        let own = CKDatabase(database.databaseScope, of: database.container, device, defaults)
        return SyncEngineServerStep(
            database: own,
            subscriptionID: subscriptionID,
            account: account
        )
    }

    private var device: TidemarkDevice { database.device }
}

extension SyncEngineServerStep.Content {
    /// The error of a call whose last request failed in part: the items with their errors.
    fileprivate var failure: CKError? {
        var errors: [AnyHashable: any Error] = [:]
        switch self {
        case .sentZones(let event):
            for failed in event.failedZoneSaves { errors[failed.zone.zoneID] = failed.error }
            for (id, error) in event.failedZoneDeletes { errors[id] = error }
        case .sentBatch(let event):
            for failed in event.failedRecordSaves { errors[failed.record.recordID] = failed.error }
            for (id, error) in event.failedRecordDeletes { errors[id] = error }
        default: break
        }
        return CKError.ofItems(errors)
    }
}
