// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Little-endian words of a span.
///
/// The functions with a fixed offset check it in debug builds only, so they are for offsets that
/// were checked before. The functions that advance an offset return `nil` beyond the end.
extension RawSpan {
    func byte(at offset: Int) -> UInt8 {
        assert(offset >= 0 && offset <= byteCount - 1, "a word lies outside its bytes")
        return unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }

    func word16(at offset: Int) -> Int {
        assert(offset >= 0 && offset <= byteCount - 2, "a word lies outside its bytes")
        let word = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)
        return Int(UInt16(littleEndian: word))
    }

    func word32(at offset: Int) -> Int {
        assert(offset >= 0 && offset <= byteCount - 4, "a word lies outside its bytes")
        let word = unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
        return Int(UInt32(littleEndian: word))
    }

    func word64(at offset: Int) -> UInt64 {
        assert(offset >= 0 && offset <= byteCount - 8, "a word lies outside its bytes")
        return UInt64(littleEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    func nextByte(_ offset: inout Int) -> UInt8? {
        guard byteCount - offset >= 1 else { return nil }
        defer { offset += 1 }
        return byte(at: offset)
    }

    func nextWord16(_ offset: inout Int) -> Int? {
        guard byteCount - offset >= 2 else { return nil }
        defer { offset += 2 }
        return word16(at: offset)
    }

    func nextWord32(_ offset: inout Int) -> Int? {
        guard byteCount - offset >= 4 else { return nil }
        defer { offset += 4 }
        return word32(at: offset)
    }

    func nextWord64(_ offset: inout Int) -> UInt64? {
        guard byteCount - offset >= 8 else { return nil }
        defer { offset += 8 }
        return word64(at: offset)
    }

    func nextFiniteDouble(_ offset: inout Int) -> Double? {
        guard let word = nextWord64(&offset) else { return nil }
        let value = Double(bitPattern: word)
        // JSON cannot represent other numbers, so no value may be one (Docs/formats/record.md,
        // "Types and values").
        return value.isFinite ? value : nil
    }

    /// Returns the next bytes; `nil` if there are fewer.
    func nextBytes(_ count: Int, _ offset: inout Int) -> [UInt8]? {
        guard count >= 0, byteCount - offset >= count else { return nil }
        defer { offset += count }
        return extracting(offset..<offset + count).withUnsafeBytes { Array($0) }
    }

    /// Returns the next bytes as text; `nil` if there are fewer, or if they are not UTF-8.
    func nextString(_ count: Int, _ offset: inout Int) -> String? {
        guard count >= 0, byteCount - offset >= count else { return nil }
        defer { offset += count }
        return extracting(offset..<offset + count).withUnsafeBytes { bytes in
            let text = bytes.assumingMemoryBound(to: UInt8.self)
            // `String(decoding:)` alone would replace invalid bytes by U+FFFD. The value would then
            // differ from its stored bytes.
            return UTF8Text.isValid(text) ? String(decoding: text, as: UTF8.self) : nil
        }
    }
}

extension [UInt8] {
    /// Appends a number's bytes, least significant first.
    mutating func append<Word: FixedWidthInteger>(littleEndian word: Word) {
        Swift.withUnsafeBytes(of: word.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a text's UTF-8.
    mutating func append(text: String) {
        append(contentsOf: text.utf8)
    }
}
