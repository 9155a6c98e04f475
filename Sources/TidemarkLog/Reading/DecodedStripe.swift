// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A stripe with all of its readable maps and blocks.
struct DecodedStripe {
    private var maps: [(entry: BlockEntry, block: DecodedBlock?)] = []
    private var entries: [BlockEntry] = []
    /// The readable blocks, each with its number in the stripe.
    private(set) var sound: [(number: Int, block: DecodedBlock)] = []
    /// The numbers of blocks that are at least partly unreadable.
    private var failed: Set<Int> = []

    /// The number of maps in the stripe, readable or not.
    var mapCount: Int { maps.count }

    /// The rows of the stripe's maps.
    var rows: StripeRows { StripeRows(maps: maps[...]) }

    /// Adds the next map or block; `nil` if it is unreadable.
    mutating func add(_ block: DecodedBlock?, _ entry: BlockEntry) {
        if entry.isMap { return maps.append((entry, block)) }
        if let block {
            sound.append((entries.count, block))
        } else {
            failed.insert(entries.count)
        }
        entries.append(entry)
    }

    /// Records that a block cannot be read to its end.
    mutating func fail(_ entry: BlockEntry) {
        if let number = entries.firstIndex(of: entry) { failed.insert(number) }
    }

    /// Returns the positions of which the content is unknown, ascending.
    ///
    /// These are the positions that the maps assign to unreadable blocks. If a map is unreadable
    /// too, they are all positions that such blocks cover. Positions found in other blocks are
    /// excluded.
    func unread() throws(LogError) -> [ClosedRange<SequenceNumber>] {
        if failed.isEmpty { return [] }
        var suspects: [ClosedRange<UInt64>] = []
        for map in maps {
            if let block = map.block {
                var rows = StripeMapCursor(block)
                while rows.advance() {
                    if failed.contains(rows.block) { suspects.append(rows.first...rows.end - 1) }
                }
            } else {
                // Without the map, each position between the first and the last of the unreadable
                // blocks may be in one of them.
                let covered = entries.indices.filter(failed.contains).map { entries[$0] }
                let first = covered.reduce(map.entry.last) { min($0, $1.first) }
                let last = covered.reduce(map.entry.first) { max($0, $1.last) }
                let start = max(first, map.entry.first)
                let end = min(last, map.entry.last)
                if start <= end { suspects.append(start.rawValue...end.rawValue) }
            }
        }
        return try removingFound(from: suspects)
    }

    /// Removes the positions of readable events from ascending ranges.
    private func removingFound(
        from suspects: [ClosedRange<UInt64>]
    ) throws(LogError) -> [ClosedRange<SequenceNumber>] {
        var result: [ClosedRange<SequenceNumber>] = []
        var cursor = try StripeCursor(sound.map(\.block), meet: { _, _ in })
        func nextFound() throws(LogError) -> UInt64 {
            try cursor.advance(meet: { _, _ in }) ? cursor.event.sequence.rawValue : .max
        }
        var found = try nextFound()
        for suspect in suspects {
            var start = suspect.lowerBound
            while found <= suspect.upperBound {
                if found > start {
                    result.append(
                        SequenceNumber(rawValue: start)...SequenceNumber(rawValue: found - 1)
                    )
                }
                start = max(start, found + 1)
                found = try nextFound()
            }
            if start <= suspect.upperBound {
                result.append(
                    SequenceNumber(rawValue: start)...SequenceNumber(rawValue: suspect.upperBound)
                )
            }
        }
        return result
    }
}

/// Walks the rows of a stripe's maps in parallel with its events.
struct StripeRows {
    fileprivate var maps: ArraySlice<(entry: BlockEntry, block: DecodedBlock?)>
    private var cursor: StripeMapCursor?

    fileprivate init(maps: ArraySlice<(entry: BlockEntry, block: DecodedBlock?)>) {
        self.maps = maps
        cursor = maps.first?.block.map(StripeMapCursor.init)
    }

    /// Returns the map that does not assign an event to its block; `nil` if there is none.
    ///
    /// Call this function for events in order. Each map is returned at most once.
    mutating func contradicting(_ sequence: SequenceNumber, block: Int) -> BlockEntry? {
        while let map = maps.first, map.entry.last < sequence {
            maps.removeFirst()
            cursor = maps.first?.block.map(StripeMapCursor.init)
        }
        guard cursor != nil else { return nil }
        if cursor?.advance(to: sequence) == true, cursor?.block == block { return nil }
        cursor = nil
        return maps.first?.entry
    }
}
