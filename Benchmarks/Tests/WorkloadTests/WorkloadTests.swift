// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Testing
import Workload

@Suite struct WorkloadTests {
    @Test func `Names are unique, and a shuffle visits every record once`() {
        let names = Set((0..<50_000).map { Change(zone: 0, number: $0).name })
        #expect(names.count == 50_000)
        for count in [1, 2, 3, 1000, 4096, 50_001] {
            let order = Shuffle(count: count, seed: 7)
            #expect(Set((0..<count).map { order[$0] }) == Set(0..<count))
        }
    }

    @Test func `Pages have the lengths of the real ones, and survive being a value`() {
        let pages = PageSource()
        let made = (0..<20_000).map { pages.page(for: Change(zone: 3, number: $0)) }
        let lengths = made.map(\.text.count).sorted()
        #expect((425...525).contains(lengths[lengths.count / 2]))
        #expect((485...585).contains(lengths.reduce(0, +) / lengths.count))
        for page in made.prefix(100) {
            var value: [UInt8] = []
            page.appendValue(to: &value)
            #expect(Page(value: value) == page)
        }
    }

    @Test func `A history's live records are what its commits leave behind`() {
        let history = History(zoneCount: 7, recordCount: 1_003, roundCount: 4)
        var live: [String: UInt64] = [:]
        var sequence: UInt64 = 0
        history.forEachBatch(of: 100) { batch in
            #expect(Set(batch.changes).count == batch.changes.count)
            for change in batch.changes {
                sequence += 1
                live["\(change.zone)/\(change.name)"] = sequence
            }
        }
        #expect(sequence == UInt64(history.eventCount))
        var expected: [String: UInt64] = [:]
        history.forEachLive { expected["\($0.zone)/\($0.name)"] = $1 }
        #expect(live == expected)
        #expect((0..<7).map(history.recordCount(ofZone:)).reduce(0, +) == 1_003)
    }
}

@Suite struct ContenderTests {
    static let all: [any Contender.Type] = [
        TidemarkContender.self, SQLiteContender<FastestLayout>.self,
        SQLiteContender<RowidLayout>.self, RocksDBContender.self,
    ]

    @Test(arguments: Work.allCases)
    func `Every contender does the same work`(work: Work) async throws {
        for contender in Self.all {
            try await Self.check(contender, work)
        }
    }

    static func check<Engine: Contender>(_ engine: Engine.Type, _ work: Work) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/bench-\(UUID())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let pages = PageSource()
        let history = History(zoneCount: 3, recordCount: 600, roundCount: 3)
        let filled = try await engine.open(folder, for: work, durability: .none)
        try await filled.fill(history, pages)
        try await filled.close()

        let store = try await engine.open(folder, for: work, durability: .full)
        let position = try await store.position(inZone: 1)
        let updates = Batch(
            (0..<50).map { Change(zone: 1, number: $0, version: 9) },
            isInsert: false
        )
        try await store.save(store.prepare(updates, pages))
        let added = (0..<8).map { [Batch([Change(zone: 1, number: 1_000 + $0)], isInsert: true)] }
        try await store.save(writers: added.map { try $0.map { try store.prepare($0, pages) } })
        try await store.compact()

        let sink = Sink()
        try await store.readChanges(zone: 1, since: position, into: sink)
        #expect(sink.recordCount == 58)
        sink.reset()
        try await store.readAll(zone: 1, into: sink)
        #expect(sink.recordCount == 208)
        sink.reset()
        try await store.readAll(zone: 2, into: sink)
        #expect(sink.recordCount == 200)
        for change in [
            Change(zone: 1, number: 49, version: 9), Change(zone: 1, number: 50, version: 2),
            Change(zone: 1, number: 1_007), Change(zone: 2, number: 0, version: 2),
        ] {
            #expect(try await store.page(of: change) == pages.page(for: change))
        }
        #expect(try await store.page(of: Change(zone: 2, number: 5_000)) == nil)
        try await store.close()
    }
}
