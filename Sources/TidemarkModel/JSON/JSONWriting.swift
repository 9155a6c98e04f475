// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Writing JSON in its shortest form, with the same bytes for the same values.
extension [UInt8] {
    /// Appends text unchanged, such as punctuation and member names.
    package mutating func append(literal text: StaticString) {
        append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        )
    }

    /// Appends a whole number.
    package mutating func append(jsonNumber number: some BinaryInteger) {
        append(contentsOf: String(number).utf8)
    }

    /// Appends a whole number of the type that most numbers of records have.
    package mutating func append(jsonNumber number: Int64) {
        // Without a string: each record that is written has several numbers.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = number.magnitude
            repeat {
                start -= 1
                let digit = UInt8(truncatingIfNeeded: rest % 10)
                digits.initializeElement(at: start, to: UInt8(ascii: "0") + digit)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                digits.initializeElement(at: start, to: UInt8(ascii: "-"))
            }
            append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Appends the shortest digits that parse to a finite number.
    package mutating func append(jsonNumber number: Double) {
        append(contentsOf: number.description.utf8)
    }

    /// Appends a string.
    package mutating func append(jsonString text: String) {
        Name(text).withBytes { append(jsonUTF8: $0) }
    }

    /// Appends the name of an object's next member, which needs no escapes.
    ///
    /// A comma precedes it, unless the object has just begun.
    package mutating func append(member name: StaticString) {
        let comma = last == UInt8(ascii: "{") ? 0 : 1
        let count = name.utf8CodeUnitCount
        append(count + comma + 3) { text in
            text[0] = UInt8(ascii: ",")
            text[comma] = UInt8(ascii: "\"")
            (text + comma + 1).initialize(from: name.utf8Start, count: count)
            text[comma + 1 + count] = UInt8(ascii: "\"")
            text[comma + 2 + count] = UInt8(ascii: ":")
        }
    }

    /// Appends a number of bytes, all of which a closure sets.
    ///
    /// One check of the room, where each single `append` has its own.
    @inline(__always)
    private mutating func append(_ count: Int, _ set: (UnsafeMutablePointer<UInt8>) -> Void) {
        append(addingCapacity: count) { span in
            span.withUnsafeMutableBufferPointer { buffer, initializedCount in
                guard let start = buffer.baseAddress else { return }
                set(start)
                initializedCount += count
            }
        }
    }

    /// Appends a member whose value is a string; nothing without one.
    package mutating func append(member name: StaticString, jsonString text: String?) {
        guard let text else { return }
        append(member: name)
        append(jsonString: text)
    }

    /// Appends a member whose value is a whole number; nothing without one.
    package mutating func append(
        member name: StaticString,
        jsonNumber number: (some BinaryInteger)?
    ) {
        guard let number else { return }
        append(member: name)
        append(jsonNumber: number)
    }

    /// Appends a member whose value is a finite number; nothing without one.
    package mutating func append(member name: StaticString, jsonNumber number: Double?) {
        guard let number else { return }
        append(member: name)
        append(jsonNumber: number)
    }

    /// Appends a member whose value is true or false.
    package mutating func append(member name: StaticString, jsonBool truth: Bool) {
        append(member: name)
        append(literal: truth ? "true" : "false")
    }

    /// Appends an array, each element of which a closure appends.
    package mutating func append<Item>(
        jsonList items: [Item],
        _ write: (inout [UInt8], Item) -> Void
    ) {
        append(UInt8(ascii: "["))
        for (index, item) in items.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            write(&self, item)
        }
        append(UInt8(ascii: "]"))
    }

    /// Appends bytes as a string in base64.
    package mutating func append(jsonBase64 bytes: some Sequence<UInt8>) {
        append(UInt8(ascii: "\""))
        Array(bytes).withUnsafeBufferPointer { Base64.encode($0, .standard, into: &self) }
        append(UInt8(ascii: "\""))
    }

    /// Appends UTF-8 as a string.
    ///
    /// Escapes quotation marks, backslashes and control characters, and copies all other bytes.
    package mutating func append(jsonUTF8 utf8: UnsafeBufferPointer<UInt8>) {
        var run = JSONText.plainCount(in: utf8, from: 0)
        if run == utf8.count, let start = utf8.baseAddress {
            return append(run + 2) { text in
                text[0] = UInt8(ascii: "\"")
                (text + 1).initialize(from: start, count: run)
                text[run + 1] = UInt8(ascii: "\"")
            }
        }
        append(UInt8(ascii: "\""))
        var start = 0
        while start < utf8.count {
            run = JSONText.plainCount(in: utf8, from: start)
            append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<start + run]))
            start += run
            guard start < utf8.count else { break }
            appendEscape(of: utf8[start])
            start += 1
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(of byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        default:
            append(literal: "u00")
            // A control character is below 0x20, so the third digit is 0 or 1.
            append(byte < 0x10 ? 48 : 49)
            append(Array("0123456789abcdef".utf8)[Int(byte & 0xF)])
        }
    }
}
