// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// For every zone with events in a segment, the blocks that hold them, as indexes into the
/// segment's directory.
///
/// Encoded as a table of zones in ascending order (key, offset and length of its list), then the
/// lists: differences between ascending block indexes as variable-length integers.
package struct ZonePostings: Hashable, Sendable {
    /// The zones in ascending order, each with the end of its list in `blocks`.
    package private(set) var zones: [Zone] = []
    /// The lists, one after another.
    private var blocks: [UInt32] = []

    /// A zone and the end of its list.
    package struct Zone: Hashable, Sendable {
        package var key: ZoneKey
        fileprivate var end: Int
    }

    /// Returns the blocks that hold a zone's events, ascending.
    ///
    /// O(log zones).
    package func blocks(of zone: ZoneKey) -> ArraySlice<UInt32> {
        let index = zones.endOfPrefix { $0.key < zone }
        guard index < zones.count, zones[index].key == zone else { return [] }
        return blocks[(index == 0 ? 0 : zones[index - 1].end)..<zones[index].end]
    }

    /// Returns the zone's blocks in a range of indexes.
    ///
    /// O(log zones + log blocks).
    package func blocks(of zone: ZoneKey, in range: Range<Int>) -> ArraySlice<UInt32> {
        let all = blocks(of: zone)
        let first = all.endOfPrefix { $0 < range.lowerBound }
        let end = all.endOfPrefix { $0 < range.upperBound }
        return all[first..<end]
    }

    /// Gathers pairs of zone and block, in any order, repeated or not.
    package struct Builder: Sendable {
        private var pairs: [(zone: ZoneKey, block: UInt32)] = []

        package init() {}

        /// Notes that a block holds an event of a zone.
        ///
        /// Cheap for a run of one zone.
        package mutating func add(zone: ZoneKey, block: UInt32) {
            if let last = pairs.last, last.zone == zone, last.block == block { return }
            pairs.append((zone, block))
        }

        /// Sorts the gathered pairs.
        ///
        /// O(n log n).
        package consuming func postings() -> ZonePostings {
            pairs.sort { $0.zone == $1.zone ? $0.block < $1.block : $0.zone < $1.zone }
            var result = ZonePostings()
            for pair in pairs {
                if result.zones.last?.key == pair.zone {
                    guard result.blocks.last != pair.block else { continue }
                } else {
                    result.zones.append(Zone(key: pair.zone, end: result.blocks.count))
                }
                result.blocks.append(pair.block)
                result.zones[result.zones.count - 1].end = result.blocks.count
            }
            return result
        }
    }

    func encoded() -> [UInt8] {
        var lists: [UInt8] = []
        var table: [UInt8] = []
        table.reserveCapacity(zones.count * Layout.zoneEntryByteCount)
        var start = 0
        for zone in zones {
            let listStart = lists.count
            var previous: UInt32 = 0
            for block in blocks[start..<zone.end] {
                lists.append(variableInteger: UInt64(block - previous))
                previous = block
            }
            start = zone.end
            table.append(integer: zone.key.rawValue)
            table.append(integer: UInt32(listStart))
            table.append(integer: UInt32(lists.count - listStart))
        }
        return table + lists
    }

    init?(decoding bytes: RawSpan, zoneCount: Int, blockCount: Int) {
        let tableByteCount = zoneCount * Layout.zoneEntryByteCount
        guard tableByteCount <= bytes.byteCount else { return nil }
        let lists = bytes.extracting(tableByteCount..<bytes.byteCount)
        var offset = 0
        for index in 0..<zoneCount {
            let row = index * Layout.zoneEntryByteCount
            let end = offset + Int(bytes.integer(at: row + 12, as: UInt32.self))
            // The lists have no gaps, so the end of one is the start of the next.
            guard Int(bytes.integer(at: row + 8, as: UInt32.self)) == offset,
                end <= lists.byteCount
            else { return nil }
            var block: UInt64 = 0
            while offset < end {
                guard let step = lists.variableInteger(at: &offset) else { return nil }
                block &+= step
                guard block < UInt64(blockCount) else { return nil }
                blocks.append(UInt32(block))
            }
            guard offset == end else { return nil }
            zones.append(Zone(key: ZoneKey(rawValue: bytes.integer(at: row)), end: blocks.count))
        }
    }

    package init() {}
}
