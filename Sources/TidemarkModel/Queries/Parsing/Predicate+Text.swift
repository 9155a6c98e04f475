// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query.Predicate: CustomStringConvertible {
    /// The canonical text, which ``init(format:_:)`` reads back.
    public var description: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// Appends the canonical text.
    func write(to text: inout String) {
        switch self {
        case .always: text += "TRUEPREDICATE"
        case .never: text += "FALSEPREDICATE"
        case .comparison(let comparison): comparison.write(to: &text)
        case .words(let search): search.write(to: &text)
        case .distance(let test): test.write(to: &text)
        case .and(let parts):
            Self.write(parts, joinedBy: " AND ", orElse: "TRUEPREDICATE", to: &text)
        case .or(let parts):
            Self.write(parts, joinedBy: " OR ", orElse: "FALSEPREDICATE", to: &text)
        case .not(let part):
            text += "NOT ("
            part.write(to: &text)
            text += ")"
        }
    }

    private static func write(
        _ parts: [Query.Predicate],
        joinedBy separator: String,
        orElse empty: String,
        to text: inout String
    ) {
        guard !parts.isEmpty else {
            text += empty
            return
        }
        for (index, part) in parts.enumerated() {
            if index > 0 { text += separator }
            // Even where precedence would not need them: without parentheses a nested AND would be
            // read back as part of the outer one.
            let needsParentheses = parts.count > 1 && part.isCompound
            if needsParentheses { text += "(" }
            part.write(to: &text)
            if needsParentheses { text += ")" }
        }
    }

    private var isCompound: Bool {
        switch self {
        // A compound without parts is written as a constant, which needs no parentheses.
        case .and(let parts), .or(let parts): !parts.isEmpty
        default: false
        }
    }
}

extension Query.Comparison {
    fileprivate func write(to text: inout String) {
        let brackets = options.text
        switch relation {
        case .containsAll, .containsAny:
            text += relation == .containsAll ? "ALL " : "ANY "
            operand.write(to: &text)
            text += " IN\(brackets) "
            text += key.text
        case .memberBeginsWith:
            text += "ANY \(key.text) BEGINSWITH\(brackets) "
            operand.write(to: &text)
        default:
            // Piece by piece: an interpolated text is a string of its own first, and every page with
            // a cursor has a hash of the whole text.
            text += key.text
            text += " "
            text += relation.text
            text += brackets
            text += " "
            operand.write(to: &text)
        }
    }
}

extension Query.WordSearch {
    fileprivate func write(to text: inout String) {
        let words = Query.Operand.value(.string(self.text))
        let place = key?.text ?? "allTokens"
        if requiresAll {
            text += "ALL tokenize("
            words.write(to: &text)
            text += ", \"Cdl\") IN \(place)"
        } else {
            text += "\(place) TOKENMATCHES[cdl] "
            words.write(to: &text)
        }
    }
}

extension Query.DistanceTest {
    fileprivate func write(to text: inout String) {
        text += "distanceToLocation:fromLocation:(\(key.text), "
        Query.Operand.value(.location(origin)).write(to: &text)
        text += ") \(relation.text) \(radius)"
    }
}

extension Query.SortDescriptor: CustomStringConvertible {
    /// The key, or the distance in the form of a predicate, followed by `DESC` in a descending
    /// order.
    public var description: String {
        var text = key.text
        if let origin {
            text = "distanceToLocation:fromLocation:(\(key.text), "
            Query.Operand.value(.location(origin)).write(to: &text)
            text += ")"
        }
        return isAscending ? text : text + " DESC"
    }
}

extension Query.Relation {
    /// The operator, as predicates write it.
    package var text: String {
        switch self {
        case .equal: "=="
        case .notEqual: "!="
        case .lessThan: "<"
        case .lessThanOrEqual: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqual: ">="
        case .between: "BETWEEN"
        case .beginsWith, .memberBeginsWith: "BEGINSWITH"
        case .in, .containsAll, .containsAny: "IN"
        case .contains: "CONTAINS"
        }
    }
}

extension Query.TextOptions {
    fileprivate var text: String {
        guard !isEmpty else { return "" }
        return "[" + (contains(.caseInsensitive) ? "c" : "")
            + (contains(.diacriticInsensitive) ? "d" : "") + "]"
    }
}

extension Query.Key {
    /// The key in a predicate's text.
    ///
    /// `#` precedes a field whose name would be read as something else.
    var text: String {
        switch self {
        case .system(let field): return field.rawValue
        case .field(let name):
            let text = name.string
            guard PredicateLexer.isPlainWord(text) else { return "#" + PredicateLexer.quoted(text) }
            let isTaken =
                PredicateWord(text) != nil || Query.SystemField(text) != nil
                || PredicateLexer.isKeyPath(text)
            return isTaken ? "#" + text : text
        }
    }
}

extension Query.Operand {
    /// Writes a literal.
    func write(to text: inout String) {
        switch self {
        case .null: text += "NULL"
        case .now: text += "now()"
        case .value(let value): value.writeLiteral(to: &text)
        }
    }
}

extension FieldValue {
    fileprivate func writeLiteral(to text: inout String) {
        switch self {
        case .string(let content): text += PredicateLexer.quoted(content)
        case .int64(let number): text += String(number)
        // Swift always writes a point or an exponent, so the literal is read back as a double.
        case .double(let number): text += String(number)
        case .timestamp(let time):
            text += "TIMESTAMP("
            text += String(time)
            text += ")"
        case .location(let place): text += "LOCATION(\(place.latitude), \(place.longitude))"
        case .reference(let link):
            text += "REFERENCE(\(PredicateLexer.quoted(link.recordName)))"
        // For error texts only: `problem` rejects values of bytes and assets before a predicate is
        // stored.
        case .bytes(let bytes): text += "BYTES(\(bytes.count) bytes)"
        case .asset: text += "ASSETID(…)"
        default:
            let elements = self.elements
            if elements.isEmpty, type != .stringList {
                text += "\(type.webName)()"
                return
            }
            text += "{"
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.writeLiteral(to: &text)
            }
            text += "}"
        }
    }

    /// The elements of a list; empty for any other value.
    package var elements: [FieldValue] {
        switch self {
        case .stringList(let texts): texts.map(FieldValue.string)
        case .int64List(let numbers): numbers.map(FieldValue.int64)
        case .doubleList(let numbers): numbers.map(FieldValue.double)
        case .bytesList(let contents): contents.map(FieldValue.bytes)
        case .timestampList(let times): times.map(FieldValue.timestamp)
        case .locationList(let places): places.map(FieldValue.location)
        case .referenceList(let links): links.map(FieldValue.reference)
        case .assetList(let blobs): blobs.map(FieldValue.asset)
        default: []
        }
    }
}
