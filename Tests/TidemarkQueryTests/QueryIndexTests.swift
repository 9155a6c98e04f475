// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import GeneratedQueries
import TestSupport
import Testing
import TidemarkLock
import TidemarkModel

@testable import TidemarkQuery

@Suite struct QueryIndexTests {
    private func save(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?>,
        at sequence: UInt64,
        over previous: UInt64 = 0
    ) throws -> IndexedChange {
        let body = RecordBody(named: name, try Fields(fields))
        return IndexedChange(sequence: sequence, zone: 1, previous: previous, content: .saved(body))
    }

    private func find(
        _ text: String,
        in index: QueryIndex,
        fields: [String]? = nil
    ) async throws -> [UInt64] {
        let query = Query(recordType: "Note", predicate: try Query.Predicate(format: text))
        let page = try await index.page(
            query,
            zones: [1],
            limit: 100,
            now: 0,
            searchedFields: fields
        )
        return page.records.map(\.sequence)
    }

    @Test func `Containers have record types of their own`() async throws {
        func change(
            _ container: UInt64,
            _ when: FieldValue,
            at sequence: UInt64
        ) throws -> IndexedChange {
            let body = RecordBody(named: "r\(sequence)", try Fields(["when": when]))
            return IndexedChange(
                sequence: sequence,
                container: container,
                zone: container,
                previous: 0,
                content: .saved(body)
            )
        }
        let index = try QueryIndex(path: nil, identity: "one")
        let changes = [
            try change(1, .timestamp(1), at: 1), try change(1, .timestamp(2), at: 2),
        ]
        try await index.apply(changes, through: IndexPosition(sequence: 2))
        let query = Query(recordType: "Note", sortDescriptors: [.init("when")])
        func page(_ container: UInt64, after cursor: QueryCursor? = nil) async throws -> QueryPage {
            try await index.page(
                query,
                container: container,
                zones: [container],
                after: cursor,
                limit: 1,
                now: 0
            )
        }
        let first = try await page(1)
        let next = try #require(first.next)
        try await index.apply(
            [try change(2, "text", at: 3)],
            through: IndexPosition(sequence: 3)
        )
        let second = try await page(1, after: next)
        #expect(first.records.map(\.sequence) + second.records.map(\.sequence) == [1, 2])
        #expect(try await page(2).records.map(\.sequence) == [3])
        #expect(try await page(3).records.isEmpty)
    }

