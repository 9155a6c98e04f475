// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Testing

@testable import TidemarkModel

@Suite struct QueryChecksTests {
    static let refusals: [(String, String?)] = [
        ("a == 1 AND b IN {1} AND NOT (c == 2)", nil),
        ("TRUEPREDICATE", nil), ("FALSEPREDICATE", nil), ("NOT (a IN {1})", nil),
        ("self CONTAINS 'x' AND ANY tags IN {'x'}", nil), ("a BETWEEN {1, 2}", nil),
        ("distanceToLocation:fromLocation:(p, LOCATION(1, 2)) <= 5", nil),
        ("recordID == 'x' AND creationDate < now()", nil),
        ("a == 1 OR b == 1", "OR"), ("a == 1 AND (b == 1 OR c == 1)", "OR"),
        ("NOT (a == 1 AND b == 1)", "NOT before AND"), ("NOT (NOT (a == 1))", "NOT before NOT"),
        ("NOT (a == 1 OR b == 1)", "OR"), ("NOT (a BETWEEN {1, 2})", "NOT before BETWEEN"),
        ("NOT (self CONTAINS 'x')", "NOT before a search for words"),
        (
            "NOT (distanceToLocation:fromLocation:(p, LOCATION(1, 2)) <= 5)",
            "NOT before a distance"
        ),
        ("NOT TRUEPREDICATE", "NOT before a constant"),
        ("distanceToLocation:fromLocation:(p, LOCATION(1, 2)) > 5", "distances beyond a radius"),
        ("a == nil", "comparisons with nil"), ("a ==[c] 'x'", "options such as [cd]"),
        ("tags != {'x'}", "!= with a list"), ("tags == {'x'}", "== with a list"),
        ("recordID BEGINSWITH 'x'", "BEGINSWITH on recordID"),
    ]

    @Test(arguments: refusals)
    func `Predicates that CloudKit rejects are reported`(text: String, construct: String?) throws {
        let refusal = try Query.Predicate(format: text).cloudKitRefusal
        #expect((refusal == nil) == (construct == nil))
        guard let construct, let refusal else { return }
        #expect(refusal.code == .invalidArguments)
        #expect(refusal.message.hasPrefix("CloudKit does not support \(construct) ("))
    }

