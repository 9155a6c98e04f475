// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A stripe whose maps and blocks were read, as far as they can be.
struct DecodedStripe {
    private var maps: [(entry: BlockEntry, block: DecodedBlock?)] = []
    private var entries: [BlockEntry] = []
    /// The blocks that can be read, each with its number among all of them.
    private(set) var sound: [(number: Int, block: DecodedBlock)] = []
    /// Numbers of those of which at least a part cannot.
    private var failed: Set<Int> = []

    /// How many maps it has, readable or not.
    var mapCount: Int { maps.count }

    /// The rows of its maps.
    var rows: StripeRows { StripeRows(maps: maps[...]) }

    /// Adds the next map or block, `nil` if it cannot be read.
    mutating func add(_ block: DecodedBlock?, _ entry: BlockEntry) {
        if entry.isMap { return maps.append((entry, block)) }
        if let block {
            sound.append((entries.count, block))
        } else {
            failed.insert(entries.count)
        }
        entries.append(entry)
    }

    /// Notes that a block cannot be read to its end.
    mutating func fail(_ entry: BlockEntry) {
        if let number = entries.firstIndex(of: entry) { failed.insert(number) }
    }

    /// The positions of which nobody knows what they hold, ascending.
    ///
    /// They are those that the maps give to blocks that cannot be read; where a map cannot be read
    /// either, all that such blocks cover. What other blocks hold is not among them.
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

    /// Takes the positions of events that can be read out of ascending ranges.
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

/// Goes through the rows of a stripe's maps beside its events.
struct StripeRows {
    fileprivate var maps: ArraySlice<(entry: BlockEntry, block: DecodedBlock?)>
    private var cursor: StripeMapCursor?

    fileprivate init(maps: ArraySlice<(entry: BlockEntry, block: DecodedBlock?)>) {
        self.maps = maps
        cursor = maps.first?.block.map(StripeMapCursor.init)
    }

    /// The map that says something else of an event than that it is in a block; `nil` if there is none.
    ///
    /// Events are asked about in order, and a map is told of once.
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
