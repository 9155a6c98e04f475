// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The condition for a record, as a syntax tree.
    ///
    /// A record either fulfils a predicate or not; there is no third result. So `NOT` is the exact
    /// complement. A comparison with a field that is absent, encrypted or of another type is not
    /// fulfilled, unless the relation is `!=`.
    ///
    /// The description is the canonical text. It parses to an equal tree, with two exceptions: a
    /// compound of one part parses to that part, and a compound of none to ``always`` or ``never``.
    public indirect enum Predicate: Hashable, Codable, Sendable {
        /// Every record fulfils it: `TRUEPREDICATE`.
        case always
        /// No record fulfils it: `FALSEPREDICATE`.
        case never
        /// A field is compared with a value.
        case comparison(Comparison)
        /// Words occur in the record's texts.
        case words(WordSearch)
        /// A location field is at some distance from a place.
        case distance(DistanceTest)
        /// All parts are fulfilled.
        case and([Predicate])
        /// At least one part is fulfilled.
        ///
        /// CloudKit does not have it.
        case or([Predicate])
        /// The part is not fulfilled.
        case not(Predicate)

        /// Compares a field with a value.
        public static func compare(
            _ key: Key,
            _ relation: Relation,
            _ operand: Operand,
            options: TextOptions = []
        ) -> Predicate {
            .comparison(Comparison(key, relation, operand, options: options))
        }
    }

    /// The relation between a field and a value.
    public enum Relation: Hashable, CaseIterable, Codable, Sendable {
        /// The field is the value: `==`.
        case equal
        /// The field is not the value, or absent: `!=`.
        case notEqual
        /// The field is less than the value: `<`.
        case lessThan
        /// The field is less than or equal to the value: `<=`.
        case lessThanOrEqual
        /// The field is greater than the value: `>`.
        case greaterThan
        /// The field is greater than or equal to the value: `>=`.
        case greaterThanOrEqual
        /// The field is between two values, or equal to one of them: `BETWEEN {a, b}`.
        case between
        /// The text begins with the value: `BEGINSWITH`.
        case beginsWith
        /// The field is one of the values: `IN {…}`.
        case `in`
        /// The list contains the value: `CONTAINS`, or `value IN list`.
        case contains
        /// The list contains all of the values: `ALL {…} IN list`.
        case containsAll
        /// The list contains at least one of the values: `ANY {…} IN list`.
        case containsAny
        /// A text of the list begins with the value: `ANY list BEGINSWITH`.
        case memberBeginsWith
    }

    /// The operand that a field is compared with.
    public enum Operand: Hashable, Codable, Sendable {
        /// A value.
        case value(FieldValue)
        /// The time at which the query is answered: `now()`.
        case now
        /// `nil`: the field is absent.
        ///
        /// CloudKit does not have it.
        case null
    }

    /// The differences between texts that are ignored: `[cd]`.
    public struct TextOptions: OptionSet, Hashable, Codable, Sendable {
        /// The options as bits.
        public let rawValue: UInt8

        /// Creates options from bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Upper and lower case: `[c]`.
        public static let caseInsensitive = TextOptions(rawValue: 1)
        /// Accents, and whether they are written composed or decomposed: `[d]`.
        public static let diacriticInsensitive = TextOptions(rawValue: 2)
    }

    /// A comparison of a field with a value.
    public struct Comparison: Hashable, Codable, Sendable {
        /// The key of the compared value.
        public let key: Key
        /// The relation between the value and the operand.
        public let relation: Relation
        /// The operand: only the coordinates of a location, and only the record's name of a
        /// reference.
        public let operand: Operand
        /// The differences between texts that are ignored.
        public let options: TextOptions

        /// Creates a comparison of a field with a value.
        ///
        /// Only the record's name of a reference is used: a target is always in the zone of the
        /// record that refers to it. For system fields that refer to a record, a text is that
        /// record's name.
        public init(
            _ key: Key,
            _ relation: Relation,
            _ operand: Operand,
            options: TextOptions = []
        ) {
            self.key = key
            self.relation = relation
            self.operand = operand.normalized(for: key, relation)
            self.options = options
        }
    }

    /// A search for words, which ignores case and accents.
    public struct WordSearch: Hashable, Codable, Sendable {
        private let words: Name
        /// The field to search; `nil` for all that can be searched.
        public let key: Key?
        /// True if all words must occur, false if one of them is enough.
        public let requiresAll: Bool

        /// Creates a search for the words of a text.
        public init(_ text: String, in key: Key? = nil, requiresAll: Bool = false) {
            words = Name(text)
            self.key = key
            self.requiresAll = requiresAll
        }

        /// The words, separated by white space.
        public var text: String { words.string }
    }

    /// A comparison of a distance on the Earth's surface.
    public struct DistanceTest: Hashable, Codable, Sendable {
        /// The location field.
        public let key: Key
        /// The point from which the distance is measured; only its coordinates are used.
        public let origin: Location
        /// One of `<`, `<=`, `>` and `>=`; CloudKit knows the first two.
        public let relation: Relation
        /// The distance to compare with, in metres.
        public let radius: Double

        /// Compares the distance between a location field and a place, in metres.
        public init(_ key: Key, from origin: Location, _ relation: Relation, _ radius: Double) {
            self.key = key
            self.origin = origin.coordinates
            self.relation = relation
            self.radius = radius
        }
    }
}

extension Query.Operand {
    /// Removes the parts that comparisons ignore.
    fileprivate func normalized(for key: Query.Key, _ relation: Query.Relation) -> Query.Operand {
        guard case .value(let value) = self else { return self }
        // A text names a record. BEGINSWITH needs the text itself, which is the beginning of a
        // name.
        if case .system(let field) = key, field.type == .reference, relation != .beginsWith {
            switch value {
            case .string(let name): return .value(.reference(Reference(recordName: name)))
            case .stringList(let names):
                return .value(.referenceList(names.map { Reference(recordName: $0) }))
            default: break
            }
        }
        switch value {
        case .location(let place): return .value(.location(place.coordinates))
        case .locationList(let places): return .value(.locationList(places.map(\.coordinates)))
        case .reference(let link):
            return .value(.reference(Reference(recordName: link.recordName)))
        case .referenceList(let links):
            let names = links.map { Reference(recordName: $0.recordName) }
            return .value(.referenceList(names))
        default: return self
        }
    }
}

extension Query.Operand: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Creates a text.
    public init(stringLiteral value: String) {
        self = .value(.string(value))
    }

    /// Creates an integer.
    public init(integerLiteral value: Int64) {
        self = .value(.int64(value))
    }

    /// Creates a floating-point number.
    public init(floatLiteral value: Double) {
        self = .value(.double(value))
    }

    /// One or zero: CloudKit has no truth values.
    public init(booleanLiteral value: Bool) {
        self = .value(.int64(value ? 1 : 0))
    }

    /// Creates the operand `nil`.
    public init(nilLiteral: ()) {
        self = .null
    }
}
