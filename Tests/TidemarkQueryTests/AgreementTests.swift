// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkQuery

/// Live records, as the log would leave them, and the index that was told of every change.
struct IndexedHistory {
    let index: QueryIndex
    var generator: PredicateGenerator
    var sequence: UInt64 = 0
    /// By sequence number.
    var live: [UInt64: (zone: UInt64, record: Record)] = [:]

    init(seed: UInt64, path: String? = nil) throws {
        index = try QueryIndex(path: path, identity: "test")
        generator = PredicateGenerator(seed: seed)
    }

    /// Saves, replaces, deletes, and now and then deletes a zone or changes a record's type.
    mutating func grow(by count: Int, zones: [UInt64] = [3, 4]) async throws {
        var changes: [IndexedChange] = []
        for _ in 0..<count {
            sequence += UInt64(Int.random(in: 1...3, using: &generator.random))
            let zone = generator.pick(zones)
            let name = "r\(Int.random(in: 0..<60, using: &generator.random))"
            let held = live.first {
                $0.value.zone == zone && $0.value.record.body.recordName == name
            }
            if generator.chance(200) {
                live = live.filter { $0.value.zone != zone }
                changes.append(change(zone, 0, .zoneDeleted))
            } else if let held, generator.chance(3) {
                let type = generator.chance(2) ? held.value.record.recordType : nil
                live[held.key] = nil
                changes.append(change(zone, held.key, .deleted(recordType: type)))
            } else {
                let type = generator.chance(8) ? "Other" : "Note"
                let record = try generator.record(named: name, ofType: type)
                if let held { live[held.key] = nil }
                live[sequence] = (zone, record)
                changes.append(change(zone, held?.key ?? 0, .saved(record.body)))
            }
        }
        try await index.apply(changes, through: IndexPosition(sequence: sequence))
    }

    private func change(
        _ zone: UInt64,
        _ previous: UInt64,
        _ content: IndexedChange.Content
    ) -> IndexedChange {
        IndexedChange(sequence: sequence, zone: zone, previous: previous, content: content)
    }

    /// A comparison of few forms, which any constant may be put into.
    mutating func simpleComparison() -> Query.Predicate {
        if generator.chance(6) { return .compare("due", .lessThanOrEqual, .now) }
        let isText = generator.chance(2)
        let value = ValuePool.value(of: isText ? .string : .int64, using: &generator.random)
        return isText
            ? .compare("title", .equal, .value(value), options: [.caseInsensitive])
            : .compare("count", generator.pick([.equal, .greaterThan]), .value(value))
    }

    /// What the evaluator finds, in order.
    func expected(_ query: Query, zones: [UInt64], now: Int64) throws -> [UInt64] {
        let matcher = try Query.Matcher(query.predicate, now: now)
        let order = Query.RecordOrder(query.sortDescriptors)
        return live.filter { _, held in
            zones.contains(held.zone) && held.record.recordType == query.recordType
                && matcher.matches(held.record)
        }.sorted { first, second in
            let order = order.compare(first.value.record.body, second.value.record.body)
            return order == 0 ? first.value.zone < second.value.zone : order < 0
        }.map(\.key)
    }
}

@Suite struct AgreementTests {
    @Test(arguments: 0..<(runsLongTests ? 20 : 5) as Range<UInt64>)
    func `SQLite and the evaluator find the same records in the same order`(
        seed: UInt64
    ) async throws {
        var history = try IndexedHistory(seed: seed)
        let now = ValuePool.times[2]
        var foundCount = 0
        for _ in 0..<8 {
            try await history.grow(by: 60)
            for _ in 0..<20 {
                let query = Query(
                    recordType: history.generator.chance(5) ? "Other" : "Note",
                    predicate: history.generator.predicate(),
                    sortDescriptors: history.generator.sortDescriptors()
                )
                let zones =
                    history.generator.pick([[3], [4], [3, 4], [3, 4, 9], [9]]) as [UInt64]
                let page = try await history.index.page(
                    query,
                    zones: zones,
                    limit: 1000,
                    now: now
                )
                let expected = try history.expected(query, zones: zones, now: now)
                foundCount += expected.count
                guard page.records.map(\.sequence) != expected else { continue }
                let missing = Set(expected).subtracting(page.records.map(\.sequence))
                let surplus = Set(page.records.map(\.sequence)).subtracting(expected)
                Issue.record(
                    "seed \(seed): \(query): missing \(missing.count), surplus \(surplus.count)"
                )
                if let one = missing.first ?? surplus.first, let held = history.live[one] {
                    let fields = held.record.fields.map { "\($0.name): \($0.value as Any)" }
                    Issue.record("for example \(fields)")
                }
                return
            }
        }
        #expect(foundCount > 500)
    }

