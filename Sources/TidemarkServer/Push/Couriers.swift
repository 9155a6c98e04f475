// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkDatabase
import TidemarkLock
import TidemarkModel

/// The couriers of a server: creates, finds and ends them.
///
/// They are records of the registry, by the hashes of their tokens, so that they survive a restart.
final class Couriers: Sendable {
    let store: Store
    let directory: Directory
    let hub: ListenerHub

    private struct State {
        var couriers: [RecordName: Courier] = [:]
        /// The number of drops; a record that was read before the latest one may have changed.
        var dropCount = 0
        var lastSweep = Clock.now()
    }

    private let state = Lock(State())

    /// The maximum number of idle couriers in memory.
    private static let cacheLimit = 20_000
    /// The milliseconds for which an unused courier lasts.
    private static let lifetime: Int64 = 14 * 24 * 60 * 60_000
    /// Milliseconds between two searches for couriers that have ended.
    private static let sweepInterval: Int64 = 60 * 60_000

    init(_ store: Store, _ directory: Directory, _ hub: ListenerHub) {
        self.store = store
        self.directory = directory
        self.hub = hub
    }

    /// Creates a courier for the client of a request, and returns its token.
    func make(for found: Callers.Found) async throws -> String {
        try await sweepNowAndThen()
        let text = [UInt8].random(32).hexadecimal
        var token = CourierToken(text, found)
        token.position = try await store.notificationToken(as: found.caller).description
        try await directory.registry.couriers.save(token)
        return text
    }

    /// Gives a courier to the client of a request, if its token is one of the client's container.
    ///
    /// Other tokens, such as Apple's, cannot be delivered to.
    func register(_ text: String, for found: Callers.Found) async throws {
        let name = CourierToken.recordName(of: text)
        guard let known = try await courier(named: name)?.token,
            known.container == found.caller.database.container.identifier,
            known.environment == found.caller.database.environment.rawValue
        else { return }
        var token = CourierToken(text, found)
        token.position = known.position
        // A position is a place in the notifications of one user. For another user, delivery begins
        // at the current end.
        if token.user != known.user {
            token.position = try await store.notificationToken(as: found.caller).description
        }
        guard token != known else { return }
        try await directory.registry.couriers.save(token, policy: .replace)
        drop(name)
    }

    /// Returns the courier of a token; `nil` if there is none, or it has ended.
    func courier(_ text: String) async throws -> Courier? {
        let name = CourierToken.recordName(of: text)
        guard let courier = try await courier(named: name) else { return nil }
        guard courier.use(within: Self.lifetime), try await directory.isGood(courier.token) else {
            try await end(name)
            return nil
        }
        return courier
    }

    private func courier(named name: RecordName) async throws -> Courier? {
        let records = directory.registry.couriers
        while true {
            let (known, dropCount) = state.withLock { ($0.couriers[name], $0.dropCount) }
            if let known { return known }
            let stored = try await records.fetchIfPresent(CourierToken.self, name)
            guard let read = stored.flatMap({ Courier($0.value) }) else { return nil }
            let courier = state.withLock { state -> Courier? in
                // Another task may have been faster: there is one courier for a token.
                if let known = state.couriers[name] { return known }
                guard state.dropCount == dropCount else { return nil }
                if state.couriers.count >= Self.cacheLimit {
                    // Only idle couriers: a second object for a courier with a delivery under way
                    // could deliver the same notification again.
                    state.couriers = state.couriers.filter { !$0.value.isIdle }
                }
                state.couriers[name] = read
                return read
            }
            if let courier { return courier }
        }
    }

    /// Drops a courier whose record was changed or deleted.
    private func drop(_ name: RecordName) {
        state.withLock { state in
            state.couriers[name] = nil
            state.dropCount += 1
        }
    }

    /// Ends a courier: its address becomes invalid.
    func end(_ name: RecordName) async throws {
        defer { drop(name) }
        try await directory.registry.couriers.delete(name)
    }

    /// Sweeps now and then.
    private func sweepNowAndThen() async throws {
        let now = Clock.now()
        let isDue = state.withLock { state in
            guard now > state.lastSweep + Self.sweepInterval else { return false }
            state.lastSweep = now
            return true
        }
        if isDue { try await sweep(now) }
    }

    /// Ends couriers whose clients have gone.
    func sweep(_ now: Int64) async throws {
        for stored in try await directory.registry.couriers.all(CourierToken.self) {
            // The last use is only in memory: a request without a notification does not change the
            // record.
            let used = state.withLock { $0.couriers[stored.value.id] }?.lastUse ?? 0
            let isOld = max(stored.record.modified.time, used) + Self.lifetime < now
            let isGood = try await directory.isGood(stored.value, isUse: false)
            if isOld || !isGood { try await end(stored.value.id) }
        }
    }
}
#endif
