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

    /// The nearest number of seconds.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// Whole milliseconds, rounded towards zero; the largest number if there are more.
    package var inMilliseconds: Int64 {
        let (milliseconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1_000)
        guard !overflow else { return components.seconds < 0 ? .min : .max }
        return milliseconds.addingReportingOverflow(components.attoseconds / 1_000_000_000_000_000)
            .partialValue
    }
}
