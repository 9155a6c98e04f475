// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

extension [UInt8] {
    /// Appends the count of a string's UTF-8 bytes, then the bytes.
    package mutating func append(string: String) {
        append(variableInteger: UInt64(string.utf8.count))
        append(contentsOf: string.utf8)
    }
}

extension RawSpan {
    /// Reads a string that `append(string:)` wrote and moves past it; `nil` if it is cut off or
    /// not UTF-8.
    package func string(at offset: inout Int) -> String? {
        guard let range = countedRange(at: &offset) else { return nil }
        return extracting(range).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }

    /// Reads a byte count and the bytes after it, and moves past them; `nil` if they are cut off.
    package func countedRange(at offset: inout Int) -> Range<Int>? {
        var position = offset
        // Compared without a conversion: a damaged count may be greater than any `Int`.
        guard let count = variableInteger(at: &position), count <= UInt64(byteCount - position)
        else { return nil }
        offset = position + Int(count)
        return position..<offset
    }
}
