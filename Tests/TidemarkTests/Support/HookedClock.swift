// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// A clock that is set by hand, and calls back before it is read: so a test can let something happen
/// between two steps of the code that reads the clock.
final class HookedClock: Sendable {
    private let time = Lock<Int64>(1_700_000_000_000)
    private let hook = Lock<(@Sendable () -> Void)?>(nil)

    /// Milliseconds since 1970.
    var now: Int64 {
        let hook = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        hook?()
        return time.withLock { $0 }
    }

    func pass(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }

    /// Calls back once, on the thread that reads the clock next.
    func beforeNextReading(_ body: @escaping @Sendable () -> Void) {
        hook.withLock { $0 = body }
    }
}
