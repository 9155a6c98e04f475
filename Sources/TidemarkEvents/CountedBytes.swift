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
        return extracting(range).text
    }

    /// The bytes as text; `nil` if they are not UTF-8.
    var text: String? { withUnsafeBytes { String(validating: $0, as: UTF8.self) } }
}
