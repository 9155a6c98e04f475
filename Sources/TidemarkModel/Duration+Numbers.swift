// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// Creates a duration of some seconds.
    ///
    /// A number out of range gives the nearest duration, and NaN gives zero.
    package init(clampingSeconds seconds: Double) {
        // Well within the range of `Duration`, which holds about 1.7e20 seconds.
        let limit = 1e15
        self = seconds.isNaN ? .zero : .seconds(min(max(seconds, -limit), limit))
    }

    // Both by `attoseconds`: `components` traps for more seconds than an `Int64` has.

    /// The nearest number of seconds.
    package var inSeconds: Double { Double(attoseconds) / 1e18 }

    /// Whole milliseconds, rounded towards zero; the largest number if there are more.
    package var inMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }
}
