// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension PredicateParser {
    /// Reads the arguments of a function whose name was just read.
    mutating func function(_ name: String, at start: Int) throws(PredicateError) -> Side {
        switch name {
        case "distanceToLocation:fromLocation:": return try distance()
        case "tokenize", "tokenize:using:": return try tokenize()
        case "now", "NOW":
            try expect("(")
            try expect(")")
            return .operand(.now)
        case "CAST": return try cast()
        case "TIMESTAMP":
            let values = try values(1, "TIMESTAMP(milliseconds since 1970)")
            guard case .int64(let time) = values[0] else { break }
            return .operand(.value(.timestamp(time)))
        case "LOCATION":
            let values = try values(2, "LOCATION(latitude, longitude)")
            // The coordinates are not checked here: `problem` checks those of a whole comparison.
            guard let latitude = values[0].number, let longitude = values[1].number else { break }
            return .operand(
                .value(.location(Location(latitude: latitude, longitude: longitude)))
            )
        case "REFERENCE":
            let values = try values(1, "REFERENCE(record name)")
            guard case .string(let name) = values[0] else { break }
            return .operand(.value(.reference(Reference(recordName: name))))
        default:
            // `INT64_LIST()` and the like are literals of empty lists, which have no other form
            // (Docs/queries.md, "The language").
            guard let type = FieldType(webName: name), let element = type.element else {
                throw PredicateError(
                    "The function \(name) is not supported. Supported are now, tokenize and "
                        + "distanceToLocation:fromLocation:.",
                    at: start
                )
            }
            _ = try values(0, "\(name)(): lists that are not empty are written {a, b}")
            return .operand(.value(FieldValue(listOf: [], ofType: element)))
        }
        throw PredicateError("The value in \(name)(…) is of the wrong type.", at: start)
    }

    /// Values between parentheses.
    private mutating func values(
        _ count: Int,
        _ form: String
    ) throws(PredicateError) -> [FieldValue] {
        let start = tokenStart
        try expect("(")
        var values: [FieldValue] = []
        while token != .symbol(")") {
            if !values.isEmpty { try expect(",") }
            guard case .operand(.value(let value)) = try side() else {
                throw PredicateError("Expected \(form).", at: start)
            }
            values.append(value)
        }
        try expect(")")
        guard values.count == count else { throw PredicateError("Expected \(form).", at: start) }
        return values
    }

    /// `CAST(seconds since 2001, "NSDate")`, as an `NSPredicate` prints its dates.
    private mutating func cast() throws(PredicateError) -> Side {
        let start = tokenStart
        let values = try values(2, "CAST(seconds since 2001, \"NSDate\")")
        // Foundation counts from 2001, which began 978,307,200 seconds after 1970.
        guard let seconds = values[0].number, values[1] == .string("NSDate"),
            // `exactly` is `nil` for NaN and beyond 64 bits, where a plain conversion would trap.
            let time = Int64(exactly: ((seconds + 978_307_200) * 1000).rounded())
        else {
            throw PredicateError(
                "CAST is supported for dates alone: CAST(seconds since 2001, \"NSDate\").",
                at: start
            )
        }
        return .operand(.value(.timestamp(time)))
    }

    private mutating func tokenize() throws(PredicateError) -> Side {
        let values = try values(2, "tokenize(text, 'Cdl')")
        // The options change nothing: a search for words always ignores case and accents.
        guard case .string(let text) = values[0], case .string(let options) = values[1],
            options.allSatisfy({ "cdlCDL".contains($0) })
        else {
            throw PredicateError("Expected tokenize(text, 'Cdl').", at: tokenStart)
        }
        return .words(text)
    }

    private mutating func distance() throws(PredicateError) -> Side {
        let start = tokenStart
        try expect("(")
        let first = try side()
        try expect(",")
        let second = try side()
        try expect(")")
        switch (first, second) {
        case (.key(let key), .operand(.value(.location(let place)))),
            (.operand(.value(.location(let place))), .key(let key)):
            return .distance(key, place)
        default:
            throw PredicateError(
                "Expected distanceToLocation:fromLocation:(field, %@) with a location as argument.",
                at: start
            )
        }
    }

    /// Reads an order: a key or a distance, then `ASC` or `DESC`.
    mutating func wholeSortDescriptor() throws(PredicateError) -> Query.SortDescriptor {
        let start = tokenStart
        let side = try side()
        var isAscending = true
        if case .word(let text) = token {
            switch text.uppercased() {
            case "ASC": break
            case "DESC": isAscending = false
            default: throw unexpected("ASC, DESC or the end")
            }
            try advance()
        }
        guard token == .end else { throw unexpected("ASC, DESC or the end") }
        switch side {
        case .key(let key): return Query.SortDescriptor(key, ascending: isAscending)
        case .distance(let key, let place):
            return Query.SortDescriptor(key, distanceFrom: place, ascending: isAscending)
        default:
            throw PredicateError("Expected a field, or a distance, to sort by.", at: start)
        }
    }
}

extension FieldValue {
    /// A number as a double; `nil` for another value.
    var number: Double? {
        switch self {
        case .int64(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
