// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// One fetch, from its announcement to its end.
struct FetchCycle: Sendable {
    /// A page of a delta that the app receives or has received.
    struct Page: Sendable {
        var token: ChangeToken
        var moreComing: Bool
        /// The zones that the device has, and that the whole list of zones lacks.
        var missing: [ZoneID] = []
    }

    /// A request that follows the question for the app's options.
    enum Request: Sendable {
        case list
        case zone(ZoneID)
        /// The first page of the zone that comes next by the options.
        case nextZone
    }

    enum Stage: Sendable {
        case announcing
        case askingOptions(before: Request)
        case listing
        case tellingList(Page, changed: [ZoneID], deleted: [ZoneID])
        case announcingZone(ZoneID)
        case fetchingZone(ZoneID)
        case tellingZone(ZoneID, Page)
        case concludingZone(ZoneID, SyncError?)
        case concluding
    }

    var reason: SyncReason
    var calls: [SyncCall]
    /// The scope with which the fetch began.
    let scope: FetchScope
    /// The zones to fetch, by the app's latest options.
    private var wantedScope: FetchScope
    /// The zones that are fetched before others, by the app's latest options.
    private var first: [ZoneID] = []
    /// Zones that were dealt with.
    private var attempted: Set<ZoneID> = []
    /// The zones that were restarted because their token had expired.
    ///
    /// Each zone is restarted only once, so that the fetch always ends.
    private var restartedZones: Set<ZoneID> = []
    /// True if the list of zones was restarted, because its token had expired.
    private(set) var hasRestarted = false
    var stage = Stage.announcing
    private(set) var failure: SyncError?
    /// The first failure that may pass.
    private(set) var passingFailure: SyncError?
    private(set) var isCancelled = false

    init(reason: SyncReason, calls: [SyncCall] = [], scope: FetchScope) {
        self.reason = reason
        self.calls = calls
        self.scope = scope
        wantedScope = scope
    }

    /// Ends it after the step that is being done.
    mutating func cancel(_ error: SyncError) {
        failure = error
        isCancelled = true
    }

    private mutating func note(_ error: SyncError) {
        failure = failure ?? error
        if error.code.isPassing { passingFailure = passingFailure ?? error }
    }

    /// Returns the next step.
    func step(_ state: SyncState) -> SyncStep {
        switch stage {
        case .announcing: .tell(.willFetch(reason, scope))
        case .askingOptions: .askFetchOptions(reason, scope)
        case .listing: .fetchZoneList(since: state.databaseToken)
        case .tellingList(let page, _, _): .tell(.fetchedZoneList(missing: page.missing))
        case .announcingZone(let zone): .tell(.willFetchZone(zone))
        case .fetchingZone(let zone): .fetchZoneChanges(zone, since: state.zoneTokens[zone])
        case .tellingZone(let zone, _): .tell(.fetchedZoneChanges(zone))
        case .concludingZone(let zone, let error): .tell(.didFetchZone(zone, error))
        case .concluding: .tell(.didFetch(reason, scope))
        }
    }

    /// True if the app has not yet been notified of changes that the state will include.
    var isTelling: Bool {
        switch stage {
        case .tellingList, .tellingZone: true
        default: false
        }
    }

    /// Takes the outcome of the step; returns true if the cycle is over.
    mutating func take(_ outcome: SyncOutcome, _ state: inout SyncState) -> Bool {
        switch (stage, outcome) {
        case (.announcing, _):
            stage = isCancelled ? .concluding : .askingOptions(before: .list)
        case (.askingOptions(let request), .fetchOptions(let scope, let first)):
            wantedScope = scope
            self.first = first
            stage = self.stage(of: request, state)
        case (.askingOptions(let request), _):
            stage = self.stage(of: request, state)
        case (.listing, .zoneList(let changed, let deleted, let token, let moreComing)):
            var page = Page(token: token, moreComing: moreComing)
            if !moreComing, let listed = state.relistedZones?.union(changed) {
                page.missing = state.knownZones.subtracting(listed).subtracting(deleted).sorted()
            }
            stage = .tellingList(page, changed: changed, deleted: deleted + page.missing)
            // A page without zones needs no notice.
            if changed.isEmpty, deleted.isEmpty, page.missing.isEmpty { return take(.done, &state) }
        case (.listing, .failed(let error)):
            if error.code == .changeTokenExpired, state.databaseToken != nil, !hasRestarted,
                !isCancelled
            {
                // The stage stays, so the next step requests the whole list. It has no zones that have
                // ended: those are the ones that it lacks. The tokens of the others are kept: each
                // is checked by its own fetch.
                hasRestarted = true
                state.relistedZones = []
                state.databaseToken = nil
            } else {
                note(error)
                stage = .concluding
            }
        case (.tellingList(let page, let changed, let deleted), _):
            // The token moves only after the app has handled the page. A state that is saved with
            // an earlier move would skip the page after a crash.
            state.take(changed: changed, deleted: deleted, token: page.token)
            state.relist(page.moreComing ? changed : nil)
            stage =
                page.moreComing && !isCancelled ? .askingOptions(before: .list) : choice(state)
        case (.announcingZone(let zone), _):
            stage = isCancelled ? .concludingZone(zone, failure) : .fetchingZone(zone)
        case (.fetchingZone(let zone), .zoneChanges(let isEmpty, let token, let moreComing)):
            stage = .tellingZone(zone, Page(token: token, moreComing: moreComing))
            if isEmpty { return take(.done, &state) }
        case (.fetchingZone(let zone), .failed(let error)):
            fail(zone, error, &state)
        case (.tellingZone(let zone, let page), _):
            // After the app has handled the page, for the same reason as with the list.
            state.zoneTokens[zone] = page.token
            if page.moreComing, !isCancelled {
                stage = .askingOptions(before: .zone(zone))
            } else {
                // A cancelled zone stays unfetched. The next fetch continues from the token of its
                // last page.
                if !page.moreComing { state.unfetchedZones.removeAll { $0 == zone } }
                stage = .concludingZone(zone, page.moreComing ? failure : nil)
            }
        case (.concludingZone(_, let error), _):
            // A temporary error would probably stop the next zones too. Any other error concerns
            // this zone only.
            let isOver = isCancelled || error.map(\.code.isPassing) ?? false
            stage = isOver ? .concluding : choice(state)
        case (.concluding, _):
            return true
        case (.listing, _), (.fetchingZone, _):
            preconditionFailure("A fetch cannot continue with \(outcome) at \(stage).")
        }
        return false
    }

