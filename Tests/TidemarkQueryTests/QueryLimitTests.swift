// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkQuery

/// What SQLite cannot take in one piece is answered all the same, or refused with what to do.
@Suite struct QueryLimitTests {
    private func change(_ name: String, _ fields: Fields, at sequence: UInt64) -> IndexedChange {
        let body = RecordBody(named: name, fields)
        return IndexedChange(sequence: sequence, zone: 1, previous: 0, content: .saved(body))
    }

    /// An index with one record, of many fields or few.
    private func index(_ fields: Fields) async throws -> QueryIndex {
        let index = try QueryIndex(path: nil, identity: "x")
        try await index.apply([change("a", fields, at: 1)], through: IndexPosition(sequence: 1))
        return index
    }

    private func find(_ text: String, in index: QueryIndex) async throws -> [UInt64] {
        let query = Query(recordType: "Note", predicate: try Query.Predicate(format: text))
        return try await index.page(query, zones: [1], limit: 100, now: 0).records.map(\.sequence)
    }

    private func fields(_ count: Int) throws -> Fields {
        var builder = FieldsBuilder()
        for number in 0..<count { try builder.set("t\(number)", .string("w\(number)")) }
        return try builder.finish()
    }

    @Test(arguments: [5, 15, 30, 60, 200])
    func `A predicate may be nested deeper than SQLite allows`(depth: Int) async throws {
        let index = try await index(try Fields(["n": 1, "l": .int64List([1, 2])]))
        func isFound(_ predicate: Query.Predicate) async throws -> Bool {
            let query = Query(recordType: "Note", predicate: predicate)
            return try await !index.page(query, zones: [1], limit: 1, now: 0).records.isEmpty
        }
        for leaf in [
            Query.Predicate.compare("n", .equal, 1), .compare("n", .equal, 2),
            .compare("l", .containsAll, .value(.int64List([1, 2]))),
        ] {
            let isTrue = leaf != .compare("n", .equal, 2)
            var denied = leaf
            var left = leaf
            var right = leaf
            for level in 0..<depth {
                denied = .not(denied)
                left = level % 2 == 0 ? .or([left, .never]) : .and([left, .always])
                right = level % 2 == 0 ? .or([.never, right]) : .not(.not(.and([.always, right])))
            }
            #expect(try await isFound(denied) == (isTrue == (depth % 2 == 0)))
            #expect(try await isFound(left) == isTrue)
            #expect(try await isFound(right) == isTrue)
        }
    }

    @Test func `A query may have the maximum number of sort criteria, also with a cursor`()
        async throws
    {
        let index = try QueryIndex(path: nil, identity: "x")
        try await index.apply(
            [
                change("c", try Fields(["a": 1, "b": 2]), at: 1),
                change("b", try Fields(["a": 1, "b": 1]), at: 2),
                change("a", try Fields(["a": 1]), at: 3),
                change("d", try Fields(["a": 0, "b": 1]), at: 4),
            ],
            through: IndexPosition(sequence: 4)
        )
        var order = Array(repeating: Query.SortDescriptor("a"), count: 30)
        order += [.init("b", ascending: false), .init("missing")]
        #expect(order.count == Query.sortDescriptorLimit)
        let query = Query(recordType: "Note", sortDescriptors: order)
        var found: [UInt64] = []
        var cursor: QueryCursor?
        repeat {
            let page = try await index.page(query, zones: [1], after: cursor, limit: 1, now: 0)
            found += page.records.map(\.sequence)
            cursor = page.next
        } while cursor != nil
        #expect(found == [4, 1, 2, 3])
    }

