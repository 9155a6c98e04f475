// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A reader of JSON (RFC 8259) that reads one token after another in place.
///
/// Strict: UTF-8 is checked, lone surrogates are refused, and nothing may follow the value. No tree
/// is built; a text is a range of the bytes until it is copied. The caller detects duplicate
/// members of an object.
///
/// The reader borrows the bytes: it must not outlive the call that lends them. Every access is
/// checked against their end here, in release builds too.
package struct JSONReader {
    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next token, or of white space before it.
    package private(set) var offset = 0

    /// The form of fields in a request of CloudKit Web Services; `nil` for fields of a change
    /// stream.
    package var webForm: WebFieldForm?

    /// Creates a reader at the first byte.
    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The kind of a value, by its first character.
    package enum Kind: Sendable {
        case object
        case array
        case string
        case number
        case boolean
        case null
    }

    /// The progress of reading an object or array.
    package struct Container: Sendable {
        fileprivate var isFirst = true
    }

    /// The maximum depth of nested values in ``skip()``.
    package static let depthLimit = 512

    // MARK: Structure

    /// Returns the kind of the next value without reading it.
    package mutating func peek() throws(JSONError) -> Kind {
        skipSpace()
        switch current {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"): return .null
        default: throw unexpected("a value")
        }
    }

    /// Enters an object.
    package mutating func openObject() throws(JSONError) -> Container {
        try expect(UInt8(ascii: "{"), "an object")
        return Container()
    }

    /// Returns the next member's name, after which its value must be read; `nil` once the object is
    /// over.
    package mutating func nextKey(of object: inout Container) throws(JSONError) -> JSONText? {
        guard try hasNext(in: &object, end: UInt8(ascii: "}"), "a member's name") else {
            return nil
        }
        let key = try text()
        try expect(UInt8(ascii: ":"), "a colon after a member's name")
        return key
    }

    /// Enters an array.
    package mutating func openArray() throws(JSONError) -> Container {
        try expect(UInt8(ascii: "["), "an array")
        return Container()
    }

    /// Returns true if the array has another value, which must then be read.
    package mutating func nextElement(of array: inout Container) throws(JSONError) -> Bool {
        try hasNext(in: &array, end: UInt8(ascii: "]"), "a value")
    }

    /// Checks that only white space is left.
    package mutating func finish() throws(JSONError) {
        skipSpace()
        guard offset == bytes.count else { throw unexpected("the end of the text") }
    }

    private mutating func hasNext(
        in container: inout Container,
        end: UInt8,
        _ expected: String
    ) throws(JSONError) -> Bool {
        skipSpace()
        if current == end {
            offset += 1
            return false
        }
        if container.isFirst {
            container.isFirst = false
        } else {
            guard current == UInt8(ascii: ",") else {
                throw unexpected("a comma or \(Self.quoted(end))")
            }
            offset += 1
            skipSpace()
            // RFC 8259 allows no comma after the last element.
            if current == end { throw unexpected(expected) }
        }
        return true
    }

    // MARK: Values

    /// Reads `true` or `false`.
    package mutating func boolean() throws(JSONError) -> Bool {
        skipSpace()
        if take("true") { return true }
        if take("false") { return false }
        throw unexpected("true or false")
    }

    /// Reads `null`.
    package mutating func null() throws(JSONError) {
        skipSpace()
        guard take("null") else { throw unexpected("null") }
    }

    /// Skips a value of any kind, and checks that it is JSON.
    package mutating func skip() throws(JSONError) {
        try skip(depth: 0)
    }

    private mutating func skip(depth: Int) throws(JSONError) {
        // Each level is a call. The limit keeps input from exhausting the stack.
        guard depth < Self.depthLimit else {
            throw JSONError("Values are nested deeper than \(Self.depthLimit).", at: offset)
        }
        switch try peek() {
        case .object:
            var object = try openObject()
            while try nextKey(of: &object) != nil { try skip(depth: depth + 1) }
        case .array:
            var array = try openArray()
            while try nextElement(of: &array) { try skip(depth: depth + 1) }
        case .string: _ = try text()
        case .number: _ = try number()
        case .boolean: _ = try boolean()
        case .null: try null()
        }
    }

    // MARK: Bytes

    /// Returns a reader of the same bytes at an offset that was passed before.
    func again(at offset: Int) -> JSONReader {
        var reader = self
        reader.offset = offset
        return reader
    }

    /// The next byte; zero at the end, because JSON has no zero byte outside of strings.
    var current: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

    mutating func advance(by count: Int) {
        offset += count
    }

    @inline(__always)
    mutating func skipSpace() {
        // Most requests have no white space, and every token begins with a greater byte.
        if current <= 0x20 { skipSomeSpace() }
    }

    private mutating func skipSomeSpace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case 0x20, 0x0A, 0x0D, 0x09: offset += 1
            default: return
            }
        }
    }

    @inline(__always)
    mutating func expect(_ character: UInt8, _ expected: String) throws(JSONError) {
        skipSpace()
        guard current == character else { throw unexpected(expected) }
        offset += 1
    }

    mutating func take(_ word: StaticString) -> Bool {
        // The word may be a prefix of a longer one, such as `nullable`. The text is still refused,
        // because only a comma, a bracket or the end can follow a value.
        guard bytes.count - offset >= word.utf8CodeUnitCount else { return false }
        for index in 0..<word.utf8CodeUnitCount
        where bytes[offset + index] != word.utf8Start[index] {
            return false
        }
        offset += word.utf8CodeUnitCount
        return true
    }

    func unexpected(_ expected: String) -> JSONError {
        let found = offset < bytes.count ? Self.quoted(bytes[offset]) : "the end of the text"
        return JSONError("Expected \(expected); found \(found).", at: offset)
    }

    private static func quoted(_ byte: UInt8) -> String {
        (0x21...0x7E).contains(byte)
            ? "'\(Character(Unicode.Scalar(byte)))'" : "byte 0x\(String(byte, radix: 16))"
    }
}

extension Collection<UInt8> {
    /// Reads the bytes as one JSON value, after which nothing may follow.
    package func readJSON<Value>(
        _ read: (inout JSONReader) throws(JSONError) -> Value
    ) throws(JSONError) -> Value {
        // The standard library's closures rethrow any error. The result preserves the error's type.
        func result(_ bytes: UnsafeBufferPointer<UInt8>) -> Result<Value, JSONError> {
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                let value = try read(&reader)
                try reader.finish()
                return .success(value)
            } catch {
                return .failure(error)
            }
        }
        let found =
            withContiguousStorageIfAvailable { result($0) }
            ?? Array(self).withUnsafeBufferPointer { result($0) }
        return try found.get()
    }
}
