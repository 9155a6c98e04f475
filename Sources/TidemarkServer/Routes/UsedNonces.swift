// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock
import TidemarkModel

/// The nonces that were used, of upload addresses or sign-in pages: each is valid once.
final class UsedNonces: Sendable {
    private struct State {
        /// The time at which each nonce expires.
        var ends: [String: Int64] = [:]
        /// The number of nonces at which the expired ones are removed.
        var sweepCount = State.fewest

        static let fewest = 10_000
    }

    private let state = Lock(State())

    /// Uses a nonce; returns false if it was used before.
    func begins(_ nonce: String, until end: Int64) -> Bool {
        state.withLock { state in
            if state.ends.count >= state.sweepCount {
                let now = Clock.now()
                // What has expired is rejected by its end, so its entry has no use. Entries are only
                // in memory: after a restart, a used nonce is valid once more until its end.
                state.ends = state.ends.filter { $0.value > now }
                // Twice as many as are left, so that each sweep is paid for by as many nonces.
                state.sweepCount = max(State.fewest, 2 * state.ends.count)
            }
            return state.ends.updateValue(end, forKey: nonce) == nil
        }
    }

    /// Makes a nonce valid again after a failed use.
    func failed(_ nonce: String) {
        state.withLock { $0.ends[nonce] = nil }
    }
}
#endif
