// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock
import TidemarkModel

/// The nonces that were used, of upload addresses or sign-in pages: each is valid once.
final class UsedNonces: Sendable {
    private let used = Lock<[String: Int64]>([:])

    /// Uses a nonce; returns false if it was used before.
    func begins(_ nonce: String, until end: Int64) -> Bool {
        used.withLock { used in
            if used.count > 10_000 {
                let now = Clock.now()
                // What has expired is refused by its end, so its entry has no use. Entries are only
                // in memory: after a restart, a used nonce is valid once more until its end.
                used = used.filter { $0.value > now }
            }
            return used.updateValue(end, forKey: nonce) == nil
        }
    }

    /// Makes a nonce valid again after a failed use.
    func failed(_ nonce: String) {
        used.withLock { $0[nonce] = nil }
    }
}
#endif
