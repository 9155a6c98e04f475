// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A place in a text.
public struct TextPosition: Hashable, Sendable, CustomStringConvertible {
    /// The line, from 1.
    public var line: Int
    /// The column, from 1, in Unicode scalars.
    public var column: Int

    /// Names a place.
    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// `line:column`, as compilers print it.
    public var description: String { "\(line):\(column)" }
}

/// The first syntax error in the text of a schema.
public struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The position of the error in the text.
    public let position: TextPosition
    /// The cause and the remedy: what was expected and what was found.
    public let message: String

    /// Creates an error.
    init(_ message: String, at position: TextPosition) {
        self.position = position
        self.message = message
    }

    /// The place and the message.
    public var description: String { "\(position): \(message)" }
}
