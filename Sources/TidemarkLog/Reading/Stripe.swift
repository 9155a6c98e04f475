// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A part of a compacted segment whose events are grouped by zone, as ranges of the segment's
/// directory.
///
/// Each block has the events of a few zones, in order; the events in between are in other blocks.
/// The maps give the block of each position.
struct Stripe: Hashable, Sendable {
    /// The first position that it covers.
    var first: SequenceNumber
    /// The last position that it covers.
    var last: SequenceNumber
    /// The indexes of the maps, whose positions are contiguous.
    var maps: Range<Int>
    /// Indexes of the blocks that hold the events.
    var blocks: Range<Int>

    /// Returns the stripes of a directory, ascending.
    static func all(in directory: [BlockEntry]) -> [Stripe] {
        var stripes: [Stripe] = []
        var index = 0
        while index < directory.count {
            let start = index
            while index < directory.count, directory[index].isMap { index += 1 }
            // A block that no map precedes is of an ordinary frame.
            guard start < index else {
                index += 1
                continue
            }
            let last = directory[index - 1].last
            let maps = start..<index
            // The first block behind the positions of the maps is of the next frame.
            while index < directory.count, !directory[index].isMap, directory[index].first <= last {
                index += 1
            }
            stripes.append(
                Stripe(
                    first: directory[start].first,
                    last: last,
                    maps: maps,
                    blocks: maps.upperBound..<index
                )
            )
        }
        return stripes
    }

    /// The indexes of the maps and the blocks.
    var indexes: Range<Int> { maps.lowerBound..<blocks.upperBound }
}
