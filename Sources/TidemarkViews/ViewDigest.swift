// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

/// An order-independent fingerprint of a set of entries.
///
/// It is the sum of the entries' 128-bit hashes, and their number.
package struct ViewDigest: Hashable, Sendable {
    /// The number of entries.
    package private(set) var count = 0
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// The digest of no entries.
    package init() {}

    /// Adds an entry.
    ///
    /// O(its bytes).
    package mutating func add(_ value: ViewValue, in table: ViewTable, for key: ViewKey) {
        let hash = Self.hash(value, table, key)
        // A sum and not an exclusive or, in which two equal entries would cancel each other out.
        let (sum, overflow) = low.addingReportingOverflow(hash.low)
        low = sum
        high = high &+ hash.high &+ (overflow ? 1 : 0)
        count += 1
    }

    private static func hash(
        _ value: ViewValue,
        _ table: ViewTable,
        _ key: ViewKey
    ) -> (low: UInt64, high: UInt64) {
        switch value {
        case .word(let word, let tag):
            let beside = UInt64(tag) << 8 | UInt64(table.rawValue)
            let words = (
                key.high.littleEndian, key.low.littleEndian, word.littleEndian, beside.littleEndian
            )
            return withUnsafeBytes(of: words) { xxh3Wide($0.bytes, seed: 0) }
        case .bytes(let bytes):
            let words = (key.high.littleEndian, key.low.littleEndian)
            let place = withUnsafeBytes(of: words) {
                xxh3($0.bytes, seed: UInt64(table.rawValue))
            }
            return xxh3Wide(bytes.span.bytes, seed: place)
        }
    }
}

extension ViewSnapshot {
    /// Returns the digest of the entries of a table with `first <= key <= last`.
    ///
    /// O(log n + entries).
    package func digest(
        _ table: ViewTable,
        from first: ViewKey = ViewKey(0, 0),
        through last: ViewKey = ViewKey(.max, .max)
    ) throws(ViewIndexError) -> ViewDigest {
        var digest = ViewDigest()
        try scan(table, from: first, through: last) { key, value in
            digest.add(value, in: table, for: key)
            return true
        }
        return digest
    }

    /// Returns the digest of the entries of a table whose key begins with a zone.
    package func digest(_ table: ViewTable, zone: ZoneKey) throws(ViewIndexError) -> ViewDigest {
        try digest(table, from: ViewKey(zone.rawValue, 0), through: ViewKey(zone.rawValue, .max))
    }
}
