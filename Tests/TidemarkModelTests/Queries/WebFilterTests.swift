// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct WebFilterTests {
    typealias Filter = Query.WebFilter

    static let examples: [(Filter, String)] = [
        (Filter(fieldName: "a", comparator: "EQUALS", value: "x"), "a == \"x\""),
        (Filter(fieldName: "a", comparator: "NOT_EQUALS", value: 1), "a != 1"),
        (Filter(fieldName: "a", comparator: "LESS_THAN", value: 1), "a < 1"),
        (Filter(fieldName: "a", comparator: "LESS_THAN_OR_EQUALS", value: 1), "a <= 1"),
        (Filter(fieldName: "a", comparator: "GREATER_THAN", value: 1), "a > 1"),
        (Filter(fieldName: "a", comparator: "GREATER_THAN_OR_EQUALS", value: 1.5), "a >= 1.5"),
        (
            Filter(
                fieldName: "a",
                comparator: "NEAR",
                value: .location(Location(latitude: 1, longitude: 2)),
                distance: 5000
            ), "distanceToLocation:fromLocation:(a, LOCATION(1.0, 2.0)) <= 5000.0"
        ),
        (
            Filter(fieldName: "a", comparator: "CONTAINS_ALL_TOKENS", value: "x y"),
            "ALL tokenize(\"x y\", \"Cdl\") IN a"
        ),
        (
            Filter(comparator: "CONTAINS_ANY_TOKENS", value: "x y"),
            "allTokens TOKENMATCHES[cdl] \"x y\""
        ),
        (Filter(fieldName: "a", comparator: "IN", value: .int64List([1, 2])), "a IN {1, 2}"),
        (Filter(fieldName: "a", comparator: "NOT_IN", value: .int64List([1])), "NOT (a IN {1})"),
        (Filter(fieldName: "a", comparator: "LIST_CONTAINS", value: "x"), "a CONTAINS \"x\""),
        (
            Filter(fieldName: "a", comparator: "NOT_LIST_CONTAINS", value: "x"),
            "NOT (a CONTAINS \"x\")"
        ),
        (
            Filter(fieldName: "a", comparator: "LIST_CONTAINS_ALL", value: .stringList(["x"])),
            "ALL {\"x\"} IN a"
        ),
        (
            Filter(fieldName: "a", comparator: "NOT_LIST_CONTAINS_ALL", value: .stringList(["x"])),
            "NOT (ALL {\"x\"} IN a)"
        ),
        (
            Filter(fieldName: "a", comparator: "LIST_CONTAINS_ANY", value: .stringList(["x"])),
            "ANY {\"x\"} IN a"
        ),
        (
            Filter(fieldName: "a", comparator: "NOT_LIST_CONTAINS_ANY", value: .stringList(["x"])),
            "NOT (ANY {\"x\"} IN a)"
        ),
        (Filter(fieldName: "a", comparator: "BEGINS_WITH", value: "x"), "a BEGINSWITH \"x\""),
        (
            Filter(fieldName: "a", comparator: "NOT_BEGINS_WITH", value: "x"),
            "NOT (a BEGINSWITH \"x\")"
        ),
        (
            Filter(fieldName: "a", comparator: "LIST_MEMBER_BEGINS_WITH", value: "x"),
            "ANY a BEGINSWITH \"x\""
        ),
        (
            Filter(fieldName: "a", comparator: "NOT_LIST_MEMBER_BEGINS_WITH", value: "x"),
            "NOT (ANY a BEGINSWITH \"x\")"
        ),
        (
            Filter(systemFieldName: "createdTimestamp", comparator: "EQUALS", value: .timestamp(1)),
            "creationDate == TIMESTAMP(1)"
        ),
        (
            Filter(fieldName: "___recordID", comparator: "EQUALS", value: "r"),
            "recordID == REFERENCE(\"r\")"
        ),
        (
            Filter(systemFieldName: "recordName", comparator: "IN", value: .stringList(["r"])),
            "recordID IN {REFERENCE(\"r\")}"
        ),
        (
            Filter(
                systemFieldName: "___modifiedBy",
                comparator: "EQUALS",
                value: .reference(Reference(recordName: "u"))
            ), "lastModifiedUserRecordID == REFERENCE(\"u\")"
        ),
    ]

    @Test(arguments: examples)
    func `A filter converts to a predicate`(filter: Filter, text: String) throws {
        #expect(try Query.Predicate(filters: [filter]).description == text)
    }

    @Test func `The examples contain every comparator`() {
        let shown = Set(Self.examples.map(\.0.comparator))
        #expect(shown.count == Filter.Comparator.allCases.count)
    }

    @Test func `Filters are joined by AND`() throws {
        let filters = Self.examples.prefix(2).map(\.0)
        #expect(try Query.Predicate(filters: filters).description == "a == \"x\" AND a != 1")
        #expect(try Query.Predicate(filters: []) == .always)
    }

    static let refused: [(Filter, String)] = [
        (Filter(fieldName: "a", comparator: "LIKE", value: "x"), "There is no comparator \"LIKE\""),
        (Filter(comparator: "EQUALS", value: "x"), "Expected a fieldName or a systemFieldName."),
        (
            Filter(fieldName: "a", systemFieldName: "b", comparator: "EQUALS", value: "x"),
            "Expected a fieldName or a systemFieldName; found both."
        ),
        (
            Filter(systemFieldName: "b", comparator: "EQUALS", value: "x"),
            "There is no system field \"b\"; the system fields are recordName, createdTimestamp"
        ),
        (Filter(fieldName: "", comparator: "EQUALS", value: "x"), "The fieldName is empty."),
        (Filter(fieldName: "a", comparator: "NEAR", value: "x"), "NEAR needs a LOCATION; found"),
        (
            Filter(
                fieldName: "a",
                comparator: "NEAR",
                value: .location(Location(latitude: 1, longitude: 2))
            ), "NEAR needs a distance in metres."
        ),
        (
            Filter(fieldName: "a", comparator: "EQUALS", value: "x", distance: 1),
            "A distance belongs to NEAR; found EQUALS."
        ),
        (
            Filter(fieldName: "a", comparator: "IN", value: "x"),
            "IN needs a list such as {1, 2}; found STRING."
        ),
        (
            Filter(comparator: "CONTAINS_ANY_TOKENS", value: 1),
            "CONTAINS_ANY_TOKENS needs a STRING; found INT64."
        ),
    ]

    @Test(arguments: refused)
    func `An invalid filter is rejected with its index`(filter: Filter, reason: String) {
        let good = Filter(fieldName: "a", comparator: "EQUALS", value: 1)
        let error = #expect(throws: SyncError.self) {
            try Query.Predicate(filters: [good, filter])
        }
        #expect(error?.code == .invalidArguments)
        let message = error?.message ?? ""
        #expect(message.hasPrefix("filterBy[1]: " + reason), "\(message)")
    }

    @Test func `A web sort converts to a sort descriptor`() throws {
        let place = Location(latitude: 1, longitude: 2)
        let order = try Query.SortDescriptor.descriptors(of: [
            Query.WebSort(fieldName: "a", ascending: false),
            Query.WebSort(systemFieldName: "modifiedTimestamp"),
            Query.WebSort(fieldName: "p", relativeLocation: place),
        ])
        #expect(
            order == [
                .init("a", ascending: false), .init("modificationDate"),
                .init("p", distanceFrom: place),
            ]
        )
        let error = #expect(throws: SyncError.self) {
            try Query.SortDescriptor.descriptors(of: [Query.WebSort()])
        }
        #expect(error?.message == "sortBy[0]: Expected a fieldName or a systemFieldName.")
    }
}
