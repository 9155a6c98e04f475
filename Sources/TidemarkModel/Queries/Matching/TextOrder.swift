// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Comparisons of texts by their bytes, folded on request.
enum TextOrder {
    /// Compares a text with a folded one: negative, zero or positive if it sorts before, with or
    /// after it.
    static func compare(
        _ range: Range<Int>,
        in bytes: RawSpan,
        _ options: Query.TextOptions,
        to other: [UInt8]
    ) -> Int {
        guard !options.isEmpty else {
            return compare(range, in: bytes, to: other.span.bytes, 0..<other.count)
        }
        var folded = FoldedText(range, options)
        for byte in other {
            guard let own = folded.next(in: bytes) else { return -1 }
            if own != byte { return Int(own) - Int(byte) }
        }
        return folded.next(in: bytes) == nil ? 0 : 1
    }

    /// Returns true if a text begins with a folded one.
    static func begins(
        _ range: Range<Int>,
        in bytes: RawSpan,
        _ options: Query.TextOptions,
        with prefix: [UInt8]
    ) -> Bool {
        var folded = FoldedText(range, options)
        for byte in prefix where folded.next(in: bytes) != byte { return false }
        return true
    }

    /// Compares bytes: negative, zero or positive if the first sort before, with or after the
    /// second.
    static func compare(
        _ range: Range<Int>,
        in bytes: RawSpan,
        to other: RawSpan,
        _ otherRange: Range<Int>
    ) -> Int {
        for index in 0..<min(range.count, otherRange.count) {
            let own = bytes.byte(at: range.lowerBound + index)
            let theirs = other.byte(at: otherRange.lowerBound + index)
            if own != theirs { return Int(own) - Int(theirs) }
        }
        // A text sorts before every longer text that begins with it.
        return range.count - otherRange.count
    }
}