    @Test func `A field that appears while a query waits is seen`() async throws {
        let index = try QueryIndex(path: nil, identity: "one")
        let first = try save("a", ["g": 5], at: 1)
        try await index.apply([first], through: IndexPosition(sequence: 1))
        let holding = DispatchSemaphore(value: 0)
        let isHeld = DispatchSemaphore(value: 0)
        async let held: Void = index.database.write { _ in
            isHeld.signal()
            holding.wait()
        }
        // The update waits behind the writer, and the index that the query needs behind the update.
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async {
                isHeld.wait()
                waiting.resume()
            }
        }
        let second = try save("b", ["g": 5, "f": 1], at: 2)
        async let updated: Void = index.apply([second], through: IndexPosition(sequence: 2))
        try await Task.sleep(for: .milliseconds(100))
        async let found = find("g == 5 AND NOT f == 1", in: index)
        try await Task.sleep(for: .milliseconds(100))
        holding.signal()
        #expect(try await found == [1])
        _ = try await (held, updated)
    }

    /// Lets the next commit fail.
    private final class CommitFailure: TransactionObserver {
        private let isOver = Lock(false)

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

        func databaseDidChange(with event: DatabaseEvent) {}

        func databaseWillCommit() throws {
            let fails = isOver.withLock { isOver in
                defer { isOver = true }
                return !isOver
            }
            if fails { throw CocoaError(.fileWriteOutOfSpace) }
        }

        func databaseDidCommit(_ database: Database) {}
        func databaseDidRollback(_ database: Database) {}
    }

    @Test func `A failed commit leaves the catalog and the numbers of columns`() async throws {
        let index = try QueryIndex(path: nil, identity: "one")
        try await index.apply([try save("a", ["g": 5], at: 1)], through: IndexPosition(sequence: 1))
        let failure = CommitFailure()
        index.database.add(transactionObserver: failure, extent: .observerLifetime)
        let second = try save("b", ["f": 5, "g": 5], at: 2)
        await #expect(throws: QueryIndexError.self) {
            try await index.apply([second], through: IndexPosition(sequence: 2))
        }
        #expect(index.position.sequence == 1)
        #expect(index.columnCounts.withLock { $0.values.max() } ?? 0 <= 1)
        #expect(try await find("g == 5 AND NOT f == 5", in: index) == [1])
        try await index.apply([second], through: IndexPosition(sequence: 2))
        #expect(try await find("g == 5 AND NOT f == 5", in: index) == [1])
        #expect(try await find("f == 5", in: index) == [2])
    }

    @Test func `The index continues at its position and is cleared for another log`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        do {
            let index = try QueryIndex(path: path, identity: "one")
            try await index.apply(
                [
                    try save("a", ["title": "Hello", "tags": .stringList(["x"])], at: 5),
                    try save("b", ["place": .location(ValuePool.places[1])], at: 6),
                ],
                through: IndexPosition(sequence: 9)
            )
            #expect(try await find("self CONTAINS 'hello'", in: index) == [5])
        }
        do {
            let index = try QueryIndex(path: path, identity: "one")
            #expect(index.position.sequence == 9)
            try await index.apply(
                [
                    try save("again", ["title": "hello"], at: 8),
                    try save("c", ["title": "hello there"], at: 10),
                ],
                through: IndexPosition(sequence: 10)
            )
            #expect(try await find("self CONTAINS 'hello'", in: index) == [5, 10])
            #expect(try await find("tags CONTAINS 'x'", in: index) == [5])
        }
        let index = try QueryIndex(path: path, identity: "two")
        #expect(index.position.sequence == 0)
        #expect(try await find("TRUEPREDICATE", in: index) == [])
    }

    @Test(arguments: [Catalog.format - 1, Catalog.format + 1])
    func `An index of another version is made anew`(version: Int) async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        do {
            let index = try QueryIndex(path: path, identity: "one")
            try await index.apply(
                [try save("a", ["title": "Hello"], at: 5)],
                through: IndexPosition(sequence: 9)
            )
            index.close()
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        let range = try #require(bytes.firstRange(of: Data("\(Catalog.format) one".utf8)))
        bytes.replaceSubrange(range, with: Data("\(version) one".utf8))
        try bytes.write(to: URL(fileURLWithPath: path))
        let index = try QueryIndex(path: path, identity: "one")
        #expect(index.position.sequence == 0)
        #expect(try await find("TRUEPREDICATE", in: index) == [])
        try await index.apply(
            [try save("a", ["title": "Hello"], at: 5)],
            through: IndexPosition(sequence: 9)
        )
        #expect(try await find("TRUEPREDICATE", in: index) == [5])
    }

    @Test(arguments: [
        "UPDATE types SET rows = 'many'", "UPDATE types SET rows = -1", "UPDATE types SET name = 5",
        "UPDATE types SET rows = 9223372036854775807", "UPDATE columns SET kind = x'00'",
        "UPDATE columns SET type = 'x'", "UPDATE state SET sequence = 'last'",
        "UPDATE made SET stale = x'05'",
    ])
    func `Values that the index does not write are damage`(change: String) async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        do {
            let index = try QueryIndex(path: path, identity: "one")
            try await index.apply(
                [try save("a", ["title": "Hello"], at: 5)],
                through: IndexPosition(sequence: 9)
            )
            #expect(try await find("title TOKENMATCHES 'hello'", in: index) == [5])
            index.close()
        }
        let database = try DatabaseQueue(path: path)
        let changeCount = try await database.write { database in
            try database.execute(sql: change)
            return database.changesCount
        }
        #expect(changeCount > 0)
        try database.close()
        let error = #expect(throws: QueryIndexError.self) {
            try QueryIndex(path: path, identity: "one")
        }
        #expect(error?.reason == .damaged)
    }

    @Test func `SQLite's log is not much longer than a small index`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        let index = try QueryIndex(path: path, identity: "one")
        var longest = 0
        for number in 1...400 as ClosedRange<UInt64> {
            let save = try save("r\(number)", ["n": .int64(Int64(number))], at: number)
            try await index.apply([save], through: IndexPosition(sequence: number))
            let log = try FileManager.default.attributesOfItem(atPath: path + "-wal")
            longest = max(longest, try #require(log[.size] as? Int))
        }
        // SQLite's own rule would let it grow beyond that.
        #expect((4 << 20...5 << 20).contains(longest))
        index.close()
        let again = try QueryIndex(path: path, identity: "one")
        #expect(try await find("n > 0", in: again).count == 100)
        again.close()
    }

    @Test func `An index that cannot be opened is not damaged`() throws {
        let folder = try ScratchFolder()
        let error = #expect(throws: QueryIndexError.self) {
            try QueryIndex(path: folder.path("nowhere/index.sqlite"), identity: "one")
        }
        #expect(error?.reason == .unavailable)
    }

    @Test func `An index whose creation was interrupted starts again`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        let changes = [try save("a", ["title": "Hello"], at: 5), try save("b", [:], at: 6)]
        do {
            let index = try QueryIndex(path: path, identity: "one")
            try await index.apply(changes, through: nil)
            #expect(index.position.sequence == 0)
        }
        for _ in 0..<2 {
            let index = try QueryIndex(path: path, identity: "one")
            #expect(try await find("TRUEPREDICATE", in: index) == [])
            // The same positions again, without a conflict.
            try await index.apply(changes, through: nil)
        }
        let index = try QueryIndex(path: path, identity: "one")
        try await index.apply(changes, through: nil)
        try await index.apply([], through: IndexPosition(sequence: 9))
        #expect(index.position.sequence == 9)
        let again = try QueryIndex(path: path, identity: "one")
        #expect(again.position.sequence == 9)
        #expect(try await find("title == 'Hello'", in: again) == [5])
    }

    @Test func `Indexes that queries created are kept up to date`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let near = "distanceToLocation:fromLocation:(p, LOCATION(0, 179.99)) < 5000"
        let west = FieldValue.location(Location(latitude: 0, longitude: -179.99))
        let far = FieldValue.location(Location(latitude: 0, longitude: 170))
        try await index.apply(
            [
                try save("a", ["t": "red fox", "l": .stringList(["red fox"]), "p": west], at: 1),
                try save("b", ["t": "dog", "l": .stringList(["dog"]), "p": far], at: 2),
            ],
            through: IndexPosition(sequence: 2)
        )
        let texts = ["t TOKENMATCHES 'fox'", "l TOKENMATCHES 'fox'", near, "t == 'red fox'"]
        for text in texts { #expect(try await find(text, in: index) == [1]) }
        try await index.apply(
            [
                try save("a", ["t": "dog", "l": .stringList([]), "p": far], at: 3, over: 1),
                try save(
                    "b",
                    ["t": "red fox", "l": .stringList(["a", "Fox"]), "p": west],
                    at: 4,
                    over: 2
                ),
            ],
            through: IndexPosition(sequence: 4)
        )
        for text in texts { #expect(try await find(text, in: index) == [4]) }
        try await index.apply(
            [IndexedChange(sequence: 5, zone: 1, previous: 0, content: .zoneDeleted)],
            through: IndexPosition(sequence: 5)
        )
        for text in texts { #expect(try await find(text, in: index) == []) }
    }

    @Test func `A full-text index of mostly removed text is rebuilt`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let count: UInt64 = 4_000
        for round in 0..<6 as Range<UInt64> {
            let changes = try (1...count).map { number in
                try save(
                    "r\(number)",
                    ["t": .string("fox\(round) n\(number)")],
                    at: round * count + number,
                    over: round == 0 ? 0 : (round - 1) * count + number
                )
            }
            let position = IndexPosition(sequence: (round + 1) * count)
            try await index.apply(changes, through: position)
            #expect(try await find("t TOKENMATCHES 'fox\(round)'", in: index).count == 100)
            if round > 0 {
                #expect(try await find("t TOKENMATCHES 'fox\(round - 1)'", in: index) == [])
            }
            #expect(try await find("t TOKENMATCHES 'n7'", in: index) == [round * count + 7])
        }
    }

    @Test func `Many changes drop the indexes, and the next query rebuilds them`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let west = FieldValue.location(Location(latitude: 0, longitude: -179.99))
        let fields: KeyValuePairs<String, FieldValue?> = [
            "t": "red fox", "l": .stringList(["red fox"]), "p": west, "n": 1,
        ]
        try await index.apply([try save("a", fields, at: 1)], through: IndexPosition(sequence: 1))
        let texts = [
            "t TOKENMATCHES 'fox'", "l TOKENMATCHES 'fox'", "l CONTAINS 'red fox'", "n == 1",
            "distanceToLocation:fromLocation:(p, LOCATION(0, 179.99)) < 5000",
        ]
        for text in texts { #expect(try await find(text, in: index) == [1]) }
        try await index.prepare(for: 1_000_000)
        let change = try save("a", fields, at: 2, over: 1)
        try await index.apply([change], through: IndexPosition(sequence: 2))
        for text in texts { #expect(try await find(text, in: index) == [2]) }
    }

    #if os(Linux)
    @Test func `An index larger than a reader's cache is mapped until it changes`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("index.sqlite")
        let index = try QueryIndex(path: path, identity: "x", readerCacheByteCount: 0)
        func isMapped() throws -> Bool {
            let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
            var maps = Data()
            // Each read returns a page of it.
            while let part = try file.read(upToCount: 1 << 16), !part.isEmpty { maps += part }
            try file.close()
            return maps.split(separator: UInt8(ascii: "\n")).contains {
                String(decoding: $0, as: UTF8.self).hasSuffix(path)
            }
        }
        let changes = try (1...3_000).map { try save("r\($0)", ["n": 1], at: $0) }
        try await index.apply(changes, through: IndexPosition(sequence: 3_000))
        // What is only in SQLite's own log is not mapped.
        try await index.settle()
        // Each time other pages, because a few stay in the smallest cache.
        func check(_ number: UInt64, at sequence: UInt64, isMapped mapped: Bool) async throws {
            #expect(try await find("recordID == 'r\(number)'", in: index) == [sequence])
            #expect(try isMapped() == mapped)
        }
        try await check(7, at: 7, isMapped: false)
        try await check(1_500, at: 1_500, isMapped: true)
        let change = try save("r7", ["n": 1], at: 3_001, over: 7)
        try await index.apply([change], through: IndexPosition(sequence: 3_001))
        try await check(7, at: 3_001, isMapped: false)
        try await check(2_900, at: 2_900, isMapped: true)
        try await check(7, at: 3_001, isMapped: true)
        index.close()
    }
    #endif

    @Test func `A cancelled update changes nothing and is no damage`() async throws {
        let folder = try ScratchFolder()
        let index = try QueryIndex(path: folder.path("index.sqlite"), identity: "x")
        let first = try save("a", ["n": 1], at: 1)
        try await index.apply([first], through: IndexPosition(sequence: 1))
        let second = try save("a", ["n": 1], at: 2, over: 1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await index.apply([second], through: IndexPosition(sequence: 2))
        }
        let error = await #expect(throws: QueryIndexError.self) { try await task.value }
        #expect(error?.reason == .failed)
        #expect(index.position.sequence == 1)
        #expect(try await find("n == 1", in: index) == [1])
        // A write stops between two rows.
        let cancellation = Cancellation()
        try await index.database.write { database in
            var writer = try RowWriter(database, index.catalog.withLock { $0 }, cancellation)
            cancellation.request()
            #expect(throws: CancellationError.self) { try writer.apply([second]) }
            let new = try save("b", ["n": 1], at: 2)
            #expect(throws: CancellationError.self) { try writer.apply([new]) }
        }
        try await index.apply([second], through: IndexPosition(sequence: 2))
        #expect(try await find("n == 1", in: index) == [2])
    }

    @Test func `Versions that are replaced in the same batch are skipped`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let changes = [
            try save("a", ["n": 1], at: 1), try save("a", ["n": 2], at: 2, over: 1),
            try save("b", ["n": 1], at: 3), try save("a", ["n": 3], at: 4, over: 2),
            IndexedChange(sequence: 5, zone: 1, previous: 3, content: .deleted(recordType: nil)),
        ]
        try await index.apply(changes, through: IndexPosition(sequence: 5))
        #expect(try await find("n > 0", in: index) == [4])
        let deletion = IndexedChange(sequence: 7, zone: 1, previous: 0, content: .zoneDeleted)
        let later = [
            try save("c", ["n": 1], at: 6), deletion, try save("d", ["n": 1], at: 8),
        ]
        try await index.apply(later, through: IndexPosition(sequence: 8))
        #expect(try await find("n > 0", in: index) == [8])
    }

    @Test func `A search for all words uses only the searchable fields`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        try await index.apply(
            [try save("a", ["t": "one", "u": "two"], at: 1)],
            through: IndexPosition(sequence: 1)
        )
        let both = "ALL tokenize('one two', 'Cdl') IN allTokens"
        #expect(try await find(both, in: index) == [1])
        #expect(try await find(both, in: index, fields: ["t"]) == [])
        #expect(try await find("self CONTAINS 'two'", in: index, fields: ["t"]) == [])
        #expect(try await find("self CONTAINS 'one'", in: index, fields: ["t"]) == [1])
        #expect(try await find("self CONTAINS 'one'", in: index, fields: []) == [])
    }

    @Test func `Words stay distinct in the index encoding`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        // What one would be spelt as is another's own text.
        let words = [
            "a.b", "az2eb", "azz2eb", "z", "zz", "1z", "a'b", "x@y.z", "\u{E9}z", "c++", "日本",
        ]
        for (number, word) in words.enumerated() {
            let sequence = UInt64(number) + 1
            try await index.apply(
                [try save("r\(number)", ["t": .string("(\(word.uppercased())),")], at: sequence)],
                through: IndexPosition(sequence: sequence)
            )
        }
        for (number, word) in words.enumerated() {
            let search = Query.Predicate.words(Query.WordSearch(word))
            let query = Query(recordType: "Note", predicate: search)
            let page = try await index.page(query, zones: [1], limit: 100, now: 0)
            #expect(page.records.map(\.sequence) == [UInt64(number) + 1], "\(word)")
        }
    }

    @Test func `A known query is written anew after its fields have new types of values`()
        async throws
    {
        let index = try QueryIndex(path: nil, identity: "x")
        let query = Query(recordType: "Note", sortDescriptors: [.init("n")])
        func find() async throws -> [UInt64] {
            try await index.page(query, zones: [1], limit: 9, now: 0).records.map(\.sequence)
        }
        try await index.apply(
            [try save("a", ["n": .int64(2)], at: 1), try save("b", ["n": .int64(1)], at: 2)],
            through: IndexPosition(sequence: 2)
        )
        #expect(try await find() == [2, 1])
        #expect(try await find() == [2, 1])
        // Texts come after numbers, and records without a value before.
        try await index.apply(
            [try save("c", ["n": "text"], at: 3)],
            through: IndexPosition(sequence: 3)
        )
        #expect(try await find() == [2, 1, 3])
    }

    @Test func `A field that no record has is compared with one value after another`()
        async throws
    {
        let index = try QueryIndex(path: nil, identity: "x")
        try await index.apply(
            [try save("a", ["n": .int64(2)], at: 1)],
            through: IndexPosition(sequence: 1)
        )
        for value in ["x", "y"] {
            #expect(try await find("missing == '\(value)'", in: index) == [])
            #expect(try await find("missing == '\(value)' AND n == 2", in: index) == [])
        }
    }

    @Test func `A cursor of another query is rejected`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        try await index.apply(
            [try save("a", [:], at: 1), try save("b", [:], at: 2)],
            through: IndexPosition(sequence: 2)
        )
        let page = try await index.page(Query(recordType: "Note"), zones: [1], limit: 1, now: 0)
        let cursor = try #require(page.next)
        let other = Query(recordType: "Note", predicate: .compare("a", .equal, 1))
        await #expect(throws: SyncError.self) {
            try await index.page(other, zones: [1], after: cursor, limit: 1, now: 0)
        }
        await #expect(throws: SyncError.self) {
            try await index.page(
                Query(recordType: "Note"),
                zones: [2],
                after: cursor,
                limit: 1,
                now: 0
            )
        }
        let bad = Query(recordType: "Note", predicate: .compare("a", .in, 1))
        await #expect(throws: SyncError.self) {
            try await index.page(bad, zones: [1], limit: 1, now: 0)
        }
        for count in 0..<cursor.bytes.count {
            let cut = QueryCursor(bytes: Array(cursor.bytes.prefix(count)))
            #expect(cut == nil || cut?.values.count != cursor.values.count)
        }
    }

    @Test func `Large predicates are executed, and too large ones rejected`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let numbers = (0..<3000).map { Int64($0) }
        let text = numbers.map { "w\($0)" }.joined(separator: " ")
        try await index.apply(
            [try save("a", ["n": 2999, "l": .int64List(numbers), "t": .string(text)], at: 1)],
            through: IndexPosition(sequence: 1)
        )
        func count(_ predicate: Query.Predicate) async throws -> Int {
            let query = Query(recordType: "Note", predicate: predicate)
            return try await index.page(query, zones: [1], limit: 9, now: 0).records.count
        }
        let either = numbers.map { Query.Predicate.compare("n", .equal, .value(.int64($0))) }
        #expect(try await count(.or(either)) == 1)
        #expect(try await count(.and(either)) == 0)
        #expect(try await count(.compare("l", .containsAll, .value(.int64List(numbers)))) == 1)
        #expect(try await count(.compare("l", .equal, .value(.int64List(numbers)))) == 1)
        let words = numbers.prefix(1500).map { "w\($0)" }.joined(separator: " ")
        #expect(try await count(.words(Query.WordSearch(words))) == 1)
        #expect(try await count(.words(Query.WordSearch(words, requiresAll: true))) == 1)
        #expect(
            try await count(.words(Query.WordSearch(words + " other", requiresAll: true))) == 0
        )
        let many = (0..<40_000).map { Int64($0) }
        let error = await #expect(throws: SyncError.self) {
            try await count(.compare("n", .in, .value(.int64List(many))))
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `Queries read the tables through an index`() async throws {
        let index = try QueryIndex(path: nil, identity: "x")
        let changes = try (1...50).map {
            try save("r\($0)", ["n": .int64(Int64($0)), "l": .int64List([1])], at: UInt64($0))
        }
        try await index.apply(changes, through: IndexPosition(sequence: 50))
        func plan(_ text: String, _ order: Query.SortDescriptor...) async throws -> String {
            let query = Query(
                recordType: "Note",
                predicate: try Query.Predicate(format: text),
                sortDescriptors: order
            )
            return try await index.plan(query, zones: [1])
        }
        #expect(try await plan("n == 5").contains("INDEX i_t1_c2 (zone=? AND c2=?)"))
        #expect(try await plan("n > 5").contains("INDEX i_t1_c2 (zone=? AND c2>?)"))
        #expect(
            try await plan("recordID == 'r1'").contains("INDEX i_t1_name (zone=? AND name=?)")
        )
        #expect(try await plan("l CONTAINS 1").contains("INDEX i_l1 (zone=? AND value=?)"))
        let sorted = try await plan("TRUEPREDICATE", .init("n"))
        #expect(sorted.contains("INDEX i_t1_c2") && !sorted.contains("TEMP B-TREE"))
        let named = try await plan("TRUEPREDICATE")
        #expect(named.contains("INDEX i_t1_name") && !named.contains("TEMP B-TREE"))
    }
}
