// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The end of a sealed segment: the place of every block, the blocks of each zone, and totals of
/// the segment.
///
/// All of the footer can be computed again from the frames.
package struct Footer: Hashable, Sendable {
    /// The fixed part: 160 bytes, read at every opening.
    package struct Summary: Hashable, Sendable {
        package var first: SequenceNumber
        /// The last position covered.
        package var last: SequenceNumber
        package var eventCount: UInt64
        package var commitCount: UInt64
        package var firstTime: Int64
        package var lastTime: Int64
        package var firstReceived: Int64
        package var lastReceived: Int64
        /// Sum of the events' hashes, two words without carry between them: independent of order.
        package var eventHash: EventHash
        package var rawByteCount: UInt64
        package var blockCount: UInt32
        package var zoneCount: UInt32
        package var postingsByteCount: UInt32
        /// The offset of the footer, which is the end of the frames.
        package var offset: UInt64
        fileprivate var directoryChecksum: UInt64 = 0
        fileprivate var postingsChecksum: UInt64 = 0
    }

    package var summary: Summary
    /// One entry a block, in the order of the file.
    package var directory: [BlockEntry]
    /// The blocks that hold each zone's events, ascending by zone.
    package var postings: ZonePostings

    /// Returns the footer's bytes and the trailer's, as they follow the frames of one file.
    package func encoded(for header: FileHeader) -> [UInt8] {
        var directoryBytes: [UInt8] = []
        directoryBytes.reserveCapacity(directory.count * Layout.blockEntryByteCount)
        for entry in directory { entry.append(to: &directoryBytes) }
        let postingsBytes = postings.encoded()
        var summary = summary
        summary.blockCount = UInt32(directory.count)
        summary.zoneCount = UInt32(postings.zones.count)
        summary.postingsByteCount = UInt32(postingsBytes.count)
        let seed = Layout.seed(salt: header.salt, offset: summary.offset)
        summary.directoryChecksum = xxh3(directoryBytes.span.bytes, seed: seed &+ 1)
        summary.postingsChecksum = xxh3(postingsBytes.span.bytes, seed: seed &+ 2)
        var bytes = summary.encoded(version: header.version, seed: seed)
        bytes.append(contentsOf: directoryBytes)
        bytes.append(contentsOf: postingsBytes)
        bytes.pad(to: Layout.aligned(bytes.count))
        let byteCount = bytes.count
        var trailer: [UInt8] = []
        trailer.append(integer: summary.offset)
        trailer.append(integer: UInt64(byteCount))
        trailer.append(integer: xxh3(trailer.span.bytes, seed: seed &+ 3))
        trailer.append(integer: Layout.trailerMagic)
        return bytes + trailer
    }

    /// Reads the parts between the summary and the trailer; `nil` if a checksum fails.
    package init?(summary: Summary, decoding bytes: RawSpan, salt: UInt64) {
        let seed = Layout.seed(salt: salt, offset: summary.offset)
        let directoryByteCount = Int(summary.blockCount) * Layout.blockEntryByteCount
        let end = directoryByteCount + Int(summary.postingsByteCount)
        // No checksum covers the padding.
        guard bytes.byteCount >= end, bytes.isZero(in: end..<bytes.byteCount) else { return nil }
        let directoryBytes = bytes.extracting(0..<directoryByteCount)
        let postingsBytes = bytes.extracting(directoryByteCount..<end)
        guard xxh3(directoryBytes, seed: seed &+ 1) == summary.directoryChecksum,
            xxh3(postingsBytes, seed: seed &+ 2) == summary.postingsChecksum,
            let postings = ZonePostings(
                decoding: postingsBytes,
                zoneCount: Int(summary.zoneCount),
                blockCount: Int(summary.blockCount)
            )
        else { return nil }
        self.summary = summary
        self.postings = postings
        directory = (0..<Int(summary.blockCount)).map {
            BlockEntry(decoding: directoryBytes, at: $0 * Layout.blockEntryByteCount)
        }
        // With greater positions, sums of a position and a count could overflow later.
        let positions = 1...Layout.lastPosition
        guard directory.allSatisfy({ positions.contains($0.first.rawValue) }) else { return nil }
    }

    package init(summary: Summary, directory: [BlockEntry], postings: ZonePostings) {
        self.summary = summary
        self.directory = directory
        self.postings = postings
    }
}

extension Footer.Summary {
    /// A summary of nothing that ends at an offset.
    package init(offset: UInt64, first: SequenceNumber) {
        self.init(
            first: first,
            last: first.previous,
            eventCount: 0,
            commitCount: 0,
            firstTime: .max,
            lastTime: .min,
            firstReceived: .max,
            lastReceived: .min,
            eventHash: EventHash(),
            rawByteCount: 0,
            blockCount: 0,
            zoneCount: 0,
            postingsByteCount: 0,
            offset: offset
        )
    }

