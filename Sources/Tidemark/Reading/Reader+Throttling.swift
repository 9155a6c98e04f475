// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Reader {
    /// Rejects inadmissible requests before anything is read: names that break a rule, containers
    /// that are closed, calls whose task was cancelled, and requests beyond the caller's rate.
    func admit(_ caller: Caller) throws(SyncError) {
        try options.limits.check(caller)
        // Before anything is looked up: a container that is not served has no state that an answer
        // could depend on.
        if let open = options.containers, !open.contains(caller.database.container) {
            throw SyncError(
                .badContainer,
                "The store does not serve the container \(caller.database.container.identifier)."
            )
        }
        if !mayAskServer(caller.authentication), caller.database.container == .server {
            throw SyncError(
                .badContainer,
                "The container \(ContainerID.server.identifier) is reserved for the server."
            )
        }
        if options.requiresAuthentication, caller.user != nil, caller.authentication == .inProcess {
            throw SyncError(
                .notAuthenticated,
                "The store requires authentication, but the request does not say how its user was "
                    + "authenticated."
            )
        }
        if Task.isCancelled {
            throw SyncError(
                .operationCancelled,
                "The task was cancelled before the request began; nothing was done."
            )
        }
        // Last, so that requests that are rejected above do not count.
        try checkRate(of: caller)
    }

    /// Returns true if a caller with an authentication may use data that a server reserves for
    /// itself.
    ///
    /// These callers are an administrator, and a process that has the store open only for itself.
    private func mayAskServer(_ authentication: Authentication) -> Bool {
        switch authentication {
        case .administrator: true
        case .inProcess: !options.requiresAuthentication
        case .session, .serverKey, .identityProvider: false
        }
    }

    /// Counts a request, and rejects it if its user exceeds the rate on its device.
    ///
    /// Costs nothing if no rate is set.
    private func checkRate(of caller: Caller) throws(SyncError) {
        guard let rate = options.throttling.requestsPerDevice else { return }
        let time = now()
        guard let wait = requests.withLock({ $0.take(caller, rate, at: time) }) else { return }
        throw SyncError(
            .requestRateLimited,
            "The caller has made \(rate.requestCount) requests in \(rate.period.inSeconds) "
                + "seconds, which is the limit.",
            retryAfter: Duration(clampingSeconds: wait)
        )
    }
}

extension DatabaseID {
    /// The database that zones of an owner are in, for a caller of this one: a shared database is a
    /// window on private ones.
    internal func ofZones(_ owner: String) -> DatabaseID {
        guard scope == .shared, owner != ZoneID.currentOwner else { return self }
        return sibling(.private, of: UserID(owner))
    }
}

extension RequestCounts.Refusal {
    /// The error for the caller.
    internal func error(retryAfter: Duration) -> SyncError {
        switch self {
        case .store:
            SyncError(
                .serviceUnavailable,
                "The number of requests that write to the store at a time has reached its limit.",
                retryAfter: retryAfter
            )
        case .zone(let zone):
            SyncError(
                .zoneBusy,
                "The number of requests that write to the zone \(zone.zoneName) at a time has "
                    + "reached its limit.",
                retryAfter: retryAfter
            )
        }
    }
}

extension ModifyRecordsRequest {
    /// The zones of all items, some of them more than once.
    var zones: [ZoneID] { saves.map(\.recordID.zone) + deletions.map(\.recordID.zone) }
}
