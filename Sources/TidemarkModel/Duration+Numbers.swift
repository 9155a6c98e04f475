// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// So many seconds; the nearest duration there is for what is no such number, and none for what
    /// is no number.
    package init(clampingSeconds seconds: Double) {
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
