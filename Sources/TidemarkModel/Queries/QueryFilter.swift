// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// A condition on records, as a text with interpolated values that are never parsed.
    ///
    /// ```swift
    /// let late = garden.query(Chore.self, where: "state == \(state) AND due < \(now)")
    /// ```
    ///
    /// The language is that of ``Predicate/init(format:_:)``. An interpolated value replaces `%@`,
    /// so it cannot change the meaning of the text; `\(key: name)` inserts a field's name.
    public struct Filter: ExpressibleByStringInterpolation, Sendable {
        private let content: Content

        private enum Content: Sendable {
            case format(String, [Query.Operand])
            case predicate(Query.Predicate)
            /// A value is within quotes.
            case quoted(String)
        }

        /// Every record.
        public static var all: Filter { Filter(.always) }

        /// Wraps a predicate.
        public init(_ predicate: Query.Predicate) {
            content = .predicate(predicate)
        }

        /// Creates a filter from a text: `%@` takes the next value, and `%K` takes the next as a
        /// field's name.
        public init(format: String, _ arguments: (any FieldConvertible)?...) {
            content = .format(format, arguments.map(Query.Operand.init(argument:)))
        }

        /// Creates a filter from a text without values.
        public init(stringLiteral value: String) {
            content = .format(value, [])
        }

        /// Creates a filter from a text and its values.
        public init(stringInterpolation: StringInterpolation) {
            content =
                stringInterpolation.quotesValue
                ? .quoted(stringInterpolation.format)
                : .format(stringInterpolation.format, stringInterpolation.arguments)
        }

        /// Returns the predicate of the filter.
        ///
        /// Throws `invalidArguments` with the place, the expected token and the remedy.
        public func predicate() throws(SyncError) -> Query.Predicate {
            switch content {
            case .predicate(let predicate): return predicate
            case .format(let format, let arguments):
                return try Query.Predicate(format: format, arguments)
            case .quoted(let format):
                throw SyncError(
                    .invalidArguments,
                    "In the condition \"\(format)\" a value stands inside quotes, which would make "
                        + "it text.",
                    remedy: "Leave the quotes out: \"title == \\(title)\"."
                )
            }
        }

        /// A collector of a text and its values.
        public struct StringInterpolation: StringInterpolationProtocol {
            fileprivate var format = ""
            fileprivate var arguments: [Query.Operand] = []
            fileprivate var quotesValue = false
            /// The quote that the text so far has opened and not closed.
            private var openQuote: Unicode.Scalar?

            /// Creates an empty collector.
            public init(literalCapacity: Int, interpolationCount: Int) {
                format.reserveCapacity(literalCapacity + 2 * interpolationCount)
                arguments.reserveCapacity(interpolationCount)
            }

            /// Appends a part of the text.
            public mutating func appendLiteral(_ literal: String) {
                format += literal
                var isEscaped = false
                // Follows the quotes of the text as the lexer does. `%@` inside quotes would be
                // text, and the next value would take the place of this one.
                for scalar in literal.unicodeScalars {
                    // A backslash that is itself escaped escapes nothing.
                    defer { isEscaped = !isEscaped && scalar == "\\" }
                    if isEscaped { continue }
                    if scalar == openQuote {
                        openQuote = nil
                    } else if openQuote == nil, scalar == "'" || scalar == "\"" {
                        openQuote = scalar
                    }
                }
            }

            /// Appends a value.
            public mutating func appendInterpolation(_ value: (any FieldConvertible)?) {
                quotesValue = quotesValue || openQuote != nil
                format += "%@"
                arguments.append(Query.Operand(argument: value))
            }

            /// Appends the raw value of an enumeration.
            public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
            where Value.RawValue: FieldConvertible {
                appendInterpolation(value.rawValue)
            }

            /// Appends the name of a field.
            public mutating func appendInterpolation(key: String) {
                format += "%K"
                arguments.append(Query.Operand(argument: key))
            }
        }
    }
}

extension Query.Operand {
    /// Creates a value, or `nil`, as an argument of a predicate's text.
    fileprivate init(argument: (any FieldConvertible)?) {
        self = argument.map { .value($0.fieldValue) } ?? .null
    }
}

extension Query.SortDescriptor: ExpressibleByStringLiteral {
    /// Orders by a field, small values first.
    public init(stringLiteral value: String) {
        self.init(Query.Key(value))
    }

    /// Orders by a field, small values first.
    public static func ascending(_ field: String) -> Self { Self(Query.Key(field)) }

    /// Orders by a field, large values first.
    public static func descending(_ field: String) -> Self {
        Self(Query.Key(field), ascending: false)
    }
}
