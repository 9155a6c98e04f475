// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// What both implementations of the protocol promise.
struct ViewIndexTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("views") }

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test(arguments: IndexKind.allCases)
    func `A new index is empty and has no checkpoint`(_ kind: IndexKind) throws {
        let index = try kind.make(in: folder)
        #expect(index.checkpoint == nil)
        let snapshot = try index.snapshot()
        #expect(snapshot.checkpoint == nil)
        for table in ViewTable.allCases {
            #expect(try snapshot.entries(table).isEmpty)
            #expect(try snapshot.value(in: table, for: ViewKey(1, 2)) == nil)
        }
    }

    @Test(arguments: IndexKind.allCases)
    func `The last change of each key in a batch is applied`(_ kind: IndexKind) throws {
        let index = try kind.make(in: folder)
        var batch = ViewBatch()
        batch.put(.word(1, tag: 1), in: .names, for: ViewKey(7, 7))
        batch.put(.word(2, tag: 2), in: .names, for: ViewKey(7, 7))
        batch.put(.word(3, tag: 3), in: .names, for: ViewKey(7, 8))
        batch.remove(ViewKey(7, 8), from: .names)
        batch.remove(ViewKey(7, 9), from: .names)
        batch.put(.word(4, tag: 4), in: .names, for: ViewKey(7, 9))
        batch.put(.word(5, tag: 5), in: .sync, for: ViewKey(7, 7))
        try index.apply(batch, checkpoint: .at(5))

        let snapshot = try index.snapshot()
        #expect(snapshot.checkpoint == .at(5))
        #expect(try snapshot.value(in: .names, for: ViewKey(7, 7)) == .word(2, tag: 2))
        #expect(try snapshot.value(in: .names, for: ViewKey(7, 8)) == nil)
        #expect(try snapshot.value(in: .names, for: ViewKey(7, 9)) == .word(4, tag: 4))
        #expect(try snapshot.value(in: .sync, for: ViewKey(7, 7)) == .word(5, tag: 5))
    }

    @Test(arguments: IndexKind.allCases)
    func `Keys are ordered by their words, whatever their size`(_ kind: IndexKind) throws {
        let index = try kind.make(in: folder)
        let words = (0..<64).flatMap { [UInt64(1) << $0, (UInt64(1) << $0) - 1] } + [.max]
        var keys: Set<ViewKey> = []
        var batch = ViewBatch()
        for high in words {
            for low in words where (high ^ low) % 3 == 0 {
                keys.insert(ViewKey(high, low))
                batch.put(.word(high ^ low, tag: 0), in: .requests, for: ViewKey(high, low))
            }
        }
        try index.apply(batch, checkpoint: .at(1))
        let snapshot = try index.snapshot()
        #expect(try snapshot.entries(.requests).map(\.key) == keys.sorted())
        for key in keys {
            #expect(
                try snapshot.value(in: .requests, for: key) == .word(key.high ^ key.low, tag: 0)
            )
        }
    }

    @Test(arguments: IndexKind.allCases)
    func `A scan stays in its bounds and stops on request`(_ kind: IndexKind) throws {
        let index = try kind.make(in: folder)
        var batch = ViewBatch()
        for low in 0..<1000 as Range<UInt64> {
            batch.put(.word(low, tag: 9), in: .sync, for: ViewKey(5, low * 2))
        }
        try index.apply(batch, checkpoint: .at(9))
        let snapshot = try index.snapshot()
        let middle = try snapshot.entries(.sync, from: ViewKey(5, 21), through: ViewKey(5, 1400))
        #expect(middle.map(\.key.low) == (11...700).map { $0 * 2 })
        #expect(try snapshot.entries(.sync, from: ViewKey(5, 3), through: ViewKey(5, 3)).isEmpty)
        #expect(try snapshot.entries(.sync, from: ViewKey(5, 9), through: ViewKey(5, 8)).isEmpty)
        #expect(try snapshot.entries(.sync, from: ViewKey(6, 0)).isEmpty)
        for limit in [1, 15, 16, 17, 272, 273, 999] {
            var visited = 0
            try snapshot.scan(.sync, from: ViewKey(0, 0), through: ViewKey(.max, .max)) { _, _ in
                visited += 1
                return visited < limit
            }
            #expect(visited == limit)
        }
    }

    @Test(arguments: IndexKind.allCases)
    func `A visitor may read the snapshot that it visits`(_ kind: IndexKind) throws {
        let index = try kind.make(in: folder)
        var batch = ViewBatch()
        for low in 0..<500 as Range<UInt64> {
            batch.put(.word(low + 7, tag: 0), in: .sync, for: ViewKey(1, low))
            batch.put(.word(low, tag: 0), in: .names, for: ViewKey(1, low + 7))
        }
        try index.apply(batch, checkpoint: .at(1))
        let snapshot = try index.snapshot()
        var agreed = 0
        try snapshot.scan(.sync, from: ViewKey(1, 0), through: ViewKey(1, .max)) { key, value in
            guard case .word(let slot, _) = value,
                let back = try? snapshot.value(in: .names, for: ViewKey(1, slot))
            else { return false }
            if back == .word(key.low, tag: 0) { agreed += 1 }
            return true
        }
        #expect(agreed == 500)
    }

    @Test(arguments: IndexKind.allCases, [0, 1, 255, 256, 257, 512, 999, 1_000, 2_000])
    func `A list of words has as many as were asked for`(_ kind: IndexKind, _ count: Int) throws {
        let index = try kind.make(in: folder)
        var batch = ViewBatch()
        for low in 0..<1_000 as Range<UInt64> {
            batch.put(.word(low + 7, tag: 1), in: .sync, for: ViewKey(1, low))
        }
        batch.put(.word(7, tag: 1), in: .sync, for: ViewKey(2, 0))
        try index.apply(batch, checkpoint: .at(1))
        let words = try index.snapshot().words(
            in: .sync,
            under: 1,
            from: 0,
            through: .max,
            count: count
        )
        #expect(words.map(\.low) == Array((0..<1_000 as Range<UInt64>).prefix(count)))
        #expect(words.allSatisfy { $0.word == $0.low + 7 && $0.tag == 1 })
    }

    @Test(arguments: IndexKind.allCases, [1, 2, 3, 4] as [UInt64])
    func `Random batches agree with a dictionary, now and in old snapshots`(
        _ kind: IndexKind,
        _ seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        let index = try kind.make(in: folder)
        var model = IndexModel()
        var kept: [(snapshot: any ViewSnapshot, model: IndexModel, checkpoint: ViewCheckpoint?)] =
            []
        for step in 1...30 as ClosedRange<UInt64> {
            var batch = ViewBatch()
            for _ in 0..<Int.random(in: 0...300, using: &random) {
                let table = ViewTable.allCases.randomElement(using: &random) ?? .names
                let known = model.tables[table]?.keys.randomElement(using: &random)
                let key =
                    Int.random(in: 0..<3, using: &random) == 0
                    ? known ?? random.key() : random.key()
                if Int.random(in: 0..<3, using: &random) == 0 {
                    batch.remove(key, from: table)
                    model.tables[table]?[key] = nil
                } else {
                    let value = random.value(in: table)
                    batch.put(value, in: table, for: key)
                    model.tables[table, default: [:]][key] = value
                }
            }
            try index.apply(batch, checkpoint: .at(step))
            #expect(index.checkpoint == .at(step))
            kept.append((try index.snapshot(), model, .at(step)))
            if kept.count > 4 { kept.remove(at: Int.random(in: 0..<4, using: &random)) }
            for (snapshot, model, checkpoint) in kept {
                try expect(snapshot, shows: model, at: checkpoint, &random)
            }
        }
    }

    private func expect(
        _ snapshot: any ViewSnapshot,
        shows model: IndexModel,
        at checkpoint: ViewCheckpoint?,
        _ random: inout SeededGenerator
    ) throws {
        #expect(snapshot.checkpoint == checkpoint)
        for table in ViewTable.allCases {
            #expect(try snapshot.entries(table) == model.entries(table))
            let bounds = [random.key(), random.key()].sorted()
            #expect(
                try snapshot.entries(table, from: bounds[0], through: bounds[1])
                    == model.entries(table, from: bounds[0], through: bounds[1])
            )
            for _ in 0..<20 {
                let key = random.key()
                #expect(try snapshot.value(in: table, for: key) == model.tables[table]?[key])
            }
            try expectWords(of: table, in: snapshot, show: model, &random)
        }
    }

    private func expectWords(
        of table: ViewTable,
        in snapshot: any ViewSnapshot,
        show model: IndexModel,
        _ random: inout SeededGenerator
    ) throws {
        let high = random.key().high
        let bounds = [random.key().low, random.key().low].sorted()
        let count = Int.random(in: 1...600, using: &random)
        let entries = model.entries(
            table,
            from: ViewKey(high, bounds[0]),
            through: ViewKey(high, bounds[1])
        ).prefix(count)
        let words = entries.compactMap { entry in
            if case .word(let word, let tag) = entry.value {
                ViewWord(low: entry.key.low, word: word, tag: tag)
            } else {
                nil
            }
        }
        func found() throws -> [ViewWord] {
            try snapshot.words(
                in: table,
                under: high,
                from: bounds[0],
                through: bounds[1],
                count: count
            )
        }
        if table.hasWords {
            #expect(try found() == words)
        } else if !entries.isEmpty {
            #expect(throws: ViewIndexError.self) { try found() }
        }
    }
}
