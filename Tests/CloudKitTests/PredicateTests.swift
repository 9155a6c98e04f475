// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

struct PredicateTests {
    private func tree(_ predicate: NSPredicate) throws -> Query.Predicate {
        try CKQuery(recordType: "Note", predicate: predicate).model.predicate
    }

    @Test func `Formats of text have the descriptions of objects`() throws {
        let zone = CKRecordZone(zoneName: "notes")
        let record = CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
        )
        let reference = CKRecord.Reference(record: record, action: .none)
        let place = CLLocation(latitude: 1, longitude: 2)
        let objects: [any CVarArg & NSObject] = [
            zone.zoneID, record, record.recordID, reference, place, NSNumber(value: 7),
            NSArray(array: ["a"]), NSDate(timeIntervalSince1970: 0),
        ]
        for object in objects {
            #expect(String(format: "<%@>", object) == "<\(object.description)>")
        }
        let date = Date(timeIntervalSince1970: 0)
        #expect(String(format: "%@ %@", date, ["a", "b"]).contains("1970"))
    }

    @Test func `Formats with arguments convert to predicate trees`() throws {
        let date = Date(timeIntervalSince1970: 1.5)
        let id = CKRecord.ID(recordName: "list")
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        let milliseconds: Int64 = 1500
        let list = Query.Operand.value(.reference(Reference(recordName: "list")))

        #expect(
            try tree(NSPredicate(format: "title == %@", "Milk"))
                == .compare("title", .equal, "Milk")
        )
        #expect(
            try tree(NSPredicate(format: "%K == %@", "title", "Milk"))
                == .compare("title", .equal, "Milk")
        )
        #expect(
            try tree(NSPredicate(format: "count > %d", 3)) == .compare("count", .greaterThan, 3)
        )
        #expect(
            try tree(NSPredicate(format: "count > %ld", Int64(3)))
                == .compare("count", .greaterThan, 3)
        )
        #expect(
            try tree(NSPredicate(format: "count > %@", NSNumber(value: 3)))
                == .compare("count", .greaterThan, 3)
        )
        #expect(
            try tree(NSPredicate(format: "ratio <= %f", 2.5))
                == .compare("ratio", .lessThanOrEqual, 2.5)
        )
        #expect(
            try tree(NSPredicate(format: "done == %@", true as NSNumber))
                == .compare("done", .equal, 1)
        )
        #expect(try tree(NSPredicate(format: "done == YES")) == .compare("done", .equal, 1))
        #expect(
            try tree(NSPredicate(format: "modificationDate > %@", date as NSDate))
                == .compare("modificationDate", .greaterThan, .value(.timestamp(milliseconds)))
        )
        #expect(
            try tree(NSPredicate(format: "modificationDate > %@", date as any CVarArg))
                == .compare("modificationDate", .greaterThan, .value(.timestamp(milliseconds)))
        )
        #expect(
            try tree(NSPredicate(format: "list == %@", reference)) == .compare("list", .equal, list)
        )
        #expect(try tree(NSPredicate(format: "list == %@", id)) == .compare("list", .equal, list))
        let among = try tree(NSPredicate(format: "list IN %@", [id]))
        #expect(try tree(NSPredicate(format: "list IN %@", NSSet(array: [id]))) == among)
        #expect(try tree(NSPredicate(format: "list IN %@", Set([id]))) == among)
        #expect(
            try tree(NSPredicate(format: "recordID IN %@", [id]))
                == .compare(
                    "recordID",
                    .in,
                    .value(.referenceList([Reference(recordName: "list")]))
                )
        )
        #expect(
            try tree(NSPredicate(format: "title IN %@", ["a", "b"]))
                == .compare("title", .in, .value(.stringList(["a", "b"])))
        )
        #expect(
            try tree(NSPredicate(format: "title IN %@", NSArray(array: ["a"])))
                == .compare("title", .in, .value(.stringList(["a"])))
        )
        #expect(
            try tree(NSPredicate(format: "tags CONTAINS %@", "x"))
                == .compare("tags", .contains, "x")
        )
        #expect(
            try tree(NSPredicate(format: "%@ IN tags", "x")) == .compare("tags", .contains, "x")
        )
        #expect(try tree(NSPredicate(format: "TRUEPREDICATE")) == .always)
    }

    @Test func `Formats with argument arrays convert to predicate trees`() throws {
        #expect(
            try tree(NSPredicate(format: "%K == %@", argumentArray: ["title", "Milk"]))
                == .compare("title", .equal, "Milk")
        )
        #expect(
            try tree(NSPredicate(format: "done == 1", argumentArray: nil))
                == .compare("done", .equal, 1)
        )
    }

    @Test func `Full-text and distance formats convert to predicate trees`() throws {
        #expect(
            try tree(NSPredicate(format: "self contains %@", "oat milk"))
                == .words(Query.WordSearch("oat milk"))
        )
        #expect(
            try tree(NSPredicate(format: "ALL tokenize(%@, 'Cdl') IN allTokens", "oat milk"))
                == .words(Query.WordSearch("oat milk", requiresAll: true))
        )
        let place = CLLocation(latitude: 1, longitude: 2)
        #expect(
            try tree(
                NSPredicate(
                    format: "distanceToLocation:fromLocation:(place, %@) < %f",
                    place,
                    500.0
                )
            )
                == .distance(
                    Query.DistanceTest(
                        "place",
                        from: Location(latitude: 1, longitude: 2),
                        .lessThan,
                        500
                    )
                )
        )
    }

    @Test func `Constant and compound predicates convert to predicate trees`() throws {
        let a = NSPredicate(format: "a == 1")
        let b = NSPredicate(format: "b == 2")
        let (left, right) = (
            Query.Predicate.compare("a", .equal, 1), Query.Predicate.compare("b", .equal, 2)
        )
        #expect(try tree(NSPredicate(value: true)) == .always)
        #expect(try tree(NSPredicate(value: false)) == .never)
        #expect(
            try tree(NSCompoundPredicate(andPredicateWithSubpredicates: [a, b]))
                == .and([left, right])
        )
        #expect(
            try tree(NSCompoundPredicate(orPredicateWithSubpredicates: [a, b]))
                == .or([left, right])
        )
        #expect(try tree(NSCompoundPredicate(notPredicateWithSubpredicate: a)) == .not(left))
        #expect(
            try tree(
                NSCompoundPredicate(
                    type: .and,
                    subpredicates: [a, NSCompoundPredicate(notPredicateWithSubpredicate: b)]
                )
            )
                == .and([left, .not(right)])
        )
        #expect(try tree(NSCompoundPredicate(andPredicateWithSubpredicates: [])) == .and([]))
        #expect(try tree(a.copy() as? NSPredicate ?? b) == left)
    }

    @Test(arguments: [
        "title LIKE 'M*'", "title ENDSWITH 'k'", "title MATCHES '.*'", "list.name == 'x'",
        "items.@count > 3", "a == b", "SUBQUERY(items, $x, $x.a == 1).@count > 0",
        "names[0] == 'x'", "count -1 > 3", "a UNION b == %@",
        "count + 1 > 3",
    ])
    func `A query rejects unsupported predicates`(format: String) throws {
        let predicate = NSPredicate(format: format, "x")
        let query = CKQuery(recordType: "Note", predicate: predicate)
        let error = #expect(throws: CKError.self) { try query.model }
        #expect(error?.code == .invalidArguments)
        #expect(error?.localizedDescription.isEmpty == false)
    }

    @Test func `A query rejects block predicates and unsupported arguments`() throws {
        for predicate in [
            NSPredicate(block: { _, _ in true }),
            NSPredicate(format: "id == %@", UUID()),
            NSPredicate(format: "a == %@", CKRecord(recordType: "Note")),
            NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(format: "a LIKE 'x'")),
        ] {
            let error = #expect(throws: CKError.self) { try tree(predicate) }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test func `Predicates are evaluated with records`() {
        let record = CKRecord(recordType: "Note")
        record["title"] = "Milk"
        record["count"] = 3
        #expect(NSPredicate(format: "count > %d AND title == %@", 2, "Milk").evaluate(with: record))
        #expect(!NSPredicate(format: "count > 3").evaluate(with: record))
        let records = [record, CKRecord(recordType: "Note")] as NSArray
        #expect(records.filtered(using: NSPredicate(format: "title == 'Milk'")).count == 1)
    }

    @Test func `Sort descriptors convert to sort orders`() throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [
            NSSortDescriptor(key: "title", ascending: true),
            NSSortDescriptor(key: "creationDate", ascending: false),
            CKLocationSortDescriptor(
                key: "place",
                relativeLocation: CLLocation(latitude: 1, longitude: 2)
            ),
        ]
        let place = Location(latitude: 1, longitude: 2)
        #expect(
            try query.model.sortDescriptors == [
                Query.SortDescriptor("title"),
                Query.SortDescriptor("creationDate", ascending: false),
                Query.SortDescriptor("place", distanceFrom: place),
            ]
        )
        #expect(query.sortDescriptors?.map(\.key) == ["title", "creationDate", "place"])
        let copy = try #require(query.copy() as? CKQuery)
        copy.sortDescriptors = nil
        #expect(query.sortDescriptors?.count == 3)
    }

    @Test func `A query rejects a sort descriptor without a key`() {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(keyPath: \String.count, ascending: true)]
        let error = #expect(throws: CKError.self) { try query.model }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `Cursors round-trip`() throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "count > 3"))
        query.sortDescriptors = [NSSortDescriptor(key: "count", ascending: false)]
        let zone = CKRecordZone.ID(zoneName: "Notes")
        let cursor = CKQueryCursor(
            QueryRequest(try query.model, in: zone.model),
            endedAt: QueryPageCursor(bytes: [1, 2, 3])
        )
        let read = try roundTrip(cursor)
        #expect(read == cursor)
        #expect(read.request == cursor.request)
        #expect(read.request.cursor?.bytes == [1, 2, 3])
    }
}
