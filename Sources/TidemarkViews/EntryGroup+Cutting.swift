// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Cutting a run of entries into groups.
extension EntryGroup {
    /// A changed group with fewer entries is joined with the next one before it is cut.
    static let fewestCount = 8

    /// Returns the number of bytes that the entries of a stored value take besides the bases, without
    /// verifying it.
    static func entriesByteCount(_ value: UnsafeRawBufferPointer, in table: ViewTable) -> Int {
        guard table.hasWords, value.count > fixedHeaderByteCount else { return value.count }
        let count = value.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        let width = (value[8] & 15) + (value[8] >> 4) + (value[9] & 15) + (value[9] >> 4)
        return Int(UInt16(littleEndian: count)) * Int(width)
    }

    /// Returns the shape of a group with all of the entries; `nil` if there are none.
    static func shape(of entries: ArraySlice<ViewBatch.Change>) -> EntryGroupShape? {
        guard let first = entries.first else { return nil }
        var shape = EntryGroupShape(first)
        for entry in entries.dropFirst() { shape.add(entry) }
        return shape
    }

    /// Returns true if all entries, ascending by key, fit into one group.
    static func fit(_ entries: [ViewBatch.Change]) -> Bool {
        // More need no look: an entry has a byte at least, as no two keys are equal.
        guard entries.count < maximumByteCount else { return false }
        return shape(of: entries[...])?.fits ?? true
    }

    /// Cuts entries, ascending by key, into groups and visits them in order.
    ///
    /// `isFilled` makes each group as long as possible, for entries after which no others are
    /// expected. Otherwise the groups are of about equal length, so that each has room for more.
    static func cut(
        _ entries: [ViewBatch.Change],
        isFilled: Bool,
        _ visit: (EntryGroupShape, ArraySlice<ViewBatch.Change>) throws(ViewIndexError) -> Void
    ) throws(ViewIndexError) {
        guard let whole = shape(of: entries[...]) else { return }
        if whole.fits { return try visit(whole, entries[...]) }
        // As many fit in any case, because no part is wider than the whole.
        let fitting = max(1, (maximumByteCount - longestHeaderByteCount) / whole.entryByteCount)
        func group(from start: Int, limit: Int) -> (shape: EntryGroupShape, end: Int)? {
            let rest = entries[start...].prefix(limit)
            var end = start + min(fitting, rest.count)
            guard var shape = shape(of: entries[start..<end]) else { return nil }
            while end < rest.endIndex {
                var longer = shape
                longer.add(entries[end])
                guard longer.fits else { break }
                shape = longer
                end += 1
            }
            return (shape, end)
        }
        var limit = entries.count
        if !isFilled {
            var groupCount = 0
            var start = 0
            while let group = group(from: start, limit: limit) {
                start = group.end
                groupCount += 1
            }
            limit = (entries.count + groupCount - 1) / groupCount
        }
        var start = 0
        while let group = group(from: start, limit: limit) {
            try visit(group.shape, entries[start..<group.end])
            start = group.end
        }
    }

    /// The length of the longest header, with the longest key.
    private static let longestHeaderByteCount =
        fixedHeaderByteCount + 3 * 9 + ViewEntryFormat.maximumKeyByteCount
}
