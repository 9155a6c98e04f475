// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The error of bytes that are not a record's body, or not a set of fields.
public struct BodyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The offset in the bytes at which the error was found, from the first byte read.
    public let offset: Int
    /// The bytes that were expected there, and those that were found.
    public let message: String

    /// Describes one failure.
    package init(_ message: String, at offset: Int) {
        self.offset = offset
        self.message = message
    }

    /// The message and the place.
    public var description: String { "\(message) (at byte \(offset))" }
}
