// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TestSupport
package import TidemarkModel

/// Values from pools so small that random predicates meet random records.
package struct ValuePool {
    package static let texts = [
        "", "a", "A", "ab", "Ab", "abc", "ac", "b", "é", "e\u{301}", "E", "É", "ß", "ss", "SS", "ς",
        "Σ", "σ",
        "the cat", "Cat, dog!", "dog", "\u{1F30A} wave", "l'été", "L'ETE", "in", "한글",
        "\u{1112}\u{1161}\u{11AB}글", "a\u{0}b", "İ", "i", "ı", "x\"y\\z\n\u{7F}",
        "user@example.com",
    ]
    package static let wholes: [Int64] = [.min, -1, 0, 1, 2, 3, 1 << 53, 1 << 53 + 1, .max]
    package static let reals = [
        -1.5, -0.0, 0, 0.1, 1, 2.5, 9_007_199_254_740_992, 9_223_372_036_854_775_808, -1e300,
    ]
    package static let times: [Int64] = [-1, 0, 1_700_000_000_000, 1_700_000_000_001]
    package static let names = ["a", "b", "é", "note-1", "note-2", "u-1"]
    package static let places = [
        Location(latitude: 0, longitude: 0), Location(latitude: 52.5, longitude: 13.4),
        Location(latitude: 52.52, longitude: 13.41), Location(latitude: -90, longitude: 10),
        Location(latitude: 0, longitude: 179.999), Location(latitude: 0, longitude: -180),
    ]

    package static func value(
        of type: FieldType,
        using generator: inout SeededGenerator
    ) -> FieldValue {
        func pick<Element>(_ pool: [Element]) -> Element {
            pool[Int.random(in: 0..<pool.count, using: &generator)]
        }
        switch type {
        case .string: return .string(pick(texts))
        case .int64: return .int64(pick(wholes))
        case .double: return .double(pick(reals))
        case .timestamp: return .timestamp(pick(times))
        case .location: return .location(pick(places))
        case .reference: return .reference(Reference(recordName: pick(names)))
        case .bytes: return .bytes([1, 2])
        case .asset:
            return .asset(AssetReference(checksum: Array(repeating: 1, count: 32), byteCount: 1))
        default:
            let element = type.element ?? .string
            let count = Int.random(in: 0..<4, using: &generator)
            let elements = (0..<count).map { _ in value(of: element, using: &generator) }
            return FieldValue(listOf: elements, ofType: element)
        }
    }
}

/// Fields of the records that generated predicates look at.
package let queriedFields: [(name: String, type: FieldType)] = [
    ("title", .string), ("body", .string), ("count", .int64), ("price", .double),
    ("due", .timestamp), ("place", .location), ("owner", .reference), ("tags", .stringList),
    ("numbers", .int64List), ("prices", .doubleList), ("links", .referenceList),
    ("spots", .locationList), ("days", .timestampList), ("photo", .asset), ("raw", .bytes),
]

/// Random predicates that make sense.
package struct PredicateGenerator {
    /// Where the randomness comes from.
    package var random: SeededGenerator

    /// A generator whose output the seed decides.
    package init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// Whether the one of so many cases came.
    package mutating func chance(_ one: Int) -> Bool {
        Int.random(in: 0..<one, using: &random) == 0
    }

    /// Any one of these.
    package mutating func pick<Element>(_ pool: [Element]) -> Element {
        pool[Int.random(in: 0..<pool.count, using: &random)]
    }

    /// An order by up to two criteria.
    package mutating func sortDescriptors() -> [Query.SortDescriptor] {
        (0..<pick([0, 0, 1, 1, 2])).map { _ in
            let isAscending = !chance(3)
            if chance(5) {
                return Query.SortDescriptor(
                    "place",
                    distanceFrom: pick(ValuePool.places),
                    ascending: isAscending
                )
            }
            let key =
                chance(4)
                ? Query.Key.system(pick(Query.SystemField.allCases))
                : .field(Name(pick(queriedFields).name))
            return Query.SortDescriptor(key, ascending: isAscending)
        }
    }

    /// A predicate of some depth.
    package mutating func predicate(depth: Int = 3) -> Query.Predicate {
        switch depth == 0 ? 20 : Int.random(in: 0..<24, using: &random) {
        case 0...2: return .and((0...pick([1, 2])).map { _ in predicate(depth: depth - 1) })
        case 3...5: return .or((0...pick([1, 2])).map { _ in predicate(depth: depth - 1) })
        case 6, 7: return .not(predicate(depth: depth - 1))
        case 8: return chance(2) ? .always : .never
        case 9, 10: return words()
        case 11, 12: return distance()
        default: return comparison()
        }
    }

    private mutating func words() -> Query.Predicate {
        let count = Int.random(in: 0..<4, using: &random)
        let text = (0..<count).map { _ in pick(ValuePool.texts) }.joined(separator: " ")
        let key: Query.Key? = chance(2) ? nil : pick(["title", "body", "tags", "count", "none"])
        return .words(Query.WordSearch(text, in: key, requiresAll: chance(2)))
    }

    private mutating func distance() -> Query.Predicate {
        let relations: [Query.Relation] = [
            .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
        ]
        return .distance(
            Query.DistanceTest(
                pick(["place", "place", "spots", "title"]),
                from: pick(ValuePool.places),
                pick(relations),
                pick([0, 1, 3_000, 1e7, -1, 20_015_114.5])
            )
        )
    }

    /// A comparison, of mostly the field's type, that ``Query/Predicate/problem`` finds no fault in.
    private mutating func comparison() -> Query.Predicate {
        while true {
            let relation = pick(Query.Relation.allCases)
            let key: Query.Key
            var type: FieldType
            if chance(4) {
                let field = pick(Query.SystemField.allCases)
                key = .system(field)
                type = field.type
            } else {
                let field = pick(queriedFields)
                key = .field(Name(field.name))
                type = field.type
            }
            if chance(8) { type = pick(FieldType.allCases) }
            let predicate = Query.Predicate.compare(
                key,
                relation,
                operand(for: relation, of: type),
                options: chance(3)
                    ? pick([
                        [.caseInsensitive], [.diacriticInsensitive],
                        [.caseInsensitive, .diacriticInsensitive],
                    ]) : []
            )
            if predicate.problem == nil { return predicate }
        }
    }

    private mutating func operand(
        for relation: Query.Relation,
        of type: FieldType
    ) -> Query.Operand {
        let element = type.element ?? type
        switch relation {
        case .in, .containsAll, .containsAny:
            let list = FieldType(rawValue: element.rawValue + 16) ?? .stringList
            return .value(ValuePool.value(of: list, using: &random))
        case .between:
            let ends = [
                ValuePool.value(of: element, using: &random),
                ValuePool.value(of: element, using: &random),
            ]
            return .value(FieldValue(listOf: ends, ofType: element))
        case .equal, .notEqual:
            if chance(6) { return .null }
            return .value(ValuePool.value(of: type, using: &random))
        default:
            if element == .timestamp, chance(4) { return .now }
            if element == .int64, chance(3) {
                return .value(ValuePool.value(of: .double, using: &random))
            }
            return .value(ValuePool.value(of: element, using: &random))
        }
    }
}
