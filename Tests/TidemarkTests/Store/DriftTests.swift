// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct DriftTests {
    let folder: ScratchFolder
    let store: Store

    init() throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
    }

    private func client(_ build: String?, in environment: Environment = .development) -> Client {
        Client(
            store: store,
            caller: Caller(database: DatabaseID(environment: environment), build: build),
            zone: .default
        )
    }

    private func importAndPromote(_ text: String) async throws {
        try await store.importSchema(try SchemaFile("DEFINE SCHEMA \(text)").schema)
        try await store.promoteSchema()
    }

    /// The drift as short texts.
    private func listed(since first: SequenceNumber = .zero) throws -> [String] {
        try store.schemaDrift(since: first).byBuild.flatMap { build, entries in
            entries.map { "\(build?.string ?? "-"): \($0.gap), \($0.count)" }
        }
    }

    @Test func `Drift lists what each build writes and production lacks`() async throws {
        try await importAndPromote("RECORD TYPE Note (title STRING QUERYABLE);")
        let old = client("1.0")
        let new = client("2.0")
        try await old.modify([try old.save("a", ["title": "x"])])
        #expect(try listed().isEmpty)
        try await new.modify([try new.save("b", ["title": "x", "due": .timestamp(1)])])
        try await new.modify([try new.save("b", ["due": .timestamp(2)], policy: .changedKeys)])
        // The old build does not name the field that the record has.
        try await old.modify([try old.save("b", ["title": "y"], policy: .changedKeys)])
        try await new.modify([try new.save("t", ["n": 1], type: "Task")])
        let anonymous = client(nil)
        try await anonymous.modify([try anonymous.save("c", ["due": .timestamp(3)])])
        #expect(
            try listed() == [
                "-: field Note.due TIMESTAMP, 1", "2.0: field Note.due TIMESTAMP, 2",
                "2.0: record type Task, 1",
            ]
        )
        let later = store.lastSequence.next
        #expect(try listed(since: later).isEmpty)
        try await new.modify([try new.save("b", ["due": .timestamp(4)], policy: .changedKeys)])
        #expect(try listed(since: later) == ["2.0: field Note.due TIMESTAMP, 1"])
        try await store.promoteSchema()
        #expect(try listed().isEmpty)
    }

    @Test func `Indexes that queries create are listed`() async throws {
        try await importAndPromote("RECORD TYPE Note (title STRING);")
        let new = client("2.0")
        let query = Query(
            recordType: "Note",
            predicate: .compare(.field("title"), .equal, .value(.string("x")))
        )
        _ = try await store.query(QueryRequest(query, in: .default), as: new.caller)
        #expect(try listed() == ["2.0: index Note.title QUERYABLE, 1"])
        // An operator's import names no build.
        try await store.importSchema(
            try SchemaFile("DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE SORTABLE);")
                .schema
        )
        #expect(try listed() == ["2.0: index Note.title QUERYABLE, 1"])
        try await store.promoteSchema()
        #expect(try listed().isEmpty)
    }

    @Test func `Drift survives a restart and is separate for each container`() async throws {
        try await importAndPromote("RECORD TYPE Note (title STRING);")
        let new = client("2.0")
        try await new.modify([try new.save("a", ["due": .timestamp(1)])])
        try store.close()
        let again = try Store.open(at: folder.path(), access: .reading)
        #expect(try again.schemaDrift().byBuild.count == 1)
        #expect(try again.schemaDrift(of: ContainerID("iCloud.other")).isEmpty)
    }

    @Test func `Drift is reported immediately, and once for each build`() async throws {
        let reports = try store.schemaDriftReports()
        let new = client("2.0")
        try await new.modify([try new.save("before", ["n": 1])])
        try await importAndPromote("RECORD TYPE Note (title STRING, n INT64);")
        for number in 1...2 {
            try await new.modify([try new.save("a\(number)", ["due": .timestamp(1)])])
        }
        try await new.modify([try new.save("a3", ["due": .timestamp(1), "rank": 1])])
        let newer = client("2.1")
        try await newer.modify([try newer.save("a4", ["due": .timestamp(1)])])
        let released = client("2.0", in: .production)
        let refused = try await released.modify([try released.save("a", ["due": .timestamp(1)])])
        #expect(refused.saves[0].error?.code == .invalidArguments)
        let query = Query(
            recordType: "Note",
            predicate: .compare(.field("title"), .equal, .value(.string("x")))
        )
        let request = QueryRequest(query, in: .default)
        await #expect(throws: SyncError.self) {
            try await store.query(request, as: released.caller)
        }
        _ = try await store.query(request, as: newer.caller)
        try store.close()
        var texts: [String] = []
        for await report in reports {
            let gaps = report.gaps.map(\.description).joined(separator: ", ")
            texts.append("\(report.environment) \(report.build ?? "-"): \(gaps)")
        }
        #expect(
            texts == [
                "development 2.0: field Note.due TIMESTAMP",
                "development 2.0: field Note.rank INT64",
                "development 2.1: field Note.due TIMESTAMP",
                "production 2.0: field Note.due TIMESTAMP",
                "production 2.0: index Note.title QUERYABLE",
                "development 2.1: index Note.title QUERYABLE",
            ]
        )
    }

    @Test func `The share type and unchecked schemas cause no drift reports`() async throws {
        var options = StoreOptions()
        options.checksSchema = false
        let free = try Store.open(at: folder.path("free.tide"), access: .creating, options: options)
        let reports = try free.schemaDriftReports()
        try await free.importSchema(try SchemaFile("DEFINE SCHEMA RECORD TYPE Note ();").schema)
        try await free.promoteSchema()
        let client = Client(store: free, caller: Caller(build: "1"), zone: .default)
        try await client.modify([
            try client.save("s", ["n": 1], type: "cloudkit.share"), try client.save("a", ["n": 1]),
        ])
        #expect(
            try free.schemaDrift().byBuild.flatMap(\.entries).map(\.gap.description)
                == ["field Note.n INT64"]
        )
        try free.close()
        var count = 0
        for await _ in reports { count += 1 }
        #expect(count == 0)
    }
}
