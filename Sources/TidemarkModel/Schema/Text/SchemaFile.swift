// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A schema that was parsed from a text, with the positions of its parts in the text.
public struct SchemaFile: Sendable {
    /// The schema that the text declares.
    public let schema: Schema
    /// The positions at which roles, record types, fields and grants are first named.
    let positions: [Schema.Place: TextPosition]

    /// Parses a text of the schema language, as in `.ckdb` files.
    ///
    /// Throws at the first syntax error. To check names, indexes and limits, use
    /// ``problems(limits:)``. O(bytes) and the sorting of names.
    public init(_ text: String) throws(SchemaSyntaxError) {
        try self.init(bytes: Array(text.utf8)[...])
    }

    /// Reads the bytes of a `.ckdb` file.
    public init(bytes: ArraySlice<UInt8>) throws(SchemaSyntaxError) {
        if let offset = bytes.withUnsafeBufferPointer(UTF8Text.invalidOffset) {
            let before = bytes.prefix(offset)
            // Empty lines count too, or the number of the line would be too small.
            let line = before.split(separator: 0x0A, omittingEmptySubsequences: false)
            // Columns count characters, so continuation bytes of UTF-8 do not count.
            let column = line.last.map { $0.count { $0 & 0xC0 != 0x80 } } ?? 0
            throw SchemaSyntaxError(
                "The text is not UTF-8; save it in that encoding.",
                at: TextPosition(line: line.count, column: column + 1)
            )
        }
        var parser = try SchemaParser(bytes)
        self = try parser.read()
    }

    init(schema: Schema, positions: [Schema.Place: TextPosition]) {
        self.schema = schema
        self.positions = positions
    }

    /// Returns the position at which a part is named, or else that of its nearest container.
    public func position(of place: Schema.Place) -> TextPosition? {
        var place: Schema.Place? = place
        while let current = place {
            if let position = positions[current] { return position }
            place = current.container
        }
        return nil
    }

    /// Returns the problems of the schema, in the order of the text.
    public func problems(limits: Limits = Limits()) -> [(SchemaProblem, TextPosition)] {
        let start = TextPosition(line: 1, column: 1)
        return schema.problems(limits: limits)
            .map { ($0, position(of: $0.place) ?? start) }
            .sorted { ($0.1.line, $0.1.column) < ($1.1.line, $1.1.column) }
    }
}

extension Schema {
    /// Something in a schema.
    public enum Place: Hashable, Sendable {
        /// The schema as a whole.
        case schema
        /// A custom role.
        case role(Name)
        /// A record type.
        case recordType(Name)
        /// A field of a record type.
        case field(Name, Name)
        /// The permissions of a role on a record type.
        case grant(Name, Role)

        /// The part of the schema that contains this one.
        var container: Place? {
            switch self {
            case .schema: nil
            case .role, .recordType: .schema
            case .field(let recordType, _), .grant(let recordType, _): .recordType(recordType)
            }
        }
    }
}
