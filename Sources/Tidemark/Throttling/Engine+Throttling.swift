// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Engine {
    /// Refuses what no caller may ask, before anything is looked at: names that break a rule,
    /// containers that are closed, calls whose task was cancelled, and more than the caller may ask.
    func admit(_ caller: Caller) throws(SyncError) {
        try options.limits.check(caller)
        if let open = options.containers, !open.contains(caller.database.container) {
            throw SyncError(
                .badContainer,
                "The store does not serve the container \(caller.database.container.identifier)."
            )
        }
        if Task.isCancelled {
            throw SyncError(
                .operationCancelled,
                "The task was cancelled before the request began; nothing was done."
            )
        }
        try checkRate(of: caller)
    }

    /// Counts a request, and refuses it if its user asks too much from its device.
    ///
    /// Costs nothing where no rate is set.
    private func checkRate(of caller: Caller) throws(SyncError) {
        guard let rate = options.throttling.requestsPerDevice else { return }
        let time = now()
        guard let wait = requests.withLock({ $0.take(caller, rate, at: time) }) else { return }
        throw SyncError(
            .requestRateLimited,
            "The caller has made \(rate.requestCount) requests in \(rate.seconds) seconds, which is "
                + "all that is allowed.",
            retryAfter: wait
        )
    }

    /// Does a write, unless too many are under way in the store or in one of its zones.
    ///
    /// Costs nothing where neither is limited.
    func write<Answer>(
        in zones: @autoclosure () -> [ZoneID],
        as caller: Caller,
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let throttling = options.throttling
        guard throttling.writesPerZone != nil || throttling.writesPerStore != nil else {
            return try await body()
        }
        let zones = Set(zones()).map { zone in
            ZoneIdentity(database: caller.database.ofZones(zone.ownerName), zoneName: zone.name)
        }
        if let refusal = requests.withLock({ $0.begin(zones, throttling) }) {
            throw refusal.error(retryAfter: throttling.retryAfter)
        }
        defer { requests.withLock { $0.end(zones) } }
        return try await body()
    }
}

extension DatabaseID {
    /// The database that zones of an owner are in, for a caller of this one: a shared database is a
    /// window on private ones.
    fileprivate func ofZones(_ owner: String) -> DatabaseID {
        guard scope == .shared, owner != ZoneID.currentOwner else { return self }
        return DatabaseID(
            container: container,
            environment: environment,
            scope: .private,
            owner: UserID(owner)
        )
    }
}

extension RequestCounts.Refusal {
    /// The error for the caller.
    fileprivate func error(retryAfter: Double) -> SyncError {
        switch self {
        case .store:
            SyncError(
                .serviceUnavailable,
                "As many requests are writing to the store as may at a time.",
                retryAfter: retryAfter
            )
        case .zone(let zone):
            SyncError(
                .zoneBusy,
                "As many requests are writing to the zone \(zone.zoneName) as may at a time.",
                retryAfter: retryAfter
            )
        }
    }
}

extension ModifyRecordsRequest {
    /// The zones of all items, some of them more than once.
    var zones: [ZoneID] { saves.map(\.recordID.zone) + deletions.map(\.recordID.zone) }
}