    @Test func `A query can be rejected for its type or its order`() {
        #expect(Query(recordType: "Note").cloudKitRefusal == nil)
        #expect(Query(recordType: "Users").refusal { _ in nil } == .usersNotQueried)
        let place = Location(latitude: 1, longitude: 2)
        let far = Query.SortDescriptor("p", distanceFrom: place, ascending: false)
        let near = Query.SortDescriptor("p", distanceFrom: place)
        #expect(Query(recordType: "Note", sortDescriptors: [near]).cloudKitRefusal == nil)
        #expect(Query(recordType: "Note", sortDescriptors: [far]).cloudKitRefusal != nil)
        let nearby = Query(recordType: "Note", sortDescriptors: [near])
        #expect(nearby.refusal { _ in .location } == nil)
        let byValue = Query(recordType: "Note", sortDescriptors: [.init("p")])
        #expect(
            byValue.refusal { _ in .location }?.message.contains("LOCATION, which has no order")
                == true
        )
        #expect(
            nearby.refusal { _ in .string }?.message.contains("a distance needs LOCATION") == true
        )
        #expect(
            Query(recordType: "Note", sortDescriptors: [.init("recordID", distanceFrom: place)])
                .refusal { _ in nil } != nil
        )
    }

    @Test(arguments: [(.nan, 0), (91, 0), (0, -181), (0, .infinity)] as [(Double, Double)])
    func `Distances are sorted from a place on Earth alone`(latitude: Double, longitude: Double) {
        let place = Location(latitude: latitude, longitude: longitude)
        let order = Query.SortDescriptor("p", distanceFrom: place)
        let refusal = Query(recordType: "Note", sortDescriptors: [order]).refusal { _ in .location }
        #expect(refusal?.code == .invalidArguments)
        #expect(refusal?.message.contains("The place to measure from holds") == true)
    }

    static let needs: [(String, [String])] = [
        ("TRUEPREDICATE", ["recordID QUERYABLE"]), ("FALSEPREDICATE", []),
        ("NOT FALSEPREDICATE", ["recordID QUERYABLE"]),
        ("a == 1 AND TRUEPREDICATE", ["a QUERYABLE"]),
        ("TRUEPREDICATE AND TRUEPREDICATE", ["recordID QUERYABLE"]),
        ("a == 1 AND a > 2 AND a < 3 AND a != 5", ["a QUERYABLE", "a SORTABLE"]),
        ("a BETWEEN {1, 2} OR b BEGINSWITH 'x'", ["a SORTABLE", "b QUERYABLE"]),
        ("'x' IN tags AND NOT (c IN {1})", ["tags QUERYABLE", "c QUERYABLE"]),
        ("self CONTAINS 'x' AND t TOKENMATCHES 'y'", ["* SEARCHABLE", "t SEARCHABLE"]),
        ("recordID == 'x'", ["recordID QUERYABLE"]),
        ("creationDate > now()", ["creationDate SORTABLE"]),
        ("distanceToLocation:fromLocation:(p, LOCATION(1, 2)) < 5", ["p QUERYABLE"]),
    ]

    @Test(arguments: needs)
    func `Each comparison requires its index`(text: String, needs: [String]) throws {
        let requirements = try Query.Predicate(format: text).requirements
        #expect(
            requirements.map { "\($0.key.map { "\($0)" } ?? "*") \($0.kind.rawValue)" } == needs
        )
    }

    @Test func `A sort order requires indexes`() throws {
        let place = Location(latitude: 1, longitude: 2)
        let query = Query(
            recordType: "Note",
            predicate: .compare("a", .lessThan, 1),
            sortDescriptors: [.init("a"), .init("b"), .init("p", distanceFrom: place)]
        )
        #expect(
            query.requirements == [
                .init("a", .sortable), .init("b", .sortable), .init("p", .queryable),
            ]
        )
    }

    @Test func `The current user is resolved where users are compared`() throws {
        let text = """
            creatorUserRecordID == '__defaultOwner__' AND NOT (lastModifiedUserRecordID IN \
            {'__defaultOwner__', 'u-2'}) AND (owner == REFERENCE('__defaultOwner__') OR \
            title == '__defaultOwner__')
            """
        let resolved = try Query.Predicate(format: text).resolvingCurrentUser(as: UserID("u-1"))
        #expect(
            resolved.description == """
                creatorUserRecordID == REFERENCE("u-1") AND NOT (lastModifiedUserRecordID IN \
                {REFERENCE("u-1"), REFERENCE("u-2")}) AND (owner == \
                REFERENCE("__defaultOwner__") OR title == "__defaultOwner__")
                """
        )
    }

    static let types: [(String, String?)] = [
        ("title == 'x' AND count > 1.5 AND price IN {1, 2}", nil),
        ("title == nil AND raw != nil AND unknown == 1", nil),
        ("tags CONTAINS 'x' AND ANY numbers IN {1} AND ALL {1.5} IN numbers", nil),
        ("due < now() AND owner == REFERENCE('x') AND owner BEGINSWITH 'x'", nil),
        ("tags == {'x'} AND tags == {} AND place == LOCATION(1, 2)", nil),
        ("title TOKENMATCHES 'x' AND tags TOKENMATCHES 'x' AND creationDate < now()", nil),
        ("title CONTAINS 'x'", "holds STRING, and CONTAINS looks into lists. Use BEGINSWITH"),
        ("count CONTAINS 1", "holds INT64, and CONTAINS looks into lists. Use == or IN."),
        ("tags == 'x'", "holds STRING_LIST. Use CONTAINS for one of its values."),
        ("title == 1", "holds STRING and is compared with INT64."),
        ("count == {1}", "holds INT64 and is compared with a list. Use IN."),
        ("numbers CONTAINS 'x'", "holds INT64_LIST and is compared with STRING."),
        ("raw == 'x'", "holds BYTES, which cannot be queried."),
        ("photo == 'x'", "holds ASSETID, which cannot be queried."),
        ("due > 5", "holds TIMESTAMP and is compared with INT64."),
        ("owner == 'x'", "holds REFERENCE and is compared with STRING."),
        ("count TOKENMATCHES 'x'", "holds INT64; words are in STRING and STRING_LIST."),
        (
            "NOT (distanceToLocation:fromLocation:(title, LOCATION(1, 2)) < 5)",
            "holds STRING; a distance needs LOCATION."
        ),
    ]

    @Test(arguments: types)
    func `A predicate with mismatched types is reported`(text: String, reason: String?) throws {
        let types = Dictionary(uniqueKeysWithValues: queriedFields.map { (Name($0.name), $0.type) })
        let mismatch = try Query.Predicate(format: text).mismatch { types[$0] }
        guard let reason else {
            #expect(mismatch == nil)
            return
        }
        #expect(mismatch?.contains(reason) == true, "\(mismatch ?? "")")
    }
}
