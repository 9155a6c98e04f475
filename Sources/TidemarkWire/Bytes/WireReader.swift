// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The error in bytes that are not a message, with its offset.
struct WireFormError: Error, Hashable {
    let message: String
    let offset: Int

    init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// The offset and the cause.
    var summary: String { "at byte \(offset): \(message)" }
}

/// Reads numbers, texts and bytes one after another from bytes that another process sent: all are
/// checked.
struct WireReader {
    let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Skips some bytes, and returns their range.
    mutating func take(_ count: Int) throws(WireFormError) -> Range<Int> {
        // A subtraction: `offset + count` could overflow for a count that another process sent.
        guard count <= bytes.count - offset else {
            throw WireFormError(
                "\(count) bytes are expected, and \(bytes.count - offset) are left",
                at: offset
            )
        }
        defer { offset += count }
        return offset..<offset + count
    }

    private mutating func number<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Number.Type
    ) throws(WireFormError) -> Number {
        let range = try take(MemoryLayout<Number>.size)
        return bytes.withUnsafeBytes {
            // Numbers follow texts of any length, so they are not aligned.
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: range.lowerBound, as: type))
        }
    }

    mutating func byte() throws(WireFormError) -> UInt8 { try number(UInt8.self) }

    mutating func word32() throws(WireFormError) -> UInt32 { try number(UInt32.self) }

    mutating func word64() throws(WireFormError) -> UInt64 { try number(UInt64.self) }

    /// Reads a byte of flags, and checks that all other bits are zero.
    mutating func flags(_ known: UInt8) throws(WireFormError) -> UInt8 {
        let flags = try byte()
        // A later version may give a bit a meaning, such as a part that follows. A reader that
        // ignores the bit would read that part as the next one.
        guard flags & ~known == 0 else {
            throw WireFormError("the flags \(flags) have no meaning", at: offset - 1)
        }
        return flags
    }

    /// Reads the number of items that follow, each of at least some bytes.
    ///
    /// Throws if the rest is too short for them.
    mutating func count(ofItems least: Int) throws(WireFormError) -> Int {
        let count = Int(try word32())
        // Callers reserve memory for the items, so a count is checked before they do.
        guard count <= (bytes.count - offset) / least else {
            throw WireFormError("there are not enough bytes for \(count) items", at: offset - 4)
        }
        return count
    }

    /// Reads a length and that number of bytes, shared.
    mutating func blob() throws(WireFormError) -> ArraySlice<UInt8> {
        let count = Int(try word32())
        // A slice retains all of the message. Code that keeps a part for longer copies it.
        return bytes[try take(count)]
    }

    /// Reads the range of a text, which must be UTF-8.
    mutating func text(_ count: Int) throws(WireFormError) -> Range<Int> {
        let range = try take(count)
        let isText = bytes.withUnsafeBufferPointer { buffer in
            UTF8Text.isValid(UnsafeBufferPointer(rebasing: buffer[range]))
        }
        guard isText else { throw WireFormError("a text is not UTF-8", at: range.lowerBound) }
        return range
    }

    mutating func string() throws(WireFormError) -> String {
        let count = Int(try word32())
        return String(decoding: bytes[try text(count)], as: UTF8.self)
    }

    mutating func zone() throws(WireFormError) -> ZoneID {
        let name = try string()
        let owner = try string()
        // An empty owner stands for the current user, so that most zones need no owner in a
        // message.
        return ZoneID(zoneName: name, ownerName: owner.isEmpty ? ZoneID.currentOwner : owner)
    }

    mutating func tag() throws(WireFormError) -> RecordChangeTag? {
        let text = try string()
        return text.isEmpty ? nil : RecordChangeTag(text)
    }

    mutating func body() throws(WireFormError) -> RecordBody {
        let blob = try self.blob()
        do throws(BodyError) {
            // All of the body is checked here, once: later code reads fields without checks.
            return try RecordBody(validating: blob)
        } catch {
            throw WireFormError(error.message, at: blob.startIndex + error.offset)
        }
    }

    mutating func fields() throws(WireFormError) -> Fields {
        let blob = try self.blob()
        do throws(BodyError) {
            return try Fields(validating: blob)
        } catch {
            throw WireFormError(error.message, at: blob.startIndex + error.offset)
        }
    }

    /// Returns a value in JSON.
    mutating func json<Value: Decodable>(_ type: Value.Type) throws(WireFormError) -> Value {
        let blob = try self.blob()
        do throws(DecodingError) {
            return try WireCoding.value(type, from: Array(blob))
        } catch {
            throw WireFormError(error.summary, at: blob.startIndex)
        }
    }

    mutating func keys() throws(WireFormError) -> [String] {
        let count = try self.count(ofItems: 4)
        var keys: [String] = []
        keys.reserveCapacity(count)
        for _ in 0..<count { keys.append(try string()) }
        return keys
    }

    /// Checks that no bytes are left.
    func finish() throws(WireFormError) {
        guard offset == bytes.count else {
            throw WireFormError("\(bytes.count - offset) bytes are left over", at: offset)
        }
    }
}