    /// The SQL of the second one is that of the first one.
    @Test(arguments: 0..<(runsLongTests ? 20 : 3) as Range<UInt64>)
    func `Queries that differ in constants find different records`(seed: UInt64) async throws {
        var history = try IndexedHistory(seed: seed)
        let now = ValuePool.times[2]
        let queryCount = 300
        for number in 0..<queryCount {
            if number % 100 == 0 { try await history.grow(by: 60) }
            let query = Query(
                recordType: "Note",
                predicate: .and((0...number % 2).map { _ in history.simpleComparison() }),
                sortDescriptors: history.generator.chance(2) ? [.init("count")] : []
            )
            let zones = history.generator.pick([[3], [4], [3, 4]]) as [UInt64]
            let page = try await history.index.page(query, zones: zones, limit: 1000, now: now)
            let expected = try history.expected(query, zones: zones, now: now)
            #expect(page.records.map(\.sequence) == expected, "seed \(seed): \(query)")
        }
        let formCount = history.index.forms.withLock(\.count)
        #expect(formCount > 10)
        #expect(formCount < queryCount / 2)
    }

    @Test(arguments: 20..<(runsLongTests ? 40 : 23) as Range<UInt64>)
    func `All pages together equal the whole result`(seed: UInt64) async throws {
        var history = try IndexedHistory(seed: seed)
        try await history.grow(by: 200)
        for _ in 0..<25 {
            let query = Query(
                recordType: "Note",
                predicate: history.generator.predicate(depth: 1),
                sortDescriptors: history.generator.sortDescriptors()
            )
            let expected = try history.expected(query, zones: [3, 4], now: 0)
            var found: [UInt64] = []
            var cursor: QueryCursor?
            repeat {
                let limit = Int.random(in: 1...7, using: &history.generator.random)
                let page = try await history.index.page(
                    query,
                    zones: [3, 4],
                    after: cursor,
                    limit: limit,
                    now: 0
                )
                #expect(page.records.map(\.sequence).count <= limit)
                found += page.records.map(\.sequence)
                cursor = page.next.flatMap { QueryCursor(bytes: $0.bytes) }
                #expect(cursor == page.next)
            } while cursor != nil && found.count <= expected.count
            #expect(found == expected, "seed \(seed): \(query)")
        }
    }

    @Test func `An unchanged record is on exactly one page while others change`() async throws {
        var history = try IndexedHistory(seed: 99)
        try await history.grow(by: 300, zones: [3])
        let query = Query(recordType: "Note", sortDescriptors: [.init("title", ascending: false)])
        let before = Set(try history.expected(query, zones: [3], now: 0))
        var found: [UInt64] = []
        var cursor: QueryCursor?
        repeat {
            let page = try await history.index.page(
                query,
                zones: [3],
                after: cursor,
                limit: 5,
                now: 0
            )
            found += page.records.map(\.sequence)
            cursor = page.next
            try await history.grow(by: 4, zones: [3])
        } while cursor != nil
        let untouched = before.intersection(history.live.keys)
        #expect(untouched.count > 5)
        for sequence in untouched { #expect(found.count(where: { $0 == sequence }) == 1) }
        #expect(Set(found).count == found.count)
    }
}
