// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// Shows that a transfer continues: its time limit begins anew with each beat.
final class Pulse: Sendable {
    private let count = Lock(0)

    /// The number of pieces so far.
    var beats: Int { count.withLock(\.self) }

    /// Notes that a piece was sent or received.
    func beat() { count.withLock { $0 += 1 } }
}
