// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Int64 {
    /// The difference, or the number nearest to it where it has more than 64 bits.
    func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
