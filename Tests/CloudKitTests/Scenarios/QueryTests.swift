// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
#endif

@Suite(.needsCloud) struct `Queries` {
    private func save(_ records: [CKRecord], in database: CKDatabase) async throws {
        for start in stride(from: 0, to: records.count, by: 400) {
            let part = Array(records[start..<min(start + 400, records.count)])
            _ = try await database.modifyRecords(saving: part, deleting: [])
        }
    }

    @Test func `A cursor continues with the next page`() async throws {
        let database = try await CloudFixture().database()
        let records = (0..<250).map { number in
            let record = CKRecord(recordType: "Item")
            record["number"] = number
            return record
        }
        try await save(records, in: database)
        let query = CKQuery(
            recordType: "Item",
            predicate: NSPredicate(format: "number >= %d", 10)
        )
        query.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
        let found = Heard<Int>()
        let pages = Heard<Int>()

        func run(_ operation: CKQueryOperation) async throws {
            let cursor = try await withCheckedThrowingContinuation { continuation in
                operation.recordMatchedBlock = { _, result in
                    if case .success(let record) = result, let number = record["number"] as? Int {
                        found.add(number)
                    }
                }
                operation.queryResultBlock = { continuation.resume(with: $0) }
                database.add(operation)
            }
            pages.add(found.items.count)
            if let cursor { try await run(CKQueryOperation(cursor: cursor)) }
        }

        try await run(CKQueryOperation(query: query))
        #expect(found.items == Array(10..<250))
        #expect(pages.items == [100, 200, 240])

        let few = try await database.records(matching: query, resultsLimit: 7)
        #expect(few.matchResults.count == 7)
        let more = try await database.records(
            continuingMatchFrom: try #require(few.queryCursor),
            desiredKeys: [],
            resultsLimit: 3
        )
        #expect(more.matchResults.count == 3)
        #expect(try more.matchResults.allSatisfy { try $0.1.get().allKeys().isEmpty })
    }

    @Test func `Locations within a radius are found, nearest first`() async throws {
        let database = try await CloudFixture().database()
        let places = [
            ("Alexanderplatz", 52.5219, 13.4132), ("Potsdam", 52.3906, 13.0645),
            ("Zoo", 52.5079, 13.3375), ("Hamburg", 53.5511, 9.9937),
        ].map { name, latitude, longitude in
            let record = CKRecord(recordType: "Place")
            record["name"] = name
            record["location"] = CLLocation(latitude: latitude, longitude: longitude)
            return record
        }
        try await save(places, in: database)
        let here = CLLocation(latitude: 52.52, longitude: 13.41)
        let query = CKQuery(
            recordType: "Place",
            predicate: NSPredicate(
                format: "distanceToLocation:fromLocation:(location, %@) < %f",
                here,
                40_000.0
            )
        )
        query.sortDescriptors = [
            CKLocationSortDescriptor(key: "location", relativeLocation: here)
        ]
        let found = try await database.records(matching: query).matchResults
        let names = try found.map { try $0.1.get()["name"] as? String }
        #expect(names == ["Alexanderplatz", "Zoo", "Potsdam"])
    }

    @Test func `Words are found in any text field`() async throws {
        let database = try await CloudFixture().database()
        let texts = ["The Quick brown fox", "A slow FOX", "Nothing of the kind"]
        let records = texts.map { text in
            let record = CKRecord(recordType: "Text")
            record["body"] = text
            return record
        }
        try await save(records, in: database)
        let query = CKQuery(
            recordType: "Text",
            predicate: NSPredicate(format: "self CONTAINS %@", "fox")
        )
        let found = try await database.records(matching: query).matchResults
        let bodies = try found.compactMap { try $0.1.get()["body"] as? String }
        #expect(Set(bodies) == ["The Quick brown fox", "A slow FOX"])
    }

    @Test func `A missing zone and an unknown record type are rejected`() async throws {
        let database = try await CloudFixture().database()
        let query = CKQuery(recordType: "Nowhere", predicate: NSPredicate(value: true))
        #expect(await code { _ = try await database.records(matching: query) } == .unknownItem)
        let zone = CKRecordZone.ID(zoneName: "Nowhere")
        #expect(
            await code { _ = try await database.records(matching: query, inZoneWith: zone) }
                == .zoneNotFound
        )
    }
}
