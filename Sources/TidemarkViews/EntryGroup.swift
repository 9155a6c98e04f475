// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// A group of neighbouring entries of a table, which LMDB stores as one value under the key of the
/// last of them, as described in `Docs/formats/views.md`.
///
/// The bytes belong to LMDB, and are valid until its transaction ends or changes something.
struct EntryGroup {
    /// The length of the part of the header before the bases.
    static let fixedHeaderByteCount = 10
    /// The maximum length of a group and its key.
    ///
    /// With LMDB's ten bytes, eight of them fill a page of 4 KiB.
    static let maximumByteCount = 500

    /// The number of entries, at least one.
    let count: Int
    /// The length of an entry.
    private let entryByteCount: Int
    private let entries: UnsafeRawPointer
    private let high: Column
    private let low: Column
    private let word: Column
    private let tag: Column

    /// One field of all entries: a base, to which each entry adds a number of a fixed width.
    private struct Column {
        var base: UInt64
        /// Covers the bytes of the number.
        var mask: UInt64
        /// The offset of the eight bytes that end with the number, from the entry's first byte.
        var offset: Int

        /// Creates the column of numbers of a width that end at an offset.
        init(base: UInt64, width: Int, end: Int) {
            self.base = base
            mask = width == 0 ? 0 : .max >> UInt64(64 - 8 * width)
            offset = end - 8
        }
    }

    /// Reads the header of a group; `nil` if the bytes are not one that was written under this key
    /// and in this table.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer, under key: ViewKey, in table: ViewTable) {
        guard bytes.count > Self.fixedHeaderByteCount, let start = bytes.baseAddress,
            UInt32(littleEndian: start.loadUnaligned(as: UInt32.self)) == Self.check(bytes),
            bytes[6] == table.rawValue
        else { return nil }
        let widths = (
            high: Int(bytes[8] & 0x0F),
            low: Int(bytes[8] >> 4),
            word: Int(bytes[9] & 0x0F),
            tag: Int(bytes[9] >> 4)
        )
        guard widths.high <= 8, widths.low <= 8, widths.word <= 8, widths.tag <= 1 else {
            return nil
        }
        var position = Self.fixedHeaderByteCount
        guard let highBase = ViewEntryFormat.decodeWord(bytes, &position),
            let lowBase = ViewEntryFormat.decodeWord(bytes, &position),
            let wordBase = ViewEntryFormat.decodeWord(bytes, &position)
        else { return nil }
        count = Int(
            UInt16(littleEndian: start.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
        )
        entries = start + position
        // The eight bytes that end with a number begin at most eight before the entries, which is
        // inside the header.
        high = Column(base: highBase, width: widths.high, end: widths.high)
        low = Column(base: lowBase, width: widths.low, end: widths.high + widths.low)
        let wordEnd = widths.high + widths.low + widths.word
        word = Column(base: wordBase, width: widths.word, end: wordEnd)
        tag = Column(base: UInt64(bytes[7]), width: widths.tag, end: wordEnd + widths.tag)
        entryByteCount = wordEnd + widths.tag
        guard count > 0, position + count * entryByteCount == bytes.count,
            lastKey == key
        else { return nil }
    }

    /// Returns the check of a group: a hash of everything after it.
    private static func check(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: xxh3(bytes.bytes.extracting(4..<bytes.count), seed: 0))
    }

    @inline(__always)
    private func number(_ column: Column, at index: Int) -> UInt64 {
        let offset = index &* entryByteCount &+ column.offset
        let bytes = (entries + offset).loadUnaligned(as: UInt64.self)
        return column.base &+ (UInt64(bigEndian: bytes) & column.mask)
    }

    /// Returns the key of an entry.
    @inline(__always)
    func key(at index: Int) -> ViewKey {
        ViewKey(number(high, at: index), number(low, at: index))
    }

    /// The key of the last entry.
    @inline(__always)
    var lastKey: ViewKey { key(at: count - 1) }

    /// Returns the second word of the key of an entry.
    @inline(__always)
    func low(at index: Int) -> UInt64 { number(low, at: index) }

    /// Returns the word of the value of an entry.
    @inline(__always)
    func word(at index: Int) -> UInt64 { number(word, at: index) }

    /// Returns the tag of the value of an entry.
    @inline(__always)
    func tag(at index: Int) -> UInt8 { UInt8(truncatingIfNeeded: number(tag, at: index)) }

    /// Returns the index of the first entry from a place on whose key is not before another; `count`
    /// if there is none.
    ///
    /// O(log n).
    @inline(__always)
    func firstIndex(notBefore other: ViewKey, from start: Int = 0) -> Int {
        var start = start
        var end = count
        while start < end {
            let middle = (start + end) / 2
            if key(at: middle) < other { start = middle + 1 } else { end = middle }
        }
        return start
    }

    /// Returns the index after the last entry whose key is not after another.
    ///
    /// O(log n).
    func endIndex(through other: ViewKey) -> Int {
        let index = firstIndex(notBefore: other)
        return index < count && key(at: index) == other ? index + 1 : index
    }
}

