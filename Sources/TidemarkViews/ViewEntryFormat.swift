// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog

/// The encoding of keys and values in the index's file, as described in `Docs/formats/views.md`.
///
/// Encoded keys sort as bytes in key order, and take as little space as their words allow: a record
/// has two entries here, and most words are small.
package enum ViewEntryFormat {
    /// The length of the longest key.
    package static let maximumKeyByteCount = 18
    /// The length of the longest entry that is a word; longer entries are bytes.
    static let maximumWordByteCount = 11
    /// The length of the header before the bytes of a value that is not a word.
    static let bytesHeaderByteCount = 12
    /// The length of the longest value.
    package static let maximumValueByteCount = bytesHeaderByteCount + ViewValue.maximumByteCount

    // MARK: Keys

    /// Writes a key and returns its length.
    ///
    /// There must be `maximumKeyByteCount` + 8 bytes of room.
    package static func encode(_ key: ViewKey, at start: UnsafeMutableRawPointer) -> Int {
        let first = encode(key.high, at: start)
        return first + encode(key.low, at: start + first)
    }

    /// Writes a word: the number of following bytes in the first four bits, then the word,
    /// big-endian, in the other four bits and those bytes.
    ///
    /// Larger words have larger first bits, so that the order is kept.
    private static func encode(_ word: UInt64, at start: UnsafeMutableRawPointer) -> Int {
        // The first byte holds four bits of the word. A word of b bits therefore needs (b - 4) / 8
        // more bytes, rounded up.
        let following = (UInt64.bitWidth - word.leadingZeroBitCount + 3) / 8
        if following == 8 {
            start.storeBytes(of: 0x80, as: UInt8.self)
            (start + 1).storeBytes(of: word.bigEndian, as: UInt64.self)
        } else {
            // The word has at most 4 + 8 × `following` bits, and `following` is below 8. The four
            // bits above those of the word are free for the count.
            let marked = word | UInt64(following) << UInt64(4 + 8 * following)
            let aligned = marked << UInt64(8 * (7 - following))
            start.storeBytes(of: aligned.bigEndian, as: UInt64.self)
        }
        return following + 1
    }

    /// Reads a key; `nil` if the bytes are not one.
    @inline(__always)
    package static func decodeKey(_ bytes: UnsafeRawBufferPointer) -> ViewKey? {
        var position = 0
        guard let high = decodeWord(bytes, &position), let low = decodeWord(bytes, &position),
            position == bytes.count
        else { return nil }
        return ViewKey(high, low)
    }

    @inline(__always)
    private static func decodeWord(
        _ bytes: UnsafeRawBufferPointer,
        _ position: inout Int
    ) -> UInt64? {
        guard position < bytes.count else { return nil }
        let start = position
        let following = Int(bytes[start] >> 4)
        position += following + 1
        guard following <= 8, position <= bytes.count else { return nil }
        // The usual lengths of zones, positions and slots are read at once.
        switch following {
        case 1: return UInt64(integer(bytes, start, UInt16.self) & 0x0FFF)
        case 3: return UInt64(integer(bytes, start, UInt32.self) & 0x0FFF_FFFF)
        case 8: return integer(bytes, start + 1, UInt64.self)
        default: break
        }
        var word = UInt64(bytes[start] & 0x0F)
        if following == 2 { return word << 16 | UInt64(integer(bytes, start + 1, UInt16.self)) }
        for index in start + 1..<position { word = word << 8 | UInt64(bytes[index]) }
        return word
    }

    @inline(__always)
    private static func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: UnsafeRawBufferPointer,
        _ offset: Int,
        _ type: Value.Type
    ) -> Value {
        Value(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    // MARK: Values

    /// Writes a word with its tag and check, and returns the length: three bytes, then the word,
    /// little-endian, without its leading zero bytes.
    ///
    /// There must be 11 bytes of room.
    package static func encode(
        _ word: UInt64,
        tag: UInt8,
        of key: ViewKey,
        in table: ViewTable,
        at start: UnsafeMutableRawPointer
    ) -> Int {
        start.storeBytes(of: tag, as: UInt8.self)
        let check = self.check(table, key, word, tag)
        (start + 1).storeBytes(of: check.littleEndian, as: UInt16.self)
        (start + 3).storeBytes(of: word.littleEndian, as: UInt64.self)
        return 3 + (UInt64.bitWidth - word.leadingZeroBitCount + 7) / 8
    }

    /// Writes the check and count of bytes, then the bytes, and returns the length.
    package static func encode(
        _ value: ArraySlice<UInt8>,
        of key: ViewKey,
        in table: ViewTable,
        at start: UnsafeMutableRawPointer
    ) -> Int {
        value.withUnsafeBytes { bytes in
            let check = xxh3(bytes.bytes, seed: seed(table, key))
            start.storeBytes(of: check.littleEndian, as: UInt64.self)
            (start + 8).storeBytes(of: UInt32(bytes.count).littleEndian, as: UInt32.self)
            UnsafeMutableRawBufferPointer(
                start: start + bytesHeaderByteCount,
                count: bytes.count
            ).copyMemory(from: bytes)
            return bytesHeaderByteCount + bytes.count
        }
    }

    /// Reads the value of a key; `nil` if its check does not match.
    package static func decodeValue(
        _ bytes: UnsafeRawBufferPointer,
        of key: ViewKey,
        in table: ViewTable
    ) -> ViewValue? {
        if bytes.count <= maximumWordByteCount {
            return decodeWord(bytes, of: key, in: table).map { .word($0.word, tag: $0.tag) }
        }
        return decodeBytes(bytes, of: key, in: table).map { .bytes($0) }
    }

    /// Reads a value of at most `maximumWordByteCount` bytes.
    @inline(__always)
    static func decodeWord(
        _ bytes: UnsafeRawBufferPointer,
        of key: ViewKey,
        in table: ViewTable
    ) -> (word: UInt64, tag: UInt8)? {
        guard bytes.count >= 3 else { return nil }
        var word: UInt64 = 0
        if bytes.count == maximumWordByteCount {
            word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 3, as: UInt64.self))
        } else {
            for index in 3..<bytes.count { word |= UInt64(bytes[index]) << UInt64(8 * (index - 3)) }
        }
        let tag = bytes[0]
        let stored = UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt16.self))
        return stored == check(table, key, word, tag) ? (word, tag) : nil
    }

    /// Reads a value of more than `maximumWordByteCount` bytes.
    static func decodeBytes(
        _ bytes: UnsafeRawBufferPointer,
        of key: ViewKey,
        in table: ViewTable
    ) -> [UInt8]? {
        guard bytes.count >= bytesHeaderByteCount else { return nil }
        let stored = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        let count = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        let value = UnsafeRawBufferPointer(rebasing: bytes[bytesHeaderByteCount...])
        guard Int(count) == value.count, stored == xxh3(value.bytes, seed: seed(table, key)) else {
            return nil
        }
        return [UInt8](value)
    }

    // MARK: Checks

    /// Returns a 16-bit check of the whole entry, from two long multiplications: entries are read
    /// too often for a hash of bytes.
    private static func check(
        _ table: ViewTable,
        _ key: ViewKey,
        _ word: UInt64,
        _ tag: UInt8
    ) -> UInt16 {
        let beside = UInt64(table.rawValue) << 8 | UInt64(tag)
        let first = fold(key.high ^ 0x9E37_79B9_7F4A_7C15, key.low ^ 0xBF58_476D_1CE4_E5B9)
        let second = fold(first ^ word ^ 0x94D0_49BB_1331_11EB, beside ^ 0xD6E8_FEB8_6659_FD93)
        return UInt16(truncatingIfNeeded: second >> 32)
    }

    /// Returns the seed of the check of a value that is bytes.
    private static func seed(_ table: ViewTable, _ key: ViewKey) -> UInt64 {
        fold(key.high ^ 0x9E37_79B9_7F4A_7C15, key.low ^ 0xBF58_476D_1CE4_E5B9)
            ^ UInt64(table.rawValue)
    }

    /// Returns the two halves of a product, combined by exclusive or.
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
