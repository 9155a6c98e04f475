// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A block, and the reader of its segment.
struct SegmentBlock: Equatable {
    let reader: SegmentReader
    let entry: BlockEntry
    /// The last position that a read wants; `nil` if it may want all.
    let lastWanted: SequenceNumber?
    /// True if only the part with the wanted positions is decoded.
    var isPart = false

    init(
        _ entry: BlockEntry,
        of reader: SegmentReader,
        through lastWanted: SequenceNumber? = nil
    ) {
        self.reader = reader
        self.entry = entry
        self.lastWanted = lastWanted
    }

    /// The identity of the block in a cache.
    var key: BlockCache.Key { BlockCache.Key(segment: reader.id, offset: entry.offset) }

    /// Reads, checks and decodes the block or a part of it; a whole one with a map if a marker is given.
    func decoded(mapping: EventMarker?) -> Result<DecodedBlock, LogError> {
        guard isPart else { return reader.decoded(entry, mapping: mapping) }
        return Result { () throws(LogError) in
            let bytes = try reader.firstBytes(likelyByteCount, of: entry)
            return DecodedBlock(bytes: bytes, entry: entry)
        }
    }

    /// The number of first bytes that are likely to have the wanted positions.
    private var likelyByteCount: Int {
        guard let lastWanted else { return .max }
        let count = Int(entry.rawByteCount)
        let wantedCount = Int(lastWanted.rawValue - entry.first.rawValue) + 1
        // Events differ in length, and the first follows the head of its commit.
        return count * wantedCount / Int(entry.positionCount) + count / 8
    }

    // A segment that was closed and opened again has another reader.
    static func == (one: SegmentBlock, other: SegmentBlock) -> Bool {
        one.reader.id == other.reader.id && one.entry == other.entry
    }
}
