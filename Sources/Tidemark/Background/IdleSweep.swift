// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import Dispatch
import TidemarkLock

/// An owner of files that are open only for their next use.
protocol Parkable: AnyObject, Sendable {
    /// Closes the files if they were not used since the last call; returns true if they are closed.
    ///
    /// The next use opens them again, and has the owner watched by the sweep again.
    func park(_ sweep: IdleSweep) -> Bool
}

/// Closes files of the open stores that nobody uses: one timer for all stores of a process.
///
/// A store is parked by the second sweep after its last use. A parked store is not visited until it
/// is used again, and no timer runs while there are only parked stores.
package final class IdleSweep: Sendable {
    /// The sweep of this process.
    package static let shared = IdleSweep(every: .seconds(10))

    private struct Watched {
        weak var owner: (any Parkable)?
    }

    private struct State {
        /// The stores that the next sweep visits.
        var waiting: [Watched] = []
        /// The stores that the running sweep has not visited yet.
        var due: [Watched] = []
        var isScheduled = false

        /// Takes a store that is still there from those to visit.
        mutating func takeNext() -> (any Parkable)? {
            while let next = due.popLast() {
                if let owner = next.owner { return owner }
            }
            return nil
        }
    }

    private let interval: DispatchTimeInterval
    private let queue = DispatchQueue(label: "tidemark.idle", qos: .utility)
    private let state = Lock(State())
    /// Held while a store is visited, so that closing a store can wait for that.
    private let visiting = Lock(())

    /// Creates a sweep that runs at intervals while there are stores to visit.
    package init(every interval: DispatchTimeInterval) {
        self.interval = interval
    }

    /// Has the next sweep visit a store that was opened or is used again.
    func watch(_ owner: any Parkable) {
        let isDue = state.withLock { state in
            state.waiting.append(Watched(owner: owner))
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard isDue else { return }
        queue.asyncAfter(deadline: .now() + interval) { [weak self] in self?.sweep() }
    }

    /// Visits no more a store that is being closed, and waits for a visit that has begun.
    func forget(_ owner: any Parkable) {
        state.withLock { state in
            state.waiting.removeAll { $0.owner == nil || $0.owner === owner }
            state.due.removeAll { $0.owner == nil || $0.owner === owner }
        }
        visiting.withLock { _ in }
    }

    /// Visits all stores that are watched: parks those that were not used since the last sweep.
    package func sweep() {
        state.withLock { state in
            state.due += state.waiting
            state.waiting = []
            state.isScheduled = false
        }
        while visitNext() {}
    }

    /// Visits one store; returns false if none is left.
    private func visitNext() -> Bool {
        // The lock is free between two stores. Only `forget` waits for it, which holds no other.
        visiting.withLock { _ in
            guard let owner = state.withLock({ $0.takeNext() }) else { return false }
            if !owner.park(self) { watch(owner) }
            return true
        }
    }
}