    private mutating func fail(_ zone: ZoneID, _ error: SyncError, _ state: inout SyncState) {
        if error.code == .changeTokenExpired, state.zoneTokens[zone] != nil, !isCancelled,
            restartedZones.insert(zone).inserted
        {
            // The stage stays, so the next step fetches this zone again from its beginning.
            state.zoneTokens[zone] = nil
            return
        }
        if error.code == .zoneNotFound || error.code == .userDeletedZone {
            // The end of the zone is reported with the list of zones. The token stays until then: by it,
            // a whole list is known to lack the zone.
            state.unfetchedZones.removeAll { $0 == zone }
        } else {
            note(error)
            // The next fetch begins with the other zones: this one may fail each time.
            if state.unfetchedZones.last != zone {
                state.unfetchedZones = state.unfetchedZones.filter { $0 != zone } + [zone]
            }
        }
        stage = .concludingZone(zone, error)
    }

    /// Returns the stage that follows the app's options.
    private mutating func stage(of request: Request, _ state: SyncState) -> Stage {
        switch request {
        case .list: isCancelled ? .concluding : .listing
        // The zone was announced, so its end is reported as well, whatever the options say now.
        case .zone(let zone): isCancelled ? .concludingZone(zone, failure) : .fetchingZone(zone)
        case .nextZone: nextZone(state)
        }
    }

    /// Returns the stage before the next zone is chosen.
    private func choice(_ state: SyncState) -> Stage {
        // Also for zones outside the current scope: the next options may include them.
        let hasZones = state.unfetchedZones.contains { !attempted.contains($0) }
        return hasZones && !isCancelled ? .askingOptions(before: .nextZone) : .concluding
    }

    private mutating func nextZone(_ state: SyncState) -> Stage {
        let urgent = first.first { isWanted($0) && state.unfetchedZones.contains($0) }
        guard !isCancelled, let zone = urgent ?? state.unfetchedZones.first(where: isWanted) else {
            return .concluding
        }
        attempted.insert(zone)
        return .announcingZone(zone)
    }

    /// True if the cycle fetches a zone and has not tried to.
    private func isWanted(_ zone: ZoneID) -> Bool {
        wantedScope.contains(zone) && !attempted.contains(zone)
    }
}

extension SyncState {
    /// The zones that were fetched or are to be.
    fileprivate var knownZones: Set<ZoneID> { Set(zoneTokens.keys).union(unfetchedZones) }

    /// Notes zones of a whole list, of which further pages come; without zones, that it has ended.
    fileprivate mutating func relist(_ zones: [ZoneID]?) {
        guard let known = relistedZones else { return }
        relistedZones = zones.map { known.union($0) }
    }

    /// Takes a page of the list of changed zones.
    ///
    /// The default zone is left out: its changes cannot be fetched from a token.
    fileprivate mutating func take(changed: [ZoneID], deleted: [ZoneID], token: ChangeToken) {
        for zone in deleted {
            unfetchedZones.removeAll { $0 == zone }
            zoneTokens[zone] = nil
        }
        for zone in changed where zone.zoneName != ZoneID.defaultZoneName {
            if !unfetchedZones.contains(zone) { unfetchedZones.append(zone) }
        }
        databaseToken = token
    }
}
