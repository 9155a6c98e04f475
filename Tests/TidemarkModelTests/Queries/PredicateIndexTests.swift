// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct PredicateIndexTests {
    private func candidates(_ index: PredicateIndex, _ record: Record) -> Set<Int> {
        var candidates: [Int] = []
        index.appendCandidates(for: record.body, to: &candidates)
        return Set(candidates)
    }

    @Test(arguments: 100..<(runsLongTests ? 200 : 104) as Range<UInt64>)
    func `Every matching predicate is a candidate`(seed: UInt64) throws {
        var generator = PredicateGenerator(seed: seed)
        let predicates = (0..<80).map { _ in generator.predicate() }
        var index = PredicateIndex()
        for (id, predicate) in predicates.enumerated() { index.insert(id, predicate) }
        // Those that are taken out are no candidates any more.
        let removed = Set(predicates.indices.filter { $0 % 5 == 0 })
        for id in removed { index.remove(id, predicates[id]) }
        for _ in 0..<40 {
            let record = try generator.record()
            let found = candidates(index, record)
            #expect(found.isDisjoint(with: removed))
            for (id, predicate) in predicates.enumerated() where !removed.contains(id) {
                guard try predicate.matches(record, now: 0) else { continue }
                #expect(found.contains(id), "\(predicate)")
            }
        }
    }

    @Test func `A candidate occurs once, however often a list has its value`() throws {
        var index = PredicateIndex()
        for id in 0..<3 { index.insert(id, .compare("tags", .contains, "red")) }
        let body = try record([
            "tags": .stringList(["red", "blue"] + Array(repeating: "red", count: 9))
        ])
        .body
        var candidates: [Int] = []
        index.appendCandidates(for: body, to: &candidates)
        #expect(candidates == [0, 1, 2])
    }

    @Test func `A record is evaluated against a few candidates of many predicates`() throws {
        var index = PredicateIndex()
        for id in 0..<1_000 {
            index.insert(
                id,
                .and([
                    .compare("count", .greaterThan, 1),
                    .compare("title", .equal, .value(.string("t\(id)"))),
                ])
            )
        }
        index.insert(1_000, .compare("tags", .contains, "red"))
        index.insert(1_001, .compare("price", .in, .value(.int64List([1, 2]))))
        index.insert(1_002, .always)
        index.insert(
            1_003,
            .or([.compare("count", .equal, 7), .compare("recordID", .equal, "note-1")])
        )
        index.insert(1_004, .never)
        #expect(candidates(index, try record(["title": "t7"])) == [7, 1_002, 1_003])
        #expect(
            candidates(index, try record(["title": "x", "tags": .stringList(["red", "blue"])])) == [
                1_000, 1_002, 1_003,
            ]
        )
        #expect(candidates(index, try record(["price": .double(2)])) == [1_001, 1_002, 1_003])
        #expect(candidates(index, try record(["price": .double(2.5)])) == [1_002, 1_003])
    }
}
