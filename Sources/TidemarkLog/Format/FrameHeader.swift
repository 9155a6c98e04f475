// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The first 80 bytes of a frame, with a checksum seeded by the file's salt and the frame's place.
package struct FrameHeader: Hashable, Sendable {
    package var kind: FrameKind
    /// The whole frame: header, block table, blocks and padding.
    package var byteCount: UInt32
    package var blockCount: UInt32
    /// The first position in the frame; in a frame without events, the next one to come.
    package var first: SequenceNumber
    /// The number of positions that the frame covers.
    package var positionCount: UInt32
    package var commitCount: UInt32
    /// Everything in the file before this offset was durable when the frame was written.
    package var syncedOffset: UInt64
    /// The hash of the previous frame's header, or the file header's checksum.
    package var chain: UInt64
    /// Time of the last commit in the log as of this frame.
    package var lastTime: Int64
    /// Our own clock at the last commit as of this frame.
    package var lastReceived: Int64
    /// Over the block table, seeded by its place.
    package var tableChecksum: UInt64

    /// The last position in the frame, or the one before `first` if it has none.
    package var last: SequenceNumber {
        (first + Int(positionCount)).previous
    }

    /// Writes the header's 80 bytes over the start of a frame, for one place in one file.
    func store(in frame: inout [UInt8], salt: UInt64, offset: UInt64) {
        frame.withUnsafeMutableBytes { bytes in
            bytes.store(integer: Layout.frameMagic, at: 0)
            // The kind has one byte, and three zeros follow.
            bytes.store(integer: UInt32(kind.rawValue), at: 4)
            bytes.store(integer: byteCount, at: 8)
            bytes.store(integer: blockCount, at: 12)
            bytes.store(integer: first.rawValue, at: 16)
            bytes.store(integer: positionCount, at: 24)
            bytes.store(integer: commitCount, at: 28)
            bytes.store(integer: syncedOffset, at: 32)
            bytes.store(integer: chain, at: 40)
            bytes.store(integer: lastTime, at: 48)
            bytes.store(integer: lastReceived, at: 56)
            bytes.store(integer: tableChecksum, at: 64)
        }
        let checked = Layout.frameHeaderByteCount - 8
        let seed = Layout.seed(salt: salt, offset: offset)
        frame.store(
            integer: xxh3(frame.span.bytes.extracting(0..<checked), seed: seed),
            at: checked
        )
    }

    /// Reads a header; `nil` if the 80 bytes at the start of the span were not written at this
    /// place in this file.
    package init?(decoding bytes: RawSpan, salt: UInt64, offset: UInt64) {
        guard bytes.byteCount >= Layout.frameHeaderByteCount,
            bytes.integer(at: 0, as: UInt32.self) == Layout.frameMagic
        else { return nil }
        let checked = Layout.frameHeaderByteCount - 8
        let seed = Layout.seed(salt: salt, offset: offset)
        guard xxh3(bytes.extracting(0..<checked), seed: seed) == bytes.integer(at: checked),
            // An unknown kind ends the valid frames. `Docs/formats/compatibility.md`: a new kind
            // raises the version of the segment, so a build that does not know it rejects the file
            // before this.
            let kind = FrameKind(rawValue: bytes.byte(at: 4))
        else { return nil }
        self.kind = kind
        byteCount = bytes.integer(at: 8)
        blockCount = bytes.integer(at: 12)
        first = bytes.sequence(at: 16)
        positionCount = bytes.integer(at: 24)
        commitCount = bytes.integer(at: 28)
        syncedOffset = bytes.integer(at: 32)
        chain = bytes.integer(at: 40)
        lastTime = bytes.integer(at: 48)
        lastReceived = bytes.integer(at: 56)
        tableChecksum = bytes.integer(at: 64)
        let tableEnd =
            UInt64(Layout.frameHeaderByteCount)
            + UInt64(blockCount) * UInt64(Layout.blockEntryByteCount)
        // Events have positions from 1 on. Only frames without events, such as those of a manifest,
        // may state 0.
        guard UInt64(byteCount) >= tableEnd,
            Int(byteCount) % Layout.frameAlignment == 0,
            first.rawValue <= Layout.lastPosition, first != .zero || !kind.holdsEvents
        else { return nil }
    }

    /// Describes a frame that is being written.
    package init(
        kind: FrameKind,
        byteCount: Int,
        blockCount: Int,
        first: SequenceNumber,
        positionCount: Int,
        commitCount: Int,
        syncedOffset: UInt64,
        chain: UInt64,
        lastTime: Int64,
        lastReceived: Int64,
        tableChecksum: UInt64
    ) {
        self.kind = kind
        self.byteCount = UInt32(byteCount)
        self.blockCount = UInt32(blockCount)
        self.first = first
        self.positionCount = UInt32(positionCount)
        self.commitCount = UInt32(commitCount)
        self.syncedOffset = syncedOffset
        self.chain = chain
        self.lastTime = lastTime
        self.lastReceived = lastReceived
        self.tableChecksum = tableChecksum
    }
}

