// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The decisions of a device that keeps in sync with one database.
///
/// The loop is a value: it has neither clock nor network. A driver requests the next step, performs
/// it, and passes its outcome to the loop. The driver reports all other events, such as changes that
/// the app adds, to the loop at once. The order of the steps is that of CloudKit's `CKSyncEngine`:
///
/// - A fetch gets the list of changed zones, then each zone. The app is notified of each page before
///   the next one. It receives the state to keep only after it has handled everything before it.
/// - A send operation sends zones first, then batches of records from the app, until the app has no
///   more. A batch with a record that failed is the last one.
/// - An automatic loop fetches at the beginning and whenever the server has news. It sends whenever
///   there are pending changes. After a temporary error it retries, with growing delays.
///
/// Times are milliseconds since 1970.
public struct SyncLoop: Sendable {
    /// The state to keep between two runs.
    public internal(set) var state: SyncState
    /// True if the loop fetches and sends by itself.
    public let isAutomatic: Bool

    /// The current activity.
    var activity = Activity.none
    /// The notice for the app between two steps of the activity.
    var notice: SyncNotice?
    /// The notice for the app about the account.
    var accountNotice: SyncNotice?
    var account = Account.unknown
    /// The number of times that another user may have signed in.
    var accountChangeCount = 0
    /// The edition of the state that the app knows.
    var toldEdition: Int
    /// The time of the app's first change of the state without a notice.
    var changedAt: Int64?
    var calls: [WaitingCall] = []
    var callCount = 0
    /// Answers to calls.
    var answers: [SyncStep] = []
    var schedule = Schedule()
    /// True if the server has the subscription to changes, as far as the loop knows.
    ///
    /// Not part of the state: a restore of the server, or another device of the user, may have removed
    /// the subscription since the last run.
    var isSubscribed = false
    /// True if the last fetch had to restart the list of zones.
    var hasRestarted = false
    /// True if the app has cancelled everything, and nothing has happened since.
    var isCancelled = false

    /// The status of the account since the loop began, or since the account may have changed.
    enum Account: Hashable, Sendable {
        case unknown
        case unusable
        case usable
    }

    /// A call of the app that has not been answered yet.
    struct WaitingCall: Sendable {
        enum Wish: Sendable {
            case fetch(FetchScope)
            case send(SendScope)
        }

        var call: SyncCall
        var wish: Wish
    }

    enum Activity: Sendable {
        case none
        case checkingAccount(changeCount: Int)
        case subscribing
        case fetching(FetchCycle)
        case sending(SendCycle)
    }

    /// Creates a loop from a saved state, or from an empty one.
    public init(_ state: SyncState = SyncState(), isAutomatic: Bool = true) {
        self.state = state
        self.isAutomatic = isAutomatic
        // The app knows this state, since the app has passed it.
        toldEdition = state.edition
        guard isAutomatic else { return }
        schedule.fetchAt = 0
        if hasOutgoing { schedule.sendAt = 0 }
    }

    /// True if there are pending changes to send.
    var hasOutgoing: Bool {
        !state.outgoingZones.isEmpty || !state.outgoingRecords.isEmpty || state.hasUntrackedChanges
    }
}

// MARK: - External events

extension SyncLoop {
    /// The zones to create and delete, in the order in which they were added.
    public var outgoingZones: [OutgoingZone] { state.outgoingZones.changes }

    /// Records to save and remove, in the order in which they were added.
    public var outgoingRecords: [OutgoingRecord] { state.outgoingRecords.changes }

    /// True if the app has changes to send that it did not name.
    public var hasUntrackedChanges: Bool { state.hasUntrackedChanges }

    /// Zones that have changes which were not fetched yet.
    public var unfetchedZones: [ZoneID] { state.unfetchedZones }

    /// The app's call that the current fetch or send operation serves; `nil` for automatic work.
    public var servedCall: SyncCall? {
        switch activity {
        case .fetching(let cycle): cycle.calls.first
        case .sending(let cycle): cycle.calls.first
        default: nil
        }
    }

