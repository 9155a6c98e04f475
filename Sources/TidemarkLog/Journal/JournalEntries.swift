// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The binary format of a journal segment's entries, described in `Docs/formats/journal.md`.
package enum JournalEntries {
    /// The size of an entry's head: the length, the number of entries lost before it, a checksum,
    /// and the time.
    static let headByteCount = 24
    /// An entry's content has at most this many bytes.
    package static let contentByteCountLimit = 1 << 20

    /// One entry where it lies in a segment.
    package struct Entry {
        /// The offset of the entry in the segment.
        package var offset: Int
        /// Milliseconds since 1970.
        package var time: Int64
        /// The number of entries directly before it that could not be written.
        package var lostCount: UInt32
        /// The range of the entry's content.
        package var content: Range<Int>
    }

    /// Appends an entry that has no checksum yet.
    static func append(_ content: [UInt8], at time: Int64, lost: UInt32, to bytes: inout [UInt8]) {
        bytes.append(integer: UInt32(content.count))
        bytes.append(integer: lost)
        bytes.append(integer: UInt64.zero)
        bytes.append(integer: time)
        bytes += content
        bytes.pad(to: Layout.aligned(bytes.count))
    }

    /// Returns the number of entries in some bytes, and the number that they record as lost.
    static func count(in bytes: [UInt8]) -> (entries: Int, lost: UInt32) {
        let span = bytes.span.bytes
        var count: (entries: Int, lost: UInt32) = (0, 0)
        var start = 0
        while start < bytes.count {
            count.entries += 1
            count.lost &+= span.integer(at: start + 4, as: UInt32.self)
            start = Layout.aligned(end(ofEntryAt: start, in: span))
        }
        return count
    }

    private static func end(ofEntryAt offset: Int, in bytes: RawSpan) -> Int {
        offset + headByteCount + Int(bytes.integer(at: offset, as: UInt32.self))
    }

    /// Computes the checksums of consecutive entries for the place where they are written.
    ///
    /// `lost` is added to the lost count of the first entry.
    static func seal(_ bytes: inout [UInt8], salt: UInt64, offset: UInt64, lost: UInt32) {
        var start = 0
        while start < bytes.count {
            if start == 0 {
                let known = bytes.span.bytes.integer(at: start + 4, as: UInt32.self)
                bytes.store(integer: known &+ lost, at: start + 4)
            }
            let end = end(ofEntryAt: start, in: bytes.span.bytes)
            let sum = checksum(
                bytes.span.bytes.extracting(start..<end),
                Layout.seed(salt: salt, offset: offset + UInt64(start))
            )
            bytes.store(integer: sum, at: start + 8)
            start = Layout.aligned(end)
        }
    }

    /// Returns the checksum of an entry: over its time and content, seeded also by its first eight
    /// bytes.
    private static func checksum(_ entry: RawSpan, _ seed: UInt64) -> UInt64 {
        xxh3(
            entry.extracting(16..<entry.byteCount),
            seed: seed &+ entry.integer(at: 0, as: UInt64.self)
        )
    }

    /// Returns the entry at an offset of a segment; `nil` if there is no sound one.
    static func entry(in segment: RawSpan, at offset: Int, salt: UInt64) -> Entry? {
        guard offset + headByteCount <= segment.byteCount else { return nil }
        let length = Int(segment.integer(at: offset, as: UInt32.self))
        let end = offset + headByteCount + length
        guard length <= contentByteCountLimit, end <= segment.byteCount else { return nil }
        let bytes = segment.extracting(offset..<end)
        let seed = Layout.seed(salt: salt, offset: UInt64(offset))
        // The length selects the hashed bytes and is part of the seed, so a wrong length fails too.
        guard checksum(bytes, seed) == bytes.integer(at: 8) else { return nil }
        return Entry(
            offset: offset,
            time: bytes.integer(at: 16),
            lostCount: bytes.integer(at: 4),
            content: offset + headByteCount..<end
        )
    }

    /// The result of walking a segment.
    package struct Walk: Sendable {
        /// The end of the last sound entry; the bytes after it were cut off while being written.
        package var end: Int
        /// The parts without a sound entry that are followed by sound ones.
        package var damage: [Range<Int>] = []
    }

    /// Visits the sound entries of a segment in order, until `visit` returns `false`.
    ///
    /// After an unsound place, the next entry is searched for at every multiple of eight.
    @discardableResult
    package static func walk(
        _ segment: RawSpan,
        salt: UInt64,
        _ visit: (Entry) -> Bool
    ) -> Walk {
        var walk = Walk(end: Layout.fileHeaderByteCount)
        var offset = walk.end
        while offset + headByteCount <= segment.byteCount {
            guard let entry = entry(in: segment, at: offset, salt: salt) else {
                offset += Layout.frameAlignment
                continue
            }
            // Skipped bytes are damage only because a sound entry follows. Without one, they are
            // the torn tail (`Docs/formats/journal.md`, "Entry").
            if offset > walk.end { walk.damage.append(walk.end..<offset) }
            walk.end = min(Layout.aligned(entry.content.upperBound), segment.byteCount)
            offset = Layout.aligned(entry.content.upperBound)
            if !visit(entry) { break }
        }
        return walk
    }
}
