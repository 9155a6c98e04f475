// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct SchemaDriftTests {
    private let production: Schema

    init() throws {
        production = try SchemaFile("DEFINE SCHEMA RECORD TYPE Note (title STRING);").schema
    }

    @Test func `Gaps are the values that production would reject`() throws {
        let fields = try Fields(["title": 1, "due": .timestamp(0), "gone": nil])
        #expect(
            production.gaps(saving: fields, as: "Note").map(\.description) == [
                "field Note.due TIMESTAMP", "field Note.title is STRING, written as INT64",
            ]
        )
        #expect(production.gaps(saving: fields, as: "Task") == [.recordType("Task")])
        #expect(
            production.gaps(
                querying: "Note",
                using: [
                    .init(.field("title"), .queryable), .init(.system(.recordID), .queryable),
                    .init(.field("title"), .sortable), .init(.field("x"), .queryable),
                    .init(nil, .searchable),
                ]
            ).map(\.description)
                == ["index Note.title QUERYABLE SORTABLE", "index Note.___recordID QUERYABLE"]
        )
    }

    @Test func `Gaps are counted by build and reported once for each`() {
        var drift = SchemaDrift()
        #expect(drift.isEmpty)
        let due = SchemaDrift.Gap.field("Note", "due", .plain(.timestamp))
        let task = SchemaDrift.Gap.recordType("Task")
        #expect(drift.note([due, task], build: "2.0", at: 10) == [due, task])
        #expect(drift.note([due], build: "2.0", at: 30) == [])
        #expect(drift.note([due], build: "2.0", at: 20) == [])
        #expect(drift.note([due], build: nil, at: 5) == [due])
        #expect(drift.note([task], build: "1.9", at: 7) == [task])
        let listed = drift.byBuild.map { group in
            (group.build?.string ?? "-") + ": "
                + group.entries.map { "\($0.gap) \($0.count) \($0.firstSeen)-\($0.lastSeen)" }
                .joined(separator: ", ")
        }
        #expect(
            listed == [
                "-: field Note.due TIMESTAMP 1 5-5",
                "1.9: record type Task 1 7-7",
                "2.0: field Note.due TIMESTAMP 3 10-30, record type Task 1 10-10",
            ]
        )
    }

    @Test func `Merged counts are added in either order`() {
        let gaps = (0..<6).map { SchemaDrift.Gap.recordType(Name("T\($0)")) }
        var one = SchemaDrift()
        var two = SchemaDrift()
        one.note(Array(gaps[0..<4]), build: "1", at: 10)
        two.note(Array(gaps[2..<6]), build: "1", at: 20)
        two.note([gaps[0]], build: "2", at: 5)
        var first = one
        first.merge(two)
        var second = two
        second.merge(one)
        #expect(first == second)
        #expect(first.byBuild.map(\.entries.count) == [6, 1])
        #expect(first.byBuild[0].entries[2].count == 2)
        #expect(first.byBuild[0].entries[2].firstSeen == 10)
        #expect(first.byBuild[0].entries[2].lastSeen == 20)
    }

    @Test func `Gaps over the capacity are counted as uncounted`() {
        var drift = SchemaDrift(capacity: 2)
        for index in 0..<5 {
            drift.note([.recordType(Name("T\(index)"))], build: "1", at: 0)
        }
        drift.note([.recordType("T0")], build: "1", at: 0)
        #expect(drift.byBuild.map(\.entries.count) == [2])
        #expect(drift.uncounted == 3)
    }

    @Test func `A promotion removes the gaps that it fills`() throws {
        var drift = SchemaDrift()
        drift.note(
            [
                .recordType("Task"), .recordType("Other"),
                .field("Note", "due", .plain(.timestamp)),
                .field("Note", "rank", .plain(.string)), .indexes("Note", "title", .queryable),
                .type("Note", "title", written: .plain(.int64), declared: .plain(.string)),
            ],
            build: "1",
            at: 0
        )
        drift.settle(
            with: try SchemaFile(
                """
                DEFINE SCHEMA RECORD TYPE Task ();
                RECORD TYPE Note (title STRING QUERYABLE, due TIMESTAMP, rank INT64);
                """
            ).schema
        )
        #expect(
            drift.byBuild.flatMap(\.entries).map(\.gap.description) == [
                "field Note.rank STRING", "field Note.title is STRING, written as INT64",
                "record type Other",
            ]
        )
    }
}
