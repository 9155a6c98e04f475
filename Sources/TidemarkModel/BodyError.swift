// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why bytes are not a record's body, or not a set of fields.
public struct BodyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where in the bytes, counted from the first one looked at.
    public let offset: Int
    /// What was expected there, and what was found.
    public let message: String

    /// Describes one failure.
    package init(_ message: String, at offset: Int) {
        self.offset = offset
        self.message = message
    }

    /// The message and the place.
    public var description: String { "\(message) (at byte \(offset))" }
}
