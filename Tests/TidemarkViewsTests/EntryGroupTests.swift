// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// Groups of entries: their bytes, and what a table of them holds after any changes.
struct EntryGroupTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
    }

    private func entry(_ key: ViewKey, _ word: UInt64, _ tag: UInt8) -> ViewBatch.Change {
        ViewBatch.Change(key: key, word: word, tag: tag, form: .word)
    }

    /// Cuts entries into groups; the bytes and the last key of each.
    private func groups(
        _ entries: [ViewBatch.Change],
        in table: ViewTable,
        isFilled: Bool
    ) throws -> [(key: ViewKey, bytes: [UInt8])] {
        var groups: [(key: ViewKey, bytes: [UInt8])] = []
        try EntryGroup.cut(entries, isFilled: isFilled) { shape, slice throws(ViewIndexError) in
            var room = [UInt8](repeating: 0xEE, count: EntryGroup.maximumByteCount + 8)
            let count = room.withUnsafeMutableBytes { room in
                room.baseAddress.map { shape.write(slice, in: table, at: $0) } ?? 0
            }
            let key = slice.last?.key ?? ViewKey(0, 0)
            var keyRoom = [UInt8](repeating: 0, count: 32)
            let keyCount = keyRoom.withUnsafeMutableBytes { room in
                room.baseAddress.map { ViewEntryFormat.encode(key, at: $0) } ?? 0
            }
            #expect(shape.byteCount == count + keyCount)
            #expect(shape.byteCount <= EntryGroup.maximumByteCount)
            groups.append((key, Array(room[..<count])))
        }
        return groups
    }

    private func entries(
        _ bytes: [UInt8],
        under key: ViewKey,
        in table: ViewTable
    ) -> [ModelEntry]? {
        bytes.withUnsafeBytes { bytes in
            guard let group = EntryGroup(bytes, under: key, in: table) else { return nil }
            return (0..<group.count).map { index in
                ModelEntry(
                    key: group.key(at: index),
                    value: .word(group.word(at: index), tag: group.tag(at: index))
                )
            }
        }
    }

    @Test func `Entries of any width survive being cut into groups`() throws {
        var random = SeededGenerator(seed: 31)
        for round in 0..<200 {
            var keys: Set<ViewKey> = []
            let bits = UInt64.random(in: 0..<64, using: &random)
            for _ in 0..<Int.random(in: 1...400, using: &random) {
                keys.insert(round % 2 == 0 ? random.key() : ViewKey(3, random.next() >> bits))
            }
            let entries = keys.sorted().map { key in
                entry(key, random.word(), round % 3 == 0 ? UInt8(random.next() & 3) : 1)
            }
            let isFilled = Bool.random(using: &random)
            let groups = try groups(entries, in: .sync, isFilled: isFilled)
            let read = groups.flatMap { self.entries($0.bytes, under: $0.key, in: .sync) ?? [] }
            #expect(
                read == entries.map { ModelEntry(key: $0.key, value: .word($0.word, tag: $0.tag)) }
            )
        }
    }

    @Test func `A group is read as it was written, under its key and in its table, or not at all`()
        throws
    {
        var random = SeededGenerator(seed: 32)
        let entries = (0..<20 as Range<UInt64>).map { entry(ViewKey(5, $0 * 3), random.word(), 1) }
        let group = try #require(try groups(entries, in: .names, isFilled: true).first)
        #expect(self.entries(group.bytes, under: group.key, in: .names)?.count == 20)
        #expect(self.entries(group.bytes, under: group.key, in: .sync) == nil)
        #expect(self.entries(group.bytes, under: ViewKey(5, 54), in: .names) == nil)
        #expect(self.entries(group.bytes, under: ViewKey(4, 57), in: .names) == nil)
        #expect(self.entries(group.bytes + [0], under: group.key, in: .names) == nil)
        for count in group.bytes.indices {
            #expect(self.entries(Array(group.bytes[..<count]), under: group.key, in: .names) == nil)
        }
        for offset in group.bytes.indices {
            for bit in 0..<8 {
                var bytes = group.bytes
                bytes[offset] ^= 1 << UInt8(bit)
                #expect(self.entries(bytes, under: group.key, in: .names) == nil)
            }
        }
    }

    @Test func `Keys are found between, in and beyond the entries of a group`() throws {
        let entries = (1...9 as ClosedRange<UInt64>).map { entry(ViewKey(5, $0 * 10), $0, 1) }
        let bytes = try #require(try groups(entries, in: .names, isFilled: true).first).bytes
        bytes.withUnsafeBytes { bytes in
            guard let group = EntryGroup(bytes, under: ViewKey(5, 90), in: .names) else {
                Issue.record("not a group")
                return
            }
            for low in 0...100 as ClosedRange<UInt64> {
                let key = ViewKey(5, low)
                let before = entries.count { $0.key < key }
                #expect(group.firstIndex(notBefore: key) == before)
                #expect(group.endIndex(through: key) == entries.count { $0.key <= key })
            }
            #expect(group.firstIndex(notBefore: ViewKey(4, .max)) == 0)
            #expect(group.firstIndex(notBefore: ViewKey(6, 0)) == 9)
        }
    }

    @Test func `Entries that are too many are shared out evenly where more may come between`()
        throws
    {
        let entries = (0..<60 as Range<UInt64>).map {
            entry(ViewKey(5, $0 &* 0x9E37_79B9_7F4A_7C15), $0, 1)
        }.sorted { $0.key < $1.key }
        let even = try groups(entries, in: .names, isFilled: false)
        let filled = try groups(entries, in: .names, isFilled: true)
        let counts = even.map { self.entries($0.bytes, under: $0.key, in: .names)?.count }
        #expect(counts == [30, 30])
        #expect(filled.count == 2)
        #expect(filled[0].bytes.count > 470)
        #expect(filled[1].bytes.count < 200)
    }

    /// Zones of many lengths, in which entries are put at random places, appended and removed.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func `A table of groups agrees with a dictionary`(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let index = try makeIndex()
        var model = IndexModel()
        var last: UInt64 = 0
        for step in 1...24 as ClosedRange<UInt64> {
            var batch = ViewBatch()
            for table in [ViewTable.names, .sync] {
                var kept = model.tables[table] ?? [:]
                // Now and then nearly all go away, so that groups are joined.
                let share = step % 6 == 0 ? 20 : Int.random(in: 0...3, using: &random)
                for key in kept.keys.sorted() where Int.random(in: 0..<22, using: &random) < share {
                    batch.remove(key, from: table)
                    kept[key] = nil
                }
                for _ in 0..<Int.random(in: 0...2_000, using: &random) {
                    last += 1
                    let zone = UInt64.random(in: 0..<10, using: &random)
                    let low = table == .sync ? last : random.next() >> (zone * 4)
                    let key = ViewKey(zone * zone * zone, low)
                    let value = ViewValue.word(
                        table == .sync ? random.next() : last,
                        tag: UInt8(random.next() & 1)
                    )
                    batch.put(value, in: table, for: key)
                    kept[key] = value
                }
                // Removals of keys that are not there, between and beyond all others.
                batch.remove(ViewKey(random.next() & 1023, random.next()), from: table)
                batch.remove(ViewKey(.max, random.next()), from: table)
                model.tables[table] = kept
            }
            try index.apply(batch, checkpoint: .at(step))
            let snapshot = try index.snapshot()
            for table in [ViewTable.names, .sync] {
                let expected = model.entries(table)
                #expect(try snapshot.entries(table) == expected)
                for entry in expected.indices.filter({ $0 % 17 == 0 }).map({ expected[$0] }) {
                    let (key, value) = (entry.key, entry.value)
                    #expect(try snapshot.value(in: table, for: key) == value)
                    let beside = ViewKey(key.high, key.low &+ 1)
                    let known = model.tables[table]?[beside]
                    #expect(try snapshot.value(in: table, for: beside) == known)
                }
            }
        }
    }

    private func makeIndex() throws -> LMDBViewIndex {
        try LMDBViewIndex.open(scratch.path("views"), access: .writing, store: .sample)
    }

    /// A batch with entries of the sync index, of two zones that take turns.
    private func batch(_ sequences: Range<UInt64>) -> ViewBatch {
        var batch = ViewBatch()
        for sequence in sequences {
            let key = ViewKey(sequence % 2, sequence)
            batch.put(.word(sequence &* 0x9E37_79B9_7F4A_7C15, tag: 1), in: .sync, for: key)
        }
        return batch
    }

    @Test func `Appended entries fill their groups`() throws {
        let index = try makeIndex()
        let count: UInt64 = 16_000
        for start in stride(from: 0, to: count, by: 16) {
            try index.apply(batch(start..<start + 16), checkpoint: .at(start + 16))
        }
        // An entry takes 11 bytes in a full group, with its share of the header. Ten pages are not
        // those of groups.
        #expect(index.byteCount - index.spareByteCount < count * 17)
        #expect(try index.snapshot().entries(.sync).count == Int(count))
    }

    @Test func `Groups that lose most of their entries join`() throws {
        let index = try makeIndex()
        let count: UInt64 = 40_000
        try index.apply(batch(0..<count), checkpoint: .at(1))
        let filled = index.byteCount - index.spareByteCount
        var removals = ViewBatch()
        for sequence in 0..<count where sequence % 100 > 0 {
            removals.remove(ViewKey(sequence % 2, sequence), from: .sync)
        }
        try index.apply(removals, checkpoint: .at(2))
        #expect(try index.snapshot().entries(.sync).count == Int(count) / 100)
        #expect(index.byteCount - index.spareByteCount < filled / 8)
    }

    @Test func `Entries that are put one by one leave no small groups behind`() throws {
        let index = try makeIndex()
        var random = SeededGenerator(seed: 34)
        // Requests have random first words. The zones are appended to in turns, one position at a
        // time, and each has the first entries of the next one behind its last.
        let count: UInt64 = 6_000
        for sequence in 1...count {
            var batch = ViewBatch()
            let request = ViewKey(random.next(), random.next())
            batch.put(.word(sequence, tag: 0), in: .requests, for: request)
            let key = ViewKey(1 + sequence % 50, sequence)
            batch.put(.word(random.next(), tag: 1), in: .sync, for: key)
            try index.apply(batch, checkpoint: .at(sequence))
        }
        // A request and a position take some 40 bytes in groups and pages that are partly full.
        #expect(index.byteCount - index.spareByteCount < count * 53)
        #expect(try index.snapshot().entries(.sync).count == Int(count))
        #expect(try index.snapshot().entries(.requests).count == Int(count))
    }

    @Test func `Groups keep room where entries come between others`() throws {
        let index = try makeIndex()
        var random = SeededGenerator(seed: 33)
        let count: UInt64 = 40_000
        for start in stride(from: 0, to: count, by: 400) {
            var batch = ViewBatch()
            for sequence in start..<start + 400 {
                let key = ViewKey(3, random.next())
                batch.put(.word(sequence, tag: 1), in: .names, for: key)
            }
            try index.apply(batch, checkpoint: .at(start + 400))
        }
        // An entry takes 12 bytes in a full group. Groups and pages are somewhat more than half
        // full.
        #expect(index.byteCount - index.spareByteCount < count * 20)
    }
}
