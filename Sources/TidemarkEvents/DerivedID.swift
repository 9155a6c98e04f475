// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// The id of a request that has none: a hash of its line, and the number of earlier occurrences of
/// the line (`Docs/formats/events.md`, "Commit envelope").
package struct DerivedID: Hashable {
    package var high: UInt64
    package var low: UInt64
    var occurrence: UInt64

    package init(high: UInt64, low: UInt64, occurrence: UInt64) {
        self.high = high
        self.low = low
        self.occurrence = occurrence
    }

    /// Returns the start of the ids of a line, which is the same for every occurrence.
    package static func stem(high: UInt64, low: UInt64) -> String {
        "line-" + String(high, radix: 36) + "-" + String(low, radix: 36) + "-"
    }

    package var text: String { Self.stem(high: high, low: low) + String(occurrence) }

    /// Parses an id; `nil` if the text is not exactly one that ``text`` returns.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        // The first part is not checked here: the comparison with `text` below covers it.
        guard parts.count == 4, let high = UInt64(parts[1], radix: 36),
            let low = UInt64(parts[2], radix: 36), let occurrence = UInt64(parts[3])
        else { return nil }
        self.init(high: high, low: low, occurrence: occurrence)
        // `UInt64(_:radix:)` also accepts signs, leading zeros and capital letters, which the
        // numbers would not keep.
        guard self.text == text else { return nil }
    }
}