/// The bases and widths of a group that is to be written.
struct EntryGroupShape {
    private var low: (least: UInt64, greatest: UInt64)
    private var word: (least: UInt64, greatest: UInt64)
    private var tag: (least: UInt8, greatest: UInt8)
    private let first: ViewKey
    private var last: ViewKey
    private var count = 1

    /// Creates the shape of a group of one entry.
    init(_ entry: ViewBatch.Change) {
        low = (entry.key.low, entry.key.low)
        word = (entry.word, entry.word)
        tag = (entry.tag, entry.tag)
        first = entry.key
        last = entry.key
    }

    /// Adds the next entry in the order of keys.
    @inline(__always)
    mutating func add(_ entry: ViewBatch.Change) {
        low = (min(low.least, entry.key.low), max(low.greatest, entry.key.low))
        word = (min(word.least, entry.word), max(word.greatest, entry.word))
        tag = (min(tag.least, entry.tag), max(tag.greatest, entry.tag))
        last = entry.key
        count += 1
    }

    /// The length of the group and its key.
    var byteCount: Int {
        let fields = self.fields
        return EntryGroup.fixedHeaderByteCount + ViewEntryFormat.byteCount(of: fields.high.base)
            + ViewEntryFormat.byteCount(of: fields.low.base)
            + ViewEntryFormat.byteCount(of: fields.word.base)
            + count * (fields.high.width + fields.low.width + fields.word.width + tagWidth)
            + ViewEntryFormat.byteCount(of: last.high) + ViewEntryFormat.byteCount(of: last.low)
    }

    /// True if the group is not too long.
    var fits: Bool { byteCount <= EntryGroup.maximumByteCount }

    /// The length of an entry.
    var entryByteCount: Int {
        let fields = self.fields
        return fields.high.width + fields.low.width + fields.word.width + tagWidth
    }

    private struct Field {
        var base: UInt64
        var width: Int

        /// A number of eight bytes needs no base.
        @inline(__always)
        init(_ least: UInt64, _ greatest: UInt64) {
            width = (UInt64.bitWidth - (greatest - least).leadingZeroBitCount + 7) / 8
            base = width == 8 ? 0 : least
        }
    }

    private var fields: (high: Field, low: Field, word: Field) {
        // Keys ascend, so the first and the last one have the least and the greatest first word.
        (
            Field(first.high, last.high), Field(low.least, low.greatest),
            Field(word.least, word.greatest)
        )
    }

    private var tagWidth: Int { tag.least == tag.greatest ? 0 : 1 }

    /// Writes the group with the entries of this shape, and returns its length.
    ///
    /// There must be room for `EntryGroup.maximumByteCount` + 8 bytes.
    func write(
        _ entries: some Collection<ViewBatch.Change>,
        in table: ViewTable,
        at start: UnsafeMutableRawPointer
    ) -> Int {
        let (high, low, word) = fields
        let tagBase = tagWidth == 0 ? tag.least : 0
        (start + 4).storeBytes(of: UInt16(count).littleEndian, as: UInt16.self)
        (start + 6).storeBytes(of: table.rawValue, as: UInt8.self)
        (start + 7).storeBytes(of: tagBase, as: UInt8.self)
        (start + 8).storeBytes(of: UInt8(high.width | low.width << 4), as: UInt8.self)
        (start + 9).storeBytes(of: UInt8(word.width | tagWidth << 4), as: UInt8.self)
        var end = start + EntryGroup.fixedHeaderByteCount
        for base in [high.base, low.base, word.base] {
            end += ViewEntryFormat.encode(base, at: end)
        }
        // The eight bytes of each number reach into what follows, which is written after it.
        @inline(__always)
        func store(_ number: UInt64, _ width: Int) {
            guard width > 0 else { return }
            let aligned = number << UInt64(64 - 8 * width)
            end.storeBytes(of: aligned.bigEndian, as: UInt64.self)
            end += width
        }
        for entry in entries {
            store(entry.key.high &- high.base, high.width)
            store(entry.key.low &- low.base, low.width)
            store(entry.word &- word.base, word.width)
            store(UInt64(entry.tag &- tagBase), tagWidth)
        }
        let byteCount = end - start
        let hashed = UnsafeRawBufferPointer(start: start + 4, count: byteCount - 4)
        let check = UInt32(truncatingIfNeeded: xxh3(hashed.bytes, seed: 0))
        start.storeBytes(of: check.littleEndian, as: UInt32.self)
        return byteCount
    }
}