    @Test func `Words are searched in many zones at once, and not in too many`() async throws {
        let index = try await index(try Fields(["t": "w1 w2"]))
        let words = (1...10).map { "w\($0)" }.joined(separator: " ")
        let query = Query(recordType: "Note", predicate: .words(Query.WordSearch(words)))
        let some = try await index.page(query, zones: Array(1...2500), limit: 9, now: 0)
        #expect(some.records.map(\.sequence) == [1])
        let error = await #expect(throws: SyncError.self) {
            try await index.page(query, zones: Array(1...30_000), limit: 9, now: 0)
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.contains("Name a zone") ?? false)
    }

    @Test func `A search for all words covers more fields than SQLite can join`() async throws {
        let index = try await index(try fields(600))
        #expect(try await find("self CONTAINS 'w7'", in: index) == [1])
        #expect(try await find("self CONTAINS 'w599'", in: index) == [1])
        #expect(try await find("self CONTAINS 'w600'", in: index).isEmpty)
    }

    @Test func `A type may have more fields than SQLite has columns`() async throws {
        let count = TypeTable.columnLimit + 200
        let index = try await index(try fields(count))
        try await index.apply(
            [change("b", try Fields(["t5": "w6", "t\(count)": "late"]), at: 2)],
            through: IndexPosition(sequence: 2)
        )
        #expect(try await find("TRUEPREDICATE", in: index) == [1, 2])
        for number in [0, 5, 1899, 1900, count - 1] {
            #expect(try await find("t\(number) == 'w\(number)'", in: index) == [1])
        }
        #expect(try await find("t\(count) == 'late'", in: index) == [2])
        #expect(try await find("self CONTAINS 'late w\(count - 1)'", in: index) == [1, 2])
        #expect(try await find("t\(count) == nil", in: index) == [1])
        let order = Query(recordType: "Note", sortDescriptors: [.init(.init("t\(count)"))])
        let error = await #expect(throws: SyncError.self) {
            try await index.page(order, zones: [1], limit: 9, now: 0)
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `A query that is accepted for its first page is accepted for the others`()
        async throws
    {
        let index = try await index(try Fields(["n": 1]))
        try await index.apply(
            [change("b", try Fields(["n": 2]), at: 2)],
            through: IndexPosition(sequence: 2)
        )
        // Some numbers of values leave no room for the place of a page.
        for count in 32_755...32_766 {
            let list = FieldValue.int64List((0..<Int64(count)).map { $0 })
            let query = Query(recordType: "Note", predicate: .compare("n", .in, .value(list)))
            let page: QueryPage
            do {
                page = try await index.page(query, zones: [1], limit: 1, now: 0)
            } catch let error as SyncError {
                #expect(error.code == .limitExceeded && count > 32_757)
                continue
            }
            let next = try #require(page.next)
            let last = try await index.page(query, zones: [1], after: next, limit: 1, now: 0)
            #expect(last.records.count == 1)
        }
    }

    @Test func `A connection caches a limited number of statements`() async throws {
        let index = try await index(try Fields(["n": 1]))
        for count in 1...500 {
            let list = FieldValue.int64List((0..<Int64(count)).map { $0 })
            let query = Query(recordType: "Note", predicate: .compare("n", .in, .value(list)))
            let page = try await index.page(query, zones: [1], limit: 1, now: 0)
            #expect(page.records.count == (count > 1 ? 1 : 0))
        }
        let kept = index.prepared.withLock { $0.values.map(\.count) }
        #expect(!kept.isEmpty && kept.allSatisfy { $0 <= 200 })
    }

    @Test func `A connection that is not kept is reported before it is closed`() throws {
        let folder = try ScratchFolder()
        let index = try QueryIndex(path: folder.path("index.sqlite"), identity: "x")
        let readers = try #require(index.readers)
        var closed: [ObjectIdentifier] = []
        // Each read within another needs a connection of its own.
        func read(_ depth: Int) throws {
            try readers.read(QueryReaders.Content(sequence: 0, byteCount: 0)) { _ in
                if depth > 1 { try read(depth - 1) }
            } onClose: { id in
                closed.append(id)
            }
        }
        try read(10)
        // Eight are kept.
        #expect(Set(closed).count == 2)
        index.close()
    }
}
