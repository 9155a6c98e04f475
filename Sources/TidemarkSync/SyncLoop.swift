// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// What a device does to stay in step with one database, as a value that decides: it knows neither
/// clock nor network, and whoever drives it does what it says.
///
/// A driver asks for the next step, does it, and hands in what came of it; whatever happens meanwhile,
/// such as the app adding changes, it tells the loop at once. The order of the steps is that of
/// CloudKit's `CKSyncEngine`:
///
/// - a fetch: the list of changed zones, then each zone, the app being told of each page before the
///   next, and of what it may remember only after it has dealt with what came before;
/// - a sending: zones first, then batches of records as the app gives them, until it has none. A batch
///   with a record that failed is the last;
/// - by itself, unless told not to: a fetch at the beginning and whenever the server has news, a sending
///   whenever there is something to send, and what failed for a passing reason again, later each time.
///
/// Times are milliseconds since 1970.
public struct SyncLoop: Sendable {
    /// What has to be remembered.
    public internal(set) var state: SyncState
    /// Whether it fetches and sends without being asked.
    public let isAutomatic: Bool

    /// What goes on.
    var activity = Activity.none
    /// What the app is being told between two steps of what goes on.
    var notice: SyncNotice?
    /// What the app will be told of the account.
    var accountNotice: SyncNotice?
    var account = Account.unknown
    /// How often somebody else may have signed in.
    var accountChangeCount = 0
    /// The edition of the state that the app knows.
    var toldEdition: Int
    /// When the app made the first change of the state that it was not told about.
    var changedAt: Int64?
    var calls: [WaitingCall] = []
    var callCount = 0
    /// Answers to calls.
    var answers: [SyncStep] = []
    var schedule = Schedule()

    /// What is known of the account since the loop began, or since it may have changed.
    enum Account: Hashable, Sendable {
        case unknown
        case unusable
        case usable
    }

    /// A call of the app that is to be answered.
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

    /// Goes on from a remembered state, or begins.
    public init(_ state: SyncState = SyncState(), isAutomatic: Bool = true) {
        self.state = state
        self.isAutomatic = isAutomatic
        toldEdition = state.edition
        guard isAutomatic else { return }
        schedule.fetchAt = 0
        if hasOutgoing { schedule.sendAt = 0 }
    }

    /// Whether something waits to be sent.
    var hasOutgoing: Bool {
        !state.outgoingZones.isEmpty || !state.outgoingRecords.isEmpty || state.hasUntrackedChanges
    }
}

// MARK: - What happens outside

extension SyncLoop {
    /// Zones to make and remove, in the order in which they were added.
    public var outgoingZones: [OutgoingZone] { state.outgoingZones.changes }

    /// Records to save and remove, in the order in which they were added.
    public var outgoingRecords: [OutgoingRecord] { state.outgoingRecords.changes }

    /// Whether the app has changes to send that it did not name.
    public var hasUntrackedChanges: Bool { state.hasUntrackedChanges }

    /// Zones that have changes which were not fetched yet.
    public var unfetchedZones: [ZoneID] { state.unfetchedZones }

    /// The call of the app that the fetch or sending is for which goes on; `nil` for what the loop does
    /// by itself.
    public var servedCall: SyncCall? {
        switch activity {
        case .fetching(let cycle): cycle.calls.first
        case .sending(let cycle): cycle.calls.first
        default: nil
        }
    }

    /// Takes in changes to send, each in the place of an earlier one of the same thing.
    public mutating func add(
        zones: [OutgoingZone] = [],
        records: [OutgoingRecord] = [],
        at now: Int64
    ) {
        guard !zones.isEmpty || !records.isEmpty else { return }
        for zone in zones { state.outgoingZones.add(zone) }
        for record in records { state.outgoingRecords.add(record) }
        schedule.sendSoon(now)
    }

    /// Takes changes out that are not to be sent after all; what is on its way is sent.
    public mutating func remove(zones: [OutgoingZone] = [], records: [OutgoingRecord] = []) {
        for zone in zones { state.outgoingZones.remove(zone) }
        for record in records { state.outgoingRecords.remove(record) }
    }

    /// Says whether the app has changes to send that it does not name.
    public mutating func setUntrackedChanges(_ isThere: Bool, at now: Int64) {
        guard state.hasUntrackedChanges != isThere else { return }
        state.hasUntrackedChanges = isThere
        if isThere { schedule.sendSoon(now) }
    }

    /// The server has news.
    public mutating func noteServerChange(at now: Int64) { schedule.fetchSoon(now) }

    /// Somebody else may be signed in: what goes on ends after the step that is being done, and is taken
    /// up again once it is known who it is.
    public mutating func noteAccountChange() {
        account = .unknown
        accountChangeCount += 1
        let error = SyncError(.operationCancelled, "Somebody else may have signed in meanwhile.")
        switch activity {
        case .fetching(var cycle):
            let wish = WaitingCall.Wish.fetch(cycle.scope)
            calls.insert(contentsOf: cycle.calls.map { WaitingCall(call: $0, wish: wish) }, at: 0)
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
        schedule.fetchSoon(0)
        if hasOutgoing { schedule.sendSoon(0) }
    }

    /// The app asks for a fetch.
    public mutating func fetch(_ scope: FetchScope = .all) -> SyncCall { wait(for: .fetch(scope)) }

    /// The app asks for a sending.
    public mutating func send(_ scope: SendScope = .all) -> SyncCall { wait(for: .send(scope)) }

    private mutating func wait(for wish: WaitingCall.Wish) -> SyncCall {
        callCount += 1
        let call = SyncCall(number: callCount)
        calls.append(WaitingCall(call: call, wish: wish))
        return call
    }

    /// Ends what goes on after the step that is being done, answers all calls, and fetches and sends
    /// nothing by itself before there is news.
    ///
    /// The driver may cut the step short, as `operationCancelled`.
    public mutating func cancel() {
        let error = SyncError(.operationCancelled, "The synchronisation was cancelled.")
        schedule.cancel()
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
            answers.append(.finish(calls.map(\.call), error))
            calls = []
        }
    }
}
