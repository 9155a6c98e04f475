// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A block, and the reader of its segment.
struct SegmentBlock: Equatable {
    let reader: SegmentReader
    let entry: BlockEntry

    init(_ entry: BlockEntry, of reader: SegmentReader) {
        self.reader = reader
        self.entry = entry
    }

    /// The identity of the block in a cache.
    var key: BlockCache.Key { BlockCache.Key(segment: reader.id, offset: entry.offset) }

    /// Reads, checks and decodes the block, with a map if `mapping` is true.
    func decoded(mapping: Bool) -> Result<DecodedBlock, LogError> {
        reader.decoded(entry, mapping: mapping)
    }

    // A segment that was closed and opened again has another reader.
    static func == (one: SegmentBlock, other: SegmentBlock) -> Bool {
        one.reader.id == other.reader.id && one.entry == other.entry
    }
}
