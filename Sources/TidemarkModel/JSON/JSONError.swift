// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not the JSON that was expected.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where in the bytes, counted from the first one of the text.
    package let offset: Int
    /// What was expected, what was found, and what to do.
    package let message: String

    /// Describes one failure.
    package init(_ message: String, at offset: Int) {
        self.offset = offset
        self.message = message
    }

    /// The message and the place.
    package var description: String { "\(message) (at byte \(offset))" }
}