    /// All bytes from the footer's start to the end of the file.
    package var footerByteCount: Int {
        let body =
            Layout.footerHeaderByteCount + Int(blockCount) * Layout.blockEntryByteCount
            + Int(postingsByteCount)
        return Layout.aligned(body) + Layout.trailerByteCount
    }

    fileprivate func encoded(version: UInt16, seed: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: Layout.footerMagic)
        bytes.append(integer: version)
        bytes.pad(to: 8)
        bytes.append(integer: first.rawValue)
        bytes.append(integer: last.rawValue)
        bytes.append(integer: eventCount)
        bytes.append(integer: commitCount)
        bytes.append(integer: firstTime)
        bytes.append(integer: lastTime)
        bytes.append(integer: firstReceived)
        bytes.append(integer: lastReceived)
        bytes.append(integer: eventHash.low)
        bytes.append(integer: eventHash.high)
        bytes.append(integer: rawByteCount)
        bytes.append(integer: blockCount)
        bytes.append(integer: zoneCount)
        bytes.append(integer: postingsByteCount)
        bytes.pad(to: 112)
        bytes.append(integer: offset)
        bytes.append(integer: directoryChecksum)
        bytes.append(integer: postingsChecksum)
        bytes.pad(to: Layout.footerHeaderByteCount - 8)
        bytes.append(integer: xxh3(bytes.span.bytes, seed: seed))
        return bytes
    }

    /// Reads a summary back from a footer that begins at an offset of its file.
    package init?(decoding bytes: RawSpan, salt: UInt64, offset: UInt64) {
        let seed = Layout.seed(salt: salt, offset: offset)
        let checked = Layout.footerHeaderByteCount - 8
        guard bytes.byteCount >= Layout.footerHeaderByteCount,
            bytes.integer(at: 0, as: UInt32.self) == Layout.footerMagic,
            xxh3(bytes.extracting(0..<checked), seed: seed) == bytes.integer(at: checked),
            bytes.integer(at: 112, as: UInt64.self) == offset,
            bytes.sequence(at: 16).rawValue <= Layout.lastPosition
        else { return nil }
        self.init(
            first: bytes.sequence(at: 8),
            last: bytes.sequence(at: 16),
            eventCount: bytes.integer(at: 24),
            commitCount: bytes.integer(at: 32),
            firstTime: bytes.integer(at: 40),
            lastTime: bytes.integer(at: 48),
            firstReceived: bytes.integer(at: 56),
            lastReceived: bytes.integer(at: 64),
            eventHash: EventHash(low: bytes.integer(at: 72), high: bytes.integer(at: 80)),
            rawByteCount: bytes.integer(at: 88),
            blockCount: bytes.integer(at: 96),
            zoneCount: bytes.integer(at: 100),
            postingsByteCount: bytes.integer(at: 104),
            offset: offset,
            directoryChecksum: bytes.integer(at: 120),
            postingsChecksum: bytes.integer(at: 128)
        )
    }

    /// Reads a trailer, the last 32 bytes of a file: the footer's offset, and its length without
    /// the trailer.
    ///
    /// `nil` if the bytes are not a trailer of that file.
    package static func footerPlace(
        decodingTrailer bytes: RawSpan,
        salt: UInt64
    ) -> (offset: UInt64, byteCount: UInt64)? {
        guard bytes.byteCount == Layout.trailerByteCount,
            bytes.integer(at: 24, as: UInt64.self) == Layout.trailerMagic
        else { return nil }
        let offset: UInt64 = bytes.integer(at: 0)
        let seed = Layout.seed(salt: salt, offset: offset)
        guard xxh3(bytes.extracting(0..<16), seed: seed &+ 3) == bytes.integer(at: 16) else {
            return nil
        }
        return (offset, bytes.integer(at: 8))
    }
}

/// A sum of hashes that does not depend on order: equal for equal multisets of events.
package struct EventHash: Hashable, Sendable {
    package private(set) var low: UInt64 = 0
    package private(set) var high: UInt64 = 0

    /// The hash of no events.
    package init() {}

    /// Creates a hash from stored words.
    package init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Adds another sum.
    package mutating func add(_ other: EventHash) {
        low &+= other.low
        high &+= other.high
    }

    /// Adds one event: its position, zone and payload.
    package mutating func add(_ event: LogEvent) {
        let payload = event.payload
        add(event.sequence, zone: event.zone, payload.span.bytes)
    }

    /// Adds one event, given by its parts.
    mutating func add(_ sequence: SequenceNumber, zone: ZoneKey, _ payload: RawSpan) {
        // The seed covers zone and position, so events that have exchanged either change the sum.
        let seed = Layout.seed(salt: zone.rawValue, offset: sequence.rawValue)
        let hash = xxh3Wide(payload, seed: seed)
        low &+= hash.low
        high &+= hash.high
    }
}
