// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The bytes of an archive, written from front to back; see Docs/formats/archives.md.
struct ArchiveWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Writes eight bytes, the lowest first.
    mutating func write(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func write(_ number: Double) {
        write(number.bitPattern)
    }

    /// Writes seven bits for each byte, the lowest first; every byte but the last has the top bit.
    mutating func write(count: Int) {
        var rest = UInt64(count)
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            write(count: utf8.count)
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func write(_ data: Data) {
        write(count: data.count)
        bytes.append(contentsOf: data)
    }

    /// Writes 1 and the value, or 0 for `nil`.
    mutating func write<Value>(_ value: Value?, _ body: (inout Self, Value) -> Void) {
        write(value == nil ? 0 : 1 as UInt8)
        if let value { body(&self, value) }
    }
}

/// The bytes of an archive, read from front to back.
///
/// Every method throws if the bytes end too early, so a damaged archive never stops the program.
struct ArchiveReader {
    /// The bytes are not an archive, or not all of one.
    struct Damage: Error {}

    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// True if all bytes have been read.
    var isAtEnd: Bool { offset == bytes.count }

    private mutating func take(_ count: Int) throws -> Range<Int> {
        guard count <= bytes.count - offset else { throw Damage() }
        defer { offset += count }
        return offset..<(offset + count)
    }

    mutating func byte() throws -> UInt8 {
        bytes[try take(1).lowerBound]
    }

    mutating func number() throws -> UInt64 {
        bytes[try take(8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func double() throws -> Double {
        Double(bitPattern: try number())
    }

    /// Reads the number of values that follow, each of at least one byte.
    mutating func count() throws -> Int {
        var (result, shift) = (0, 0)
        while true {
            let next = try byte()
            // Five bytes hold every length that an archive can have, and keep the shift within
            // `Int`.
            guard shift < 35 else { throw Damage() }
            result |= Int(next & 0x7F) << shift
            if next < 0x80 { break }
            shift += 7
        }
        // Each value has at least one byte. A damaged count must not make a reader loop or allocate
        // for values that cannot be there.
        guard result <= bytes.count - offset else { throw Damage() }
        return result
    }

    mutating func text() throws -> String {
        let range = try take(try count())
        // Bytes that are not UTF-8 become replacement characters.
        return String(decoding: bytes[range], as: UTF8.self)
    }

    mutating func data() throws -> Data {
        Data(bytes[try take(try count())])
    }

    mutating func optional<Value>(
        _ body: (inout Self) throws -> Value
    ) throws -> Value? {
        try byte() == 0 ? nil : try body(&self)
    }

    /// Reads a count, and that number of values.
    mutating func list<Value>(
        _ body: (inout Self) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try count()) { values.append(try body(&self)) }
        return values
    }
}
