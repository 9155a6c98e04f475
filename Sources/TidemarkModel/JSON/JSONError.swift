// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The error of bytes that are not the expected JSON.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset of the error in the text, in bytes from its start.
    package let offset: Int
    /// The cause and the remedy: what was expected and what was found.
    package let message: String

    /// Describes one failure.
    package init(_ message: String, at offset: Int) {
        self.offset = offset
        self.message = message.boundedForErrors
    }

    /// The message and the place.
    package var description: String { "\(message) (at byte \(offset))" }
}
