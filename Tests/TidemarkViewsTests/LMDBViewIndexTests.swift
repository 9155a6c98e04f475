// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// What the index on disk promises beyond the protocol.
struct LMDBViewIndexTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("views") }

    init() throws {
        scratch = try ScratchFolder()
    }

    private func open(_ access: ViewAccess) throws -> LMDBViewIndex {
        try LMDBViewIndex.open(folder, access: access, store: .sample)
    }

    /// Puts the same value under many keys.
    private func batch(_ value: UInt64, keys: Range<UInt64> = 0..<1000) -> ViewBatch {
        var batch = ViewBatch()
        for low in keys {
            batch.put(.word(value, tag: 1), in: .names, for: ViewKey(3, low &* 0x9E37_79B9))
            batch.put(.bytes([1, 2, 3]), in: .zones, for: ViewKey(low, 0))
        }
        return batch
    }

    @Test func `Applied batches persist across openings`() throws {
        let digest: ViewDigest
        do {
            let index = try open(.writing)
            try index.apply(batch(1), checkpoint: .at(10))
            try index.apply(batch(2, keys: 500..<1500), checkpoint: .at(20))
            digest = try index.snapshot().digest(.names)
        }
        for access in [ViewAccess.readingStill, .writing, .readingLive] {
            let index = try open(access)
            #expect(index.checkpoint == .at(20))
            let snapshot = try index.snapshot()
            #expect(snapshot.checkpoint == .at(20))
            #expect(try snapshot.digest(.names) == digest)
            #expect(try snapshot.value(in: .zones, for: ViewKey(1499, 0)) == .bytes([1, 2, 3]))
        }
        let index = try open(.writing)
        try index.apply(batch(3, keys: 0..<10), checkpoint: .at(30))
        #expect(index.checkpoint == .at(30))
    }

    @Test func `A snapshot that nobody uses is used again until the next commit`() throws {
        let index = try open(.writing)
        try index.apply(batch(1), checkpoint: .at(1))
        let held = try index.snapshot()
        // Two users never share a transaction.
        let next = ObjectIdentifier(try index.snapshot())
        #expect(next != ObjectIdentifier(held))
        #expect(try ObjectIdentifier(index.snapshot()) == next)
        try index.apply(batch(2), checkpoint: .at(2))
        #expect(try index.snapshot().value(in: .names, for: ViewKey(3, 0)) == .word(2, tag: 1))
        #expect(try held.value(in: .names, for: ViewKey(3, 0)) == .word(1, tag: 1))
        // A process that only reads may not know of the next commit, so it keeps none.
        let reader = try open(.readingLive)
        #expect(try reader.snapshot().checkpoint == .at(2))
        #expect(reader.progress.withLock { $0.kept == nil })
    }

    @Test func `Snapshots that are used again keep no pages from reuse`() throws {
        func byteCount(in folder: String, reading: Bool) throws -> UInt64 {
            let index = try LMDBViewIndex.open(folder, access: .writing, store: .sample)
            for step in 1...40 as ClosedRange<UInt64> {
                try index.apply(batch(step), checkpoint: .at(step))
                if reading { #expect(try index.snapshot().checkpoint == .at(step)) }
            }
            return index.byteCount
        }
        let read = try byteCount(in: folder, reading: true)
        #expect(try read == byteCount(in: scratch.path("unread"), reading: false))
    }

    @Test func `Snapshots can outnumber the reader slots of LMDB`() throws {
        let index = try open(.writing)
        try index.apply(batch(1), checkpoint: .at(10))
        let older = try (0..<1_500).map { _ in try index.snapshot() }
        try index.apply(batch(2), checkpoint: .at(20))
        let newer = try (0..<1_500).map { _ in try index.snapshot() }
        let key = ViewKey(3, 0)
        for snapshot in older {
            #expect(snapshot.checkpoint == .at(10))
            #expect(try snapshot.value(in: .names, for: key) == .word(1, tag: 1))
        }
        for snapshot in newer {
            #expect(snapshot.checkpoint == .at(20))
            #expect(try snapshot.value(in: .names, for: key) == .word(2, tag: 1))
        }
        // Those who only read share too.
        let reading = try open(.readingLive)
        let read = try (0..<1_500).map { _ in try reading.snapshot() }
        #expect(read.allSatisfy { $0.checkpoint == .at(20) })
    }

    @Test func `Reading a closed store changes no byte, name or time`() throws {
        do {
            let index = try open(.writing)
            for step in 1...5 as ClosedRange<UInt64> {
                try index.apply(batch(step), checkpoint: .at(step))
            }
        }
        let lock = folder + "/lock.mdb"
        try FileManager.default.removeItem(atPath: lock)
        let before = try picture()
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
        defer {
            try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        }
        do {
            let index = try open(.readingStill)
            #expect(try index.snapshot().entries(.names).count == 1000)
            #expect(index.byteCount > 0)
            let error = #expect(throws: ViewIndexError.self) {
                try index.apply(ViewBatch(), checkpoint: .at(9))
            }
            #expect(error?.reason == .system)
        }
        #expect(try picture() == before)
        #expect(before.count == 2)
    }

    /// Names, lengths, times of change and contents of the folder's files.
    private func picture() throws -> [String: [AnyHashable]] {
        var picture: [String: [AnyHashable]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let path = folder + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            picture[name] = [
                attributes[.modificationDate] as? Date,
                try Data(contentsOf: URL(fileURLWithPath: path)),
            ]
        }
        return picture
    }

    @Test func `A missing index is damage to readers, and the writer creates it`() throws {
        for access in [ViewAccess.readingStill, .readingLive] {
            let error = #expect(throws: ViewIndexError.self) { try open(access) }
            #expect(error?.reason == .damaged)
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try open(.writing).checkpoint == nil)
        #expect(try open(.readingStill).checkpoint == nil)
        try LMDBViewIndex.remove(folder)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        #expect(try open(.writing).checkpoint == nil)
    }

    @Test func `A live reader follows the writer, snapshot by snapshot`() throws {
        var writer: LMDBViewIndex? = try open(.writing)
        let reader = try open(.readingLive)
        #expect(reader.checkpoint == nil)
        try writer?.apply(batch(1), checkpoint: .at(1))
        #expect(reader.checkpoint == .at(1))
        let old = try reader.snapshot()
        for step in 2...6 as ClosedRange<UInt64> {
            try writer?.apply(batch(step), checkpoint: .at(step))
            let snapshot = try reader.snapshot()
            #expect(snapshot.checkpoint == .at(step))
            #expect(try snapshot.value(in: .names, for: ViewKey(3, 0)) == .word(step, tag: 1))
        }
        #expect(old.checkpoint == .at(1))
        #expect(try old.entries(.names).allSatisfy { $0.value == .word(1, tag: 1) })
        writer = nil
        #expect(try reader.snapshot().checkpoint == .at(6))
    }

    @Test func `One process opens an index for writing once`() throws {
        let first = try open(.writing)
        let error = #expect(throws: ViewIndexError.self) { try open(.writing) }
        #expect(error?.reason == .system)
        #expect(error?.message.contains("already") == true)
        try first.apply(batch(1), checkpoint: .at(1))
        #expect(first.checkpoint == .at(1))
    }

    @Test func `A full map rejects the batch, keeps the index and accepts the next`() throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let environment = try LMDBEnvironment(folder, .writing, mapByteCount: 512 << 10)
        try environment.write(batch(1), store: .sample, checkpoint: .at(1))
        var error: ViewIndexError?
        do {
            try environment.write(batch(2, keys: 0..<50_000), store: .sample, checkpoint: .at(2))
        } catch let failure {
            error = failure
        }
        #expect(error?.reason == .full)
        #expect(try environment.readNewestState().checkpoint == .at(1))
        try environment.write(batch(3, keys: 0..<10), store: .sample, checkpoint: .at(3))
        #expect(try environment.readNewestState().checkpoint == .at(3))
    }

    @Test func `The maps of eight thousand open indexes fit into the address space of a process`() {
        let sizes = (0..<8_000).map { LMDBOpening.largestMapByteCount(besides: $0) }
        #expect(sizes.reduce(0, +) < 1 << 47)
        #expect(sizes.allSatisfy { $0 >= 1 << 32 })
    }

    @Test func `A copy has equal contents in fewer bytes and keeps the source`() throws {
        let digests: [ViewDigest]
        do {
            let index = try open(.writing)
            for step in 1...6 as ClosedRange<UInt64> {
                try index.apply(batch(step, keys: 0..<3000), checkpoint: .at(step))
            }
            digests = try ViewTable.allCases.map { try index.snapshot().digest($0) }
            #expect(index.spareByteCount > 0)
            #expect(index.spareByteCount < index.byteCount)
        }
        let before = try picture()
        let target = scratch.path("copy")
        try LMDBViewIndex.copy(from: folder, to: target, store: .sample)
        #expect(try picture() == before)
        for access in [ViewAccess.readingStill, .writing] {
            let copy = try LMDBViewIndex.open(target, access: access, store: .sample)
            #expect(copy.checkpoint == .at(6))
            #expect(try ViewTable.allCases.map { try copy.snapshot().digest($0) } == digests)
            #expect(try copy.byteCount < open(.readingStill).byteCount)
        }
        let copy = try LMDBViewIndex.open(target, access: .writing, store: .sample)
        try copy.apply(batch(7), checkpoint: .at(7))
        #expect(copy.checkpoint == .at(7))
        // A folder that holds an index already is not written over.
        #expect(throws: ViewIndexError.self) {
            try LMDBViewIndex.copy(from: folder, to: target, store: .sample)
        }
        #expect(copy.checkpoint == .at(7))
    }

    @Test func `Condensing leaves full pages, and open snapshots stay valid`() throws {
        let writer = try open(.writing)
        // Keys all over the table, of which most go away again.
        try writer.apply(batch(1, keys: 0..<100_000), checkpoint: .at(1))
        var removals = ViewBatch()
        for low in 0..<100_000 as Range<UInt64> where low % 20 != 0 {
            removals.remove(ViewKey(3, low &* 0x9E37_79B9), from: .names)
            removals.remove(ViewKey(low, 0), from: .zones)
        }
        try writer.apply(removals, checkpoint: .at(2))
        let reader = try open(.readingLive)
        let held = [try writer.snapshot(), try reader.snapshot()]
        let digests = try ViewTable.allCases.map { try held[0].digest($0) }
        let before = writer.byteCount
        try writer.condense()
        #expect(writer.byteCount * 4 < before)
        #expect(writer.spareByteCount < 100_000)
        for snapshot in held {
            #expect(try ViewTable.allCases.map { try snapshot.digest($0) } == digests)
        }
        // Whoever opens it now gets the new files, though the old ones are still open here.
        do {
            let next = try open(.writing)
            #expect(next.checkpoint == .at(2))
            #expect(try ViewTable.allCases.map { try next.snapshot().digest($0) } == digests)
            try next.apply(batch(3, keys: 0..<10), checkpoint: .at(3))
            #expect(try open(.readingLive).checkpoint == .at(3))
        }
        #expect(reader.checkpoint == .at(2))
        let error = #expect(throws: ViewIndexError.self) {
            try writer.apply(batch(4), checkpoint: .at(4))
        }
        #expect(error?.reason == .system)
        #expect(try open(.readingStill).checkpoint == .at(3))
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: folder))
                == ["data.mdb", "checks", "lock.mdb"]
        )
    }

    @Test func `An index with little spare room is not condensed`() throws {
        let index = try open(.writing)
        try index.apply(batch(1, keys: 0..<20_000), checkpoint: .at(1))
        let before = try picture()
        try index.condense()
        #expect(try picture() == before)
        try index.apply(batch(2, keys: 0..<10), checkpoint: .at(2))
        #expect(index.checkpoint == .at(2))
    }

    @Test func `The free pages of an index are those that its last checkpoint replaced`() throws {
        let index = try open(.writing)
        var generator = SeededGenerator(seed: 24)
        for step in 1...10 as ClosedRange<UInt64> {
            var records = ViewBatch()
            for number in 0..<10_000 as Range<UInt64> {
                let slot = generator.next()
                let sequence = step * 10_000 + number
                records.put(.word(sequence, tag: 1), in: .names, for: ViewKey(3, slot))
                records.put(.word(slot, tag: 1), in: .sync, for: ViewKey(3, sequence))
            }
            try index.apply(records, checkpoint: .at(step))
        }
        // Every checkpoint changes each page of the names, which are somewhat more than half.
        let spare = index.spareByteCount
        let used = index.byteCount - spare
        #expect(spare > used * 2 / 5)
        #expect(spare < used * 7 / 10)
        #expect(try index.snapshot().checkpoint == .at(10))
        #expect(index.progress.withLock { $0.checks?.transaction == $0.state?.transaction })
        #expect(try open(.readingLive).snapshot().entries(.names).count == 100_000)
        let digest = try index.snapshot().digest(.names)
        let copy = scratch.path("copy")
        try index.compactCopy(to: copy)
        let copied = try LMDBViewIndex.open(copy, access: .readingStill, store: .sample)
        #expect(try copied.snapshot().digest(.names) == digest)
    }

    @Test func `An index with empty commits after its checkpoints opens at the last checkpoint`()
        throws
    {
        do {
            let index = try open(.writing)
            try index.apply(batch(1, keys: 0..<50_000), checkpoint: .at(1))
            try index.apply(batch(2, keys: 0..<50_000), checkpoint: .at(2))
            #expect(index.spareByteCount > 1 << 20)
        }
        // Opening for reading verifies every page with the checks.
        let still = try open(.readingStill)
        #expect(still.checkpoint == .at(2))
        #expect(try still.snapshot().entries(.names).allSatisfy { $0.value == .word(2, tag: 1) })
    }

    @Test func `A snapshot from before an empty commit is not used again after it`() throws {
        let index = try open(.writing)
        let isDone = Mutex(false)
        defer { isDone.withLock { $0 = true } }
        // Asks between the two commits of a checkpoint too, while the checks of the first are
        // written.
        Thread.detachNewThread {
            while !isDone.withLock({ $0 }) { _ = try? index.snapshot() }
        }
        for step in 1...5 as ClosedRange<UInt64> {
            try index.apply(batch(step, keys: 0..<50_000), checkpoint: .at(step))
            let isNewest = index.progress.withLock { progress -> Bool in
                guard let kept = progress.kept else { return true }
                return kept.number == progress.state?.transaction
            }
            #expect(isNewest)
        }
        #expect(index.spareByteCount > 1 << 20)
    }

    @Test func `A digest does not depend on order and changes with the contents`() throws {
        let index = try open(.writing)
        try index.apply(batch(1), checkpoint: .at(1))
        let all = try index.snapshot().digest(.names)
        var same = ViewDigest()
        var other = ViewDigest()
        for entry in try index.snapshot().entries(.names).reversed() {
            same.add(entry.value, in: .names, for: entry.key)
            let changed = entry.key.low == 0 ? ViewValue.word(9, tag: 1) : entry.value
            other.add(changed, in: .names, for: entry.key)
        }
        #expect(same == all)
        #expect(all.count == 1000)
        #expect(other != all)
        var change = ViewBatch()
        change.put(.word(9, tag: 1), in: .names, for: ViewKey(3, 0))
        try index.apply(change, checkpoint: .at(2))
        #expect(try index.snapshot().digest(.names, zone: 3) == other)
        #expect(try index.snapshot().digest(.names, zone: 4) == ViewDigest())
        #expect(try index.snapshot().digest(.zones) != index.snapshot().digest(.names))
    }

    @Test(arguments: IndexKind.allCases)
    func `Concurrent readers see whole checkpoints while batches are applied`(
        _ kind: IndexKind
    ) async throws {
        let index = try kind.make(in: folder)
        let count: UInt64 = 300
        func same(_ step: UInt64) -> ViewBatch {
            var batch = ViewBatch()
            for low in 0..<count {
                batch.put(.word(step, tag: 0), in: .sync, for: ViewKey(1, low))
            }
            return batch
        }
        try index.apply(same(1), checkpoint: .at(1))
        let shared = try index.snapshot()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<60 {
                        for snapshot in [try index.snapshot(), shared] {
                            let step = snapshot.checkpoint?.sequence.rawValue ?? 0
                            let entries = try snapshot.entries(.sync)
                            #expect(entries.count == Int(count))
                            #expect(entries.allSatisfy { $0.value == .word(step, tag: 0) })
                            #expect(
                                try snapshot.value(in: .sync, for: ViewKey(1, 7))
                                    == .word(step, tag: 0)
                            )
                        }
                    }
                }
            }
            for step in 2...40 as ClosedRange<UInt64> {
                try index.apply(same(step), checkpoint: .at(step))
            }
            try await group.waitForAll()
        }
        #expect(index.checkpoint == .at(40))
        #expect(try shared.value(in: .sync, for: ViewKey(1, 0)) == .word(1, tag: 0))
    }
}
