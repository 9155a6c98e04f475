// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The entries of a journal's segment as bytes: `Docs/formats/journal.md` has them.
package enum JournalEntries {
    /// Before the content of an entry: its length, how many were lost before it, a checksum, the time.
    static let headByteCount = 24
    /// An entry's content has at most this many bytes.
    package static let contentByteCountLimit = 1 << 20

    /// One entry where it lies in a segment.
    package struct Entry {
        /// Where it begins.
        package var offset: Int
        /// Milliseconds since 1970.
        package var time: Int64
        /// How many entries before it could not be written.
        package var lostCount: UInt32
        /// Where its content is.
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

    /// How many entries were appended to some bytes, and how many those say were lost before.
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

    /// Gives entries that lie one after another the checksums of the place where they are written.
    ///
    /// `lost` entries are noted in the first one, beside those that it knows of.
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

    /// The checksum of an entry: over its time and content, seeded also by its first eight bytes.
    private static func checksum(_ entry: RawSpan, _ seed: UInt64) -> UInt64 {
        xxh3(
            entry.extracting(16..<entry.byteCount),
            seed: seed &+ entry.integer(at: 0, as: UInt64.self)
        )
    }

    /// The entry at an offset of a segment; `nil` if there is no sound one.
    static func entry(in segment: RawSpan, at offset: Int, salt: UInt64) -> Entry? {
        guard offset + headByteCount <= segment.byteCount else { return nil }
        let length = Int(segment.integer(at: offset, as: UInt32.self))
        let end = offset + headByteCount + length
        guard length <= contentByteCountLimit, end <= segment.byteCount else { return nil }
        let bytes = segment.extracting(offset..<end)
        let seed = Layout.seed(salt: salt, offset: UInt64(offset))
        guard checksum(bytes, seed) == bytes.integer(at: 8) else { return nil }
        return Entry(
            offset: offset,
            time: bytes.integer(at: 16),
            lostCount: bytes.integer(at: 4),
            content: offset + headByteCount..<end
        )
    }

    /// A stretch of a segment that holds no sound entry, with sound ones behind it.
    package struct Damage: Hashable, Sendable {
        package var range: Range<Int>
    }

    /// What walking a segment came to.
    package struct Walk: Sendable {
        /// Behind the last sound entry: what follows was cut off while it was written.
        package var end: Int
        package var damage: [Damage] = []
    }

    /// Visits the sound entries of a segment in order, until `visit` returns `false`.
    ///
    /// Where there is none, the next one is searched for at every multiple of eight.
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
            if offset > walk.end { walk.damage.append(Damage(range: walk.end..<offset)) }
            walk.end = min(Layout.aligned(entry.content.upperBound), segment.byteCount)
            offset = Layout.aligned(entry.content.upperBound)
            if !visit(entry) { break }
        }
        return walk
    }
}
