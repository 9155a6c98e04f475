// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog

/// The encoding of keys, and of values that are bytes, as described in `Docs/formats/views.md`; see
/// ``EntryGroup`` for other values.
///
/// Encoded keys sort as bytes in key order, and take as little space as their words allow.
package enum ViewEntryFormat {
    /// The length of the longest key.
    package static let maximumKeyByteCount = 18
    /// The length of the header before the bytes of a value.
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
    /// Larger words have larger first bits, so that the order is kept. There must be nine bytes of
    /// room.
    @inline(__always)
    static func encode(_ word: UInt64, at start: UnsafeMutableRawPointer) -> Int {
        let following = byteCount(of: word) - 1
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

    /// Returns the length of a word as it is written.
    @inline(__always)
    static func byteCount(of word: UInt64) -> Int {
        // The first byte holds four bits of the word. A word of b bits therefore needs (b - 4) / 8
        // more bytes, rounded up.
        (UInt64.bitWidth - word.leadingZeroBitCount + 3) / 8 + 1
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

    /// Reads a word and moves behind it; `nil` if the bytes end before.
    @inline(__always)
    static func decodeWord(
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
