// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Cutting a run of entries into groups.
extension EntryGroup {
    /// Returns true if entries are too few for a group of their own, where others follow.
    static func isSmall(_ entries: [ViewBatch.Change]) -> Bool {
        guard entries.count < maximumByteCount / 4, let shape = shape(of: entries[...]) else {
            return entries.isEmpty
        }
        return shape.byteCount < maximumByteCount / 4
    }

    /// Returns the number of bytes that the entries of a stored value take, without verifying it.
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
        if whole.byteCount <= maximumByteCount { return try visit(whole, entries[...]) }
        var limit = entries.count
        if !isFilled {
            var groupCount = 0
            var start = 0
            while start < entries.count {
                start = longest(entries, from: start, limit: limit).end
                groupCount += 1
            }
            limit = (entries.count + groupCount - 1) / groupCount
        }
        var start = 0
        while start < entries.count {
            let group = longest(entries, from: start, limit: limit)
            try visit(group.shape, entries[start..<group.end])
            start = group.end
        }
    }

    /// Returns the longest group from a place on that has at most `limit` entries, and where it
    /// ends.
    private static func longest(
        _ entries: [ViewBatch.Change],
        from start: Int,
        limit: Int
    ) -> (shape: EntryGroupShape, end: Int) {
        var shape = EntryGroupShape(entries[start])
        var end = start + 1
        while end < entries.count, end - start < limit {
            var longer = shape
            longer.add(entries[end])
            guard longer.byteCount <= maximumByteCount else { break }
            shape = longer
            end += 1
        }
        return (shape, end)
    }
}
