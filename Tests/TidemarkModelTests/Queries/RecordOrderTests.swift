// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Testing

@testable import TidemarkModel

@Suite struct RecordOrderTests {
    private func record(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?>
    ) throws -> Record {
        let moment = Authorship(time: Int64(name.utf8.count), user: nil)
        let header = RecordHeader(
            recordName: Name(name),
            recordType: "Note",
            created: moment,
            modified: moment
        )
        let body = RecordBody(header, fields: try Fields(fields))
        return Record(zone: .default, changeTag: nil, body: body)
    }

    private func names(_ records: [Record], by order: Query.SortDescriptor...) -> [String] {
        let order = Query.RecordOrder(order)
        return records.sorted(by: order.areInIncreasingOrder).map(\.body.recordName)
    }

    @Test func `Absent values are first in ascending and last in descending order`() throws {
        let records = [
            try record("b", ["n": 2]), try record("none", [:]), try record("a", ["n": 1.5]),
            try record("c", ["n": 2]), try record("gone", ["n": nil]),
        ]
        #expect(names(records, by: .init("n")) == ["gone", "none", "a", "b", "c"])
        #expect(
            names(records, by: .init("n", ascending: false)) == ["b", "c", "a", "gone", "none"]
        )
    }

    @Test func `Texts are ordered by bytes, and later criteria break ties`() throws {
        let records = [
            try record("1", ["t": "b", "n": 1]), try record("2", ["t": "B", "n": 2]),
            try record("3", ["t": "é", "n": 1]), try record("4", ["t": "b", "n": 3]),
        ]
        #expect(
            names(records, by: .init("t"), .init("n", ascending: false)) == ["2", "4", "1", "3"]
        )
    }

    @Test func `Records without a location come last in both orders by distance`() throws {
        let here = Location(latitude: 0, longitude: 179.9)
        let records = [
            try record("none", [:]),
            try record("far", ["p": .location(Location(latitude: 0, longitude: 170))]),
            try record("near", ["p": .location(Location(latitude: 0, longitude: -179.9))]),
            try record("text", ["p": "here"]),
        ]
        #expect(
            names(records, by: .init("p", distanceFrom: here)) == ["near", "far", "none", "text"]
        )
        let descending = Query.SortDescriptor("p", distanceFrom: here, ascending: false)
        #expect(names(records, by: descending) == ["far", "near", "none", "text"])
    }

    @Test func `System fields define an order, and names break ties`() throws {
        let records = [try record("ccc", [:]), try record("b", [:]), try record("a", [:])]
        #expect(names(records, by: .init("creationDate", ascending: false)) == ["ccc", "a", "b"])
        #expect(names(records, by: .init("recordID", ascending: false)) == ["ccc", "b", "a"])
        #expect(names(records) == ["a", "b", "ccc"])
    }

    @Test func `Any two generated records have a consistent order`() throws {
        var generator = PredicateGenerator(seed: 3)
        let records = try (0..<40).map { _ in try generator.record() }
        for (name, _) in queriedFields {
            let order = Query.RecordOrder([.init(.field(Name(name)))])
            for first in records {
                for second in records {
                    let forward = order.compare(first.body, second.body)
                    #expect(forward.signum() == -order.compare(second.body, first.body).signum())
                }
            }
            let sorted = records.sorted(by: order.areInIncreasingOrder)
            for (first, second) in zip(sorted, sorted.dropFirst()) {
                #expect(order.compare(first.body, second.body) <= 0)
            }
        }
    }
}
