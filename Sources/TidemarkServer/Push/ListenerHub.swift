// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// The listeners for notifications of a server's store.
///
/// It follows the store once, and marks the listeners that new notifications concern. One timer
/// serves the heartbeats of all: a wheel that turns once between two beats of a listener.
final class ListenerHub: Sendable {
    private struct State {
        /// The listeners by the database that their notifications are in.
        var listeners: [DatabaseID: [ObjectIdentifier: Listener]] = [:]
        /// The listeners by the slot of the wheel at which their hearts beat.
        var slots = [[ObjectIdentifier: Listener]](repeating: [:], count: ListenerHub.slotCount)
        var slot = 0
        var count = 0
        var isTicking = false
        var hasEnded = false
    }

    /// The number of slots of the wheel.
    private static let slotCount = 25

    private let state = Lock(State())
    /// The pages that several listeners read.
    let pages = SharedPages()
    private let interval: Duration
    /// The most listeners of one user in one container.
    private let userLimit: Int

    /// Follows a store; the heart of each listener beats once in an interval.
    init(_ store: Store, every interval: Duration, userLimit: Int) throws {
        self.interval = interval
        self.userLimit = userLimit
        // The store holds the closure until it is closed. A strong reference would keep the hub and
        // its listeners that long.
        try store.followNotifications { [weak self] collections in self?.tell(about: collections) }
    }

    /// The number of listeners.
    var count: Int { state.withLock { $0.count } }

    /// The reasons to refuse a listener.
    enum Refusal: Error {
        /// The server stops.
        case ended
        /// The user has as many listeners as one may have.
        case tooMany

        /// The answer to a request that is refused.
        var webError: WebError {
            switch self {
            case .ended:
                WebError("TRY_AGAIN_LATER", status: 503, "The server is stopping.", retryAfter: 1)
            case .tooMany:
                .throttled(
                    "The user has too many open streams and couriers; close some.",
                    retryAfter: 30
                )
            }
        }
    }

    /// Throws if a listener for a user's notifications would be refused.
    func check(_ collection: DatabaseID) throws(Refusal) {
        if let refusal = state.withLock({ self.refusal(for: collection, $0) }) { throw refusal }
    }

    private func refusal(for collection: DatabaseID, _ state: State) -> Refusal? {
        if state.hasEnded { return .ended }
        return state.listeners[collection]?.count ?? 0 < userLimit ? nil : .tooMany
    }

    /// Adds a listener, which must be removed when it has ended.
    ///
    /// Its first heartbeat comes within one interval.
    func add(for collection: DatabaseID) throws(Refusal) -> Listener {
        let listener = Listener(collection)
        let id = ObjectIdentifier(listener)
        let (refusal, begins) = state.withLock { state -> (Refusal?, Bool) in
            if let refusal = self.refusal(for: collection, state) { return (refusal, false) }
            state.listeners[collection, default: [:]][id] = listener
            // The slot that the wheel reaches after 24 of 25 turns. The first beat is a courier's
            // time limit, so it must not arrive soon after the start.
            state.slots[(state.slot + Self.slotCount - 1) % Self.slotCount][id] = listener
            state.count += 1
            defer { state.isTicking = true }
            return (nil, !state.isTicking)
        }
        if let refusal { throw refusal }
        if begins { Task { await self.beat() } }
        return listener
    }

    /// Removes a listener.
    func remove(_ listener: Listener) {
        let id = ObjectIdentifier(listener)
        state.withLock { state in
            let collection = listener.collection
            // A second removal must not lower the count again.
            guard state.listeners[collection]?.removeValue(forKey: id) != nil else { return }
            if state.listeners[collection]?.isEmpty == true { state.listeners[collection] = nil }
            for slot in state.slots.indices where state.slots[slot].removeValue(forKey: id) != nil {
                break
            }
            state.count -= 1
        }
    }

    /// Ends all listeners, and refuses new ones.
    func end() {
        // One critical section: `add` checks `hasEnded` under the same lock, so no listener is
        // added after this list is made.
        let listeners = state.withLock { state in
            state.hasEnded = true
            return state.slots.flatMap { Array($0.values) }
        }
        for listener in listeners { listener.mark(.end) }
    }

    /// Marks the listeners of some databases; of all, if the databases are not known.
    private func tell(about collections: Set<DatabaseID>?) {
        pages.dropAll()
        // This runs on the thread that makes notifications, and must not wait. The lock of the hub
        // is free before `mark` takes that of a listener, so no thread holds both.
        guard let collections else {
            let listeners = state.withLock { state in state.slots.flatMap { Array($0.values) } }
            for listener in listeners { listener.mark(.news) }
            return
        }
        for collection in collections {
            let listeners = state.withLock { state in
                state.listeners[collection].map { Array($0.values) } ?? []
            }
            for listener in listeners { listener.mark(.news) }
        }
    }

    /// Turns the wheel as long as there are listeners.
    private func beat() async {
        while true {
            // One second with the default interval: each turn wakes one of 25 parts of the
            // listeners, and not all of them at once.
            try? await Task.sleep(for: interval / Self.slotCount)
            // `isTicking` becomes false under the lock of `add`. A listener that is added next
            // starts a new task, so there is always one wheel for a listener, and never two.
            let listeners = state.withLock { state -> [Listener]? in
                if state.count == 0 || state.hasEnded {
                    state.isTicking = false
                    return nil
                }
                state.slot = (state.slot + 1) % Self.slotCount
                return Array(state.slots[state.slot].values)
            }
            guard let listeners else { return }
            for listener in listeners { listener.mark(.beat) }
        }
    }
}
#endif
