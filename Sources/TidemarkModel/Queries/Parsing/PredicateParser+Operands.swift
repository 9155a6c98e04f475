// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension PredicateParser {
    /// One side of a comparison.
    enum Side {
        case key(Query.Key)
        case operand(Query.Operand)
        /// `SELF`: all texts of the record.
        case itself
        /// `allTokens`: all words of the record.
        case allTokens
        /// `tokenize(text, …)`.
        case words(String)
        case distance(Query.Key, Location)
    }

    mutating func side() throws(PredicateError) -> Side {
        let start = tokenStart
        switch token {
        case .string(let text):
            try advance()
            return .operand(.value(.string(text)))
        case .number(let number):
            try advance()
            return .operand(.value(number))
        case .escapedName(let name):
            try advance()
            return .key(.field(Name(name)))
        case .placeholder(let letters):
            return try placeholder(letters)
        case .symbol("{"):
            return try nested { parser throws(PredicateError) in
                .operand(.value(try parser.list()))
            }
        case .symbol("("):
            return try nested { parser throws(PredicateError) in
                try parser.advance()
                let inner = try parser.side()
                try parser.expect(")")
                return inner
            }
        case .word(let text):
            if let constant = try constant() { return constant }
            try advance()
            if token == .symbol("(") {
                return try nested { parser throws(PredicateError) in
                    try parser.function(text, at: start)
                }
            }
            return .key(try Self.key(text, at: start))
        default:
            throw unexpected("a field or a value")
        }
    }

    /// Reads a key from the text or from the argument of `%K`.
    static func key(_ text: String, at offset: Int) throws(PredicateError) -> Query.Key {
        guard !PredicateLexer.isKeyPath(text) else {
            throw PredicateError(
                "Key paths such as \(text) are not supported: a query looks at the fields of one "
                    + "record. Write #\(text) if this is a field's name.",
                at: offset
            )
        }
        guard !text.isEmpty, !text.utf8.contains(UInt8(ascii: ":")),
            text.utf8.first != UInt8(ascii: "@")
        else {
            throw PredicateError("'\(text)' is not the name of a field.", at: offset)
        }
        return Query.Key(text)
    }

    private mutating func constant() throws(PredicateError) -> Side? {
        guard let word else { return nil }
        let constant: Side
        switch word {
        case .null, .nil: constant = .operand(.null)
        // CloudKit has no truth values, so YES and TRUE are the number 1.
        case .yes, .true: constant = .operand(.value(.int64(1)))
        case .no, .false: constant = .operand(.value(.int64(0)))
        case .itself: constant = .itself
        case .allTokens: constant = .allTokens
        default: throw unexpected("a field or a value (a field of this name is written with #)")
        }
        try advance()
        return constant
    }

    private mutating func placeholder(_ letters: String) throws(PredicateError) -> Side {
        let argument = try nextArgument(letters)
        let start = tokenStart
        func mismatch(_ expected: String) -> PredicateError {
            var found = ""
            argument.write(to: &found)
            return PredicateError(
                "%\(letters) needs \(expected); its argument is \(found).",
                at: start
            )
        }
        let side: Side
        switch letters.drop(while: { "hlqztj.0123456789".contains($0) }) {
        case "@": side = .operand(argument)
        case "K":
            guard case .value(.string(let text)) = argument else {
                throw mismatch("the name of a field")
            }
            side = try Self.sideOfKey(text, at: start)
        case "d", "D", "i", "u", "U", "x", "X", "o", "O":
            guard case .value(.int64) = argument else { throw mismatch("a whole number") }
            side = .operand(argument)
        case "f", "F", "e", "E", "g", "G", "a", "A":
            switch argument {
            case .value(.double): side = .operand(argument)
            case .value(.int64(let number)): side = .operand(.value(.double(Double(number))))
            default: throw mismatch("a number")
            }
        case "s", "S":
            guard case .value(.string) = argument else { throw mismatch("a text") }
            side = .operand(argument)
        default:
            throw PredicateError(
                "%\(letters) is not supported. Write %@ for a value, %K for a key.",
                at: start
            )
        }
        try advance()
        return side
    }

    private static func sideOfKey(_ text: String, at offset: Int) throws(PredicateError) -> Side {
        // As an argument, every other word, such as NULL, is the name of a field.
        switch PredicateWord(text) {
        case .itself: .itself
        case .allTokens: .allTokens
        default: .key(try key(text, at: offset))
        }
    }

    /// Reads `{a, b, …}`: values of one type.
    ///
    /// Integers among reals become reals. Throws for one that no real number is equal to.
    mutating func list() throws(PredicateError) -> FieldValue {
        try expect("{")
        var elements: [FieldValue] = []
        while token != .symbol("}") {
            if !elements.isEmpty { try expect(",") }
            let start = tokenStart
            guard case .operand(.value(let element)) = try side(), element.type.element == nil
            else {
                throw PredicateError(
                    "Expected a value in a list: a text, a number, %@ …",
                    at: start
                )
            }
            guard let first = elements.first?.type, first != element.type else {
                elements.append(element)
                continue
            }
            switch (first, element) {
            case (.double, .int64(let whole)): elements.append(try Self.real(whole, at: start))
            case (.int64, .double):
                elements = try elements.map { (number) throws(PredicateError) in
                    guard case .int64(let whole) = number else { return number }
                    return try Self.real(whole, at: start)
                }
                elements.append(element)
            default:
                throw PredicateError(
                    "A list holds values of one type; this one begins with \(first.webName) and "
                        + "continues with \(element.type.webName).",
                    at: start
                )
            }
        }
        try advance()
        // No element shows the type of `{}`. The writer uses this form for an empty list of texts
        // only.
        return FieldValue(listOf: elements, ofType: elements.first?.type ?? .string)
    }

    /// Returns an integer as a real number of the same value.
    private static func real(
        _ whole: Int64,
        at offset: Int
    ) throws(PredicateError) -> FieldValue {
        guard let real = Double(exactly: whole) else {
            throw PredicateError(
                "A list holds values of one type; \(whole) among reals would be rounded. Compare "
                    + "with it separately.",
                at: offset
            )
        }
        return .double(real)
    }
}

extension FieldValue {
    /// Creates a list of the elements that have one type; omits the others.
    package init(listOf elements: [FieldValue], ofType type: FieldType) {
        func each<Element>(_ value: (FieldValue) -> Element?) -> [Element] {
            elements.compactMap(value)
        }
        switch type {
        case .int64, .int64List:
            self = .int64List(each { if case .int64(let value) = $0 { value } else { nil } })
        case .double, .doubleList:
            self = .doubleList(each { if case .double(let value) = $0 { value } else { nil } })
        case .bytes, .bytesList:
            self = .bytesList(each { if case .bytes(let value) = $0 { value } else { nil } })
        case .timestamp, .timestampList:
            self = .timestampList(
                each { if case .timestamp(let value) = $0 { value } else { nil } }
            )
        case .location, .locationList:
            self = .locationList(each { if case .location(let value) = $0 { value } else { nil } })
        case .reference, .referenceList:
            self = .referenceList(
                each { if case .reference(let value) = $0 { value } else { nil } }
            )
        case .asset, .assetList:
            self = .assetList(each { if case .asset(let value) = $0 { value } else { nil } })
        case .string, .stringList:
            self = .stringList(each { if case .string(let value) = $0 { value } else { nil } })
        }
    }
}
