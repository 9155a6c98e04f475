// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A block, and the reader of its segment.
struct SegmentBlock: Equatable {
    let reader: SegmentReader
    let entry: BlockEntry
    /// The first and the last position that a read wants; `nil` if it may want all.
    let wanted: ClosedRange<SequenceNumber>?
    /// True if only the events at the wanted positions, and those between them, are read.
    var isPart = false

    init(
        _ entry: BlockEntry,
        of reader: SegmentReader,
        wanted: ClosedRange<SequenceNumber>? = nil
    ) {
        self.reader = reader
        self.entry = entry
        self.wanted = wanted
    }

    /// The identity of the block in a cache.
    var key: BlockCache.Key { BlockCache.Key(segment: reader.id, offset: entry.offset) }

    /// Reads, checks and decodes the block or a part of it; a whole one with a map if a marker is given.
    func decoded(mapping: EventMarker?) -> Result<DecodedBlock, LogError> {
        guard isPart, let wanted else { return reader.decoded(entry, mapping: mapping) }
        return Result { () throws(LogError) in
            let count = likelyByteCount(through: wanted.upperBound)
            return try reader.events(at: wanted, inFirst: count, of: entry)
        }
    }

    /// The number of first bytes that are likely to have the events up to a position.
    private func likelyByteCount(through last: SequenceNumber) -> Int {
        let count = Int(entry.rawByteCount)
        let wantedCount = Int(last.rawValue - entry.first.rawValue) + 1
        // Events differ in length, and the first follows the head of its commit.
        return count * wantedCount / Int(entry.positionCount) + count / 8
    }

    // A segment that was closed and opened again has another reader.
    static func == (one: SegmentBlock, other: SegmentBlock) -> Bool {
        one.reader.id == other.reader.id && one.entry == other.entry
    }
}