/// One line of a frame's block table and of a sealed segment's directory: the place, length and
/// checksum of a block.
package struct BlockEntry: Hashable, Sendable {
    /// The first position that the block covers.
    package var first: SequenceNumber
    /// From the start of the file.
    package var offset: UInt32
    package var storedByteCount: UInt32
    /// Equal to `storedByteCount` if the block is stored as it is.
    package var rawByteCount: UInt32
    package var positionCount: UInt32
    /// Over the stored bytes, seeded by their place.
    package var checksum: UInt64
    /// True if the block holds no events but a map of the stripe's blocks.
    package var isMap = false

    /// The offset behind the stored bytes.
    var end: UInt64 { UInt64(offset) + UInt64(storedByteCount) }

    /// The last position that the block covers.
    package var last: SequenceNumber {
        (first + Int(positionCount)).previous
    }

    /// Appends the entry's 32 bytes.
    package func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: Layout.blockEntryByteCount))
        bytes.withUnsafeMutableBytes { store(in: $0, at: start) }
    }

    /// Writes the entry's 32 bytes over those at an offset.
    func store(in bytes: UnsafeMutableRawBufferPointer, at start: Int) {
        bytes.store(integer: first.rawValue, at: start)
        bytes.store(integer: offset, at: start + 8)
        bytes.store(integer: storedByteCount, at: start + 12)
        bytes.store(integer: rawByteCount | (isMap ? Self.mapFlag : 0), at: start + 16)
        bytes.store(integer: positionCount, at: start + 20)
        bytes.store(integer: checksum, at: start + 24)
    }

    /// The bit of the raw byte count that marks a map; no block is that long.
    private static let mapFlag: UInt32 = 1 << 31

    /// Reads an entry back from a table whose checksum has been checked.
    package init(decoding bytes: RawSpan, at offset: Int) {
        first = bytes.sequence(at: offset)
        self.offset = bytes.integer(at: offset + 8)
        storedByteCount = bytes.integer(at: offset + 12)
        let rawByteCount: UInt32 = bytes.integer(at: offset + 16)
        self.rawByteCount = rawByteCount & ~Self.mapFlag
        isMap = rawByteCount & Self.mapFlag != 0
        positionCount = bytes.integer(at: offset + 20)
        checksum = bytes.integer(at: offset + 24)
    }

    package init(
        first: SequenceNumber,
        offset: Int,
        storedByteCount: Int,
        rawByteCount: Int,
        positionCount: Int,
        checksum: UInt64,
        isMap: Bool = false
    ) {
        self.first = first
        self.isMap = isMap
        self.offset = UInt32(offset)
        self.storedByteCount = UInt32(storedByteCount)
        self.rawByteCount = UInt32(rawByteCount)
        self.positionCount = UInt32(positionCount)
        self.checksum = checksum
    }
}
