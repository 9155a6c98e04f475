// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Testing

@testable import TidemarkModel

typealias Predicate = Query.Predicate

@Suite struct PredicateTextTests {
    @Test(arguments: 0..<20 as Range<UInt64>)
    func `A printed predicate parses to the same tree`(seed: UInt64) throws {
        var generator = PredicateGenerator(seed: seed)
        for _ in 0..<250 {
            let predicate = generator.predicate()
            let text = predicate.description
            let read = try Predicate(format: text)
            #expect(read == predicate, "seed \(seed): \(text)")
            #expect(read.description == text)
        }
    }

    @Test func `Compounds with one or no part parse to an equal predicate`() throws {
        #expect(try Predicate(format: "\(Predicate.and([]))") == .always)
        #expect(try Predicate(format: "\(Predicate.or([]))") == .never)
        let one = Predicate.compare("a", .equal, 1)
        #expect(try Predicate(format: "\(Predicate.and([.or([one])]))") == one)
        let nested = Predicate.or([.and([one, .or([])]), .not(.and([one, one]))])
        #expect(nested.description == "(a == 1 AND FALSEPREDICATE) OR NOT (a == 1 AND a == 1)")
    }

    @Test(arguments: [
        "creationDate", "in", "Self", "a.b", "TRUE", "allTokens", "odd name", "", "é", "x\"y",
        "cloudkit.title", "___recordID", "plain", "1a", "a:b",
    ])
    func `A field with any name is printed unambiguously`(name: String) throws {
        let predicate = Predicate.compare(.field(Name(name)), .equal, 1)
        #expect(try Predicate(format: predicate.description) == predicate)
        let order = Query.SortDescriptor(.field(Name(name)), ascending: false)
        #expect(try Query.SortDescriptor(text: order.description) == order)
    }

    @Test(arguments: [
        (Query.SortDescriptor("title"), "title"),
        (Query.SortDescriptor("creationDate", ascending: false), "creationDate DESC"),
        (
            Query.SortDescriptor(
                "place",
                distanceFrom: Location(latitude: 1, longitude: -2.5, altitude: 3)
            ), "distanceToLocation:fromLocation:(place, LOCATION(1.0, -2.5))"
        ),
    ])
    func `A sort descriptor round-trips as text`(order: Query.SortDescriptor, text: String) throws {
        #expect(order.description == text)
        #expect(try Query.SortDescriptor(text: text) == order)
        #expect(try Query.SortDescriptor(text: order.isAscending ? text + " ASC" : text) == order)
    }

    @Test func `A query describes its type, predicate and order`() {
        let query = Query(
            recordType: "Note",
            predicate: .compare("done", .equal, false),
            sortDescriptors: [Query.SortDescriptor("due"), Query.SortDescriptor("title")]
        )
        #expect(query.description == "Note where done == 0 by due, title")
        #expect(Query(recordType: "Note").description == "Note where TRUEPREDICATE")
    }

    @Test func `Parts that comparisons ignore are not stored`() {
        let far = Reference(recordName: "x", zone: ZoneID(zoneName: "z"), action: .deleteSelf)
        #expect(
            Predicate.compare("owner", .equal, .value(.reference(far)))
                == .compare("owner", .equal, .value(.reference(Reference(recordName: "x"))))
        )
        #expect(
            Predicate.compare("recordID", .in, .value(.stringList(["a"])))
                == .compare(
                    "recordID",
                    .in,
                    .value(.referenceList([Reference(recordName: "a")]))
                )
        )
        let place = Location(latitude: 1, longitude: 2, speed: 3, timestamp: 4)
        #expect(
            Predicate.compare("place", .equal, .value(.location(place))).description
                == "place == LOCATION(1.0, 2.0)"
        )
    }
}