    /// Adds changes to send, each replacing an earlier one for the same zone or record.
    public mutating func add(
        zones: [OutgoingZone] = [],
        records: [OutgoingRecord] = [],
        at now: Int64
    ) {
        guard !zones.isEmpty || !records.isEmpty else { return }
        isCancelled = false
        for zone in zones { state.outgoingZones.add(zone) }
        for record in records { state.outgoingRecords.add(record) }
        schedule.sendSoon(now)
    }

    /// Removes pending changes; a change that is being sent is still sent.
    public mutating func remove(zones: [OutgoingZone] = [], records: [OutgoingRecord] = []) {
        // A removal of what is not pending is no change of the state, and has no notice.
        for zone in zones where state.outgoingZones.contains(zone) {
            state.outgoingZones.remove(zone)
        }
        for record in records where state.outgoingRecords.contains(record) {
            state.outgoingRecords.remove(record)
        }
    }

    /// Sets whether the app has changes to send that it does not name; each `true` schedules a send.
    public mutating func setUntrackedChanges(_ isThere: Bool, at now: Int64) {
        if isThere {
            isCancelled = false
            schedule.sendSoon(now)
        }
        guard state.hasUntrackedChanges != isThere else { return }
        state.hasUntrackedChanges = isThere
    }

    /// The server has news.
    public mutating func noteServerChange(at now: Int64) {
        isCancelled = false
        schedule.fetchSoon(now)
    }

    /// Reports that another user may have signed in.
    ///
    /// The current activity ends after the current step, and resumes when the user is known.
    public mutating func noteAccountChange() {
        account = .unknown
        accountChangeCount += 1
        isCancelled = false
        let error = SyncError(
            .operationCancelled,
            "Another user may have signed in, so the operation was stopped."
        )
        switch activity {
        case .fetching(var cycle):
            let wish = WaitingCall.Wish.fetch(cycle.scope)
            // In front of the calls that came later.
            calls.insert(contentsOf: cycle.calls.map { WaitingCall(call: $0, wish: wish) }, at: 0)
            // The calls wait again, so that the end of this cycle does not answer them with the
            // cancellation.
            cycle.calls = []
            cycle.cancel(error)
            activity = .fetching(cycle)
        case .sending(var cycle):
            let wish = WaitingCall.Wish.send(cycle.scope)
            calls.insert(contentsOf: cycle.calls.map { WaitingCall(call: $0, wish: wish) }, at: 0)
            cycle.calls = []
            cycle.cancel(error)
            activity = .sending(cycle)
        default: return
        }
        guard isAutomatic else { return }
        // Time 0 is in the past. The work begins again as soon as the account was checked.
        schedule.fetchSoon(0)
        if hasOutgoing { schedule.sendSoon(0) }
    }

    /// Requests a fetch for the app.
    public mutating func fetch(_ scope: FetchScope = .all) -> SyncCall { wait(for: .fetch(scope)) }

    /// Requests a send operation for the app.
    public mutating func send(_ scope: SendScope = .all) -> SyncCall { wait(for: .send(scope)) }

    private mutating func wait(for wish: WaitingCall.Wish) -> SyncCall {
        callCount += 1
        isCancelled = false
        let call = SyncCall(number: callCount)
        calls.append(WaitingCall(call: call, wish: wish))
        return call
    }

    /// Ends the current activity after the current step, and answers all calls.
    ///
    /// The loop does not fetch or send by itself until there is news. The driver may end the step
    /// early, as `operationCancelled`.
    public mutating func cancel() {
        let error = SyncError(.operationCancelled, "The sync was cancelled.")
        schedule.cancel()
        isCancelled = true
        switch activity {
        case .fetching(var cycle):
            cycle.cancel(error)
            cycle.calls += calls.map(\.call)
            calls = []
            activity = .fetching(cycle)
        case .sending(var cycle):
            cycle.cancel(error)
            cycle.calls += calls.map(\.call)
            calls = []
            activity = .sending(cycle)
        default:
            // No cycle is left whose end would answer these calls.
            answers.append(.finish(calls.map(\.call), error))
            calls = []
        }
    }
}
