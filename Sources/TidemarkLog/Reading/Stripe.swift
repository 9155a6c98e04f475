// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A stretch of a compacted segment whose events are grouped by zone: where it is in the segment's
/// directory.
///
/// Each of its blocks has the events of few zones, in order, and those in between are in others.
/// Its maps say which.
struct Stripe: Hashable, Sendable {
    /// The first position that it covers.
    var first: SequenceNumber
    /// The last position that it covers.
    var last: SequenceNumber
    /// Indexes of the maps; their positions join up.
    var maps: Range<Int>
    /// Indexes of the blocks that hold the events.
    var blocks: Range<Int>

    /// The stripes of a directory, ascending.
    static func all(in directory: [BlockEntry]) -> [Stripe] {
        var stripes: [Stripe] = []
        var index = 0
        while index < directory.count {
            let start = index
            while index < directory.count, directory[index].isMap { index += 1 }
            guard start < index else {
                index += 1
                continue
            }
            let last = directory[index - 1].last
            let maps = start..<index
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

    /// All of it in the directory.
    var indexes: Range<Int> { maps.lowerBound..<blocks.upperBound }
}
