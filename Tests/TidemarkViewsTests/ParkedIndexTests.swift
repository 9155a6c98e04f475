// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// An index whose files are closed between two uses.
struct ParkedIndexTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("views") }

    init() throws {
        scratch = try ScratchFolder()
    }

    private func open(_ access: ViewAccess) throws -> LMDBViewIndex {
        try LMDBViewIndex.open(folder, access: access, store: .sample)
    }

    private func batch(_ value: UInt64) -> ViewBatch {
        var batch = ViewBatch()
        for low in 0..<1_000 as Range<UInt64> {
            batch.put(.word(value, tag: 1), in: .names, for: ViewKey(3, low))
        }
        return batch
    }

    /// An index at position 1 that is parked.
    private func parked() throws -> LMDBViewIndex {
        let index = try open(.writing)
        try index.apply(batch(1), checkpoint: .at(1))
        park(index)
        return index
    }

    private func park(_ index: LMDBViewIndex) {
        let path = folder
        #expect(!index.park { path })
        #expect(index.park { path })
        #expect(index.progress.withLock { $0.environment == nil })
    }

    private func value(_ index: LMDBViewIndex) throws -> ViewValue? {
        try index.snapshot().value(in: .names, for: ViewKey(3, 7))
    }

    @Test func `A parked index is opened again by reads and writes`() throws {
        let index = try parked()
        #expect(index.checkpoint == .at(1))
        #expect(try value(index) == .word(1, tag: 1))
        park(index)
        try index.apply(batch(2), checkpoint: .at(2))
        #expect(try value(index) == .word(2, tag: 1))
        park(index)
        #expect(index.byteCount > 0)
    }

    @Test func `An index in use is not parked`() throws {
        let index = try open(.writing)
        let path = folder
        var snapshot: (any ViewSnapshot)? = try index.snapshot()
        for _ in 0..<3 { #expect(!index.park { path }) }
        #expect(snapshot?.checkpoint == nil)
        snapshot = nil
        #expect(index.park { path })
        #expect(try !open(.readingLive).park { path })
    }

    @Test func `Only one writer opens a parked index, until it is released`() throws {
        var index: LMDBViewIndex? = try parked()
        let error = #expect(throws: ViewIndexError.self) { try open(.writing) }
        #expect(error?.message.contains("already") == true)
        #expect(index?.checkpoint == .at(1))
        index = nil
        #expect(try open(.writing).checkpoint == .at(1))
    }

    @Test func `A reader in the process shares a parked index with its writer`() throws {
        let index = try parked()
        let reader = try open(.readingLive)
        let old = try reader.snapshot()
        try index.apply(batch(2), checkpoint: .at(2))
        #expect(try old.value(in: .names, for: ViewKey(3, 7)) == .word(1, tag: 1))
        #expect(try value(reader) == .word(2, tag: 1))
        // The reader keeps the files open, and the writer leaves them.
        park(index)
        #expect(try value(reader) == .word(2, tag: 1))
        try index.apply(batch(3), checkpoint: .at(3))
        #expect(try value(reader) == .word(3, tag: 1))
    }

    @Test func `A folder that was moved is found, and one in its place is left alone`() throws {
        let index = try parked()
        let moved = scratch.path("moved")
        try FileManager.default.moveItem(atPath: folder, toPath: moved)
        do {
            let other = try open(.writing)
            try other.apply(batch(9), checkpoint: .at(9))
        }
        // The path leads to another folder.
        #expect(throws: ViewIndexError.self) { try index.snapshot() }
        try FileManager.default.removeItem(atPath: folder)
        // The path leads nowhere.
        #expect(throws: ViewIndexError.self) { try index.snapshot() }
        try FileManager.default.moveItem(atPath: moved, toPath: folder)
        #expect(try value(index) == .word(1, tag: 1))
    }

    @Test func `A reader maps a file that another process made longer`() throws {
        do {
            let index = try open(.writing)
            try index.apply(batch(1), checkpoint: .at(1))
        }
        let reader = LMDBViewIndex(
            try LMDBEnvironment(folder, .readingLive, mapByteCount: 1 << 20),
            .readingLive,
            .sample
        )
        var held: (any ViewSnapshot)? = try reader.snapshot()
        // Under another name of the files, this process has them open twice, as two would.
        let names = scratch.path("names")
        let manager = FileManager.default
        try manager.createDirectory(atPath: names, withIntermediateDirectories: true)
        for name in ["data.mdb", "lock.mdb"] {
            let path = "\(folder)/\(name)"
            try manager.linkItem(atPath: path, toPath: "\(names)/\(name)")
        }
        let writer = try LMDBEnvironment(names, .writing)
        // Opening began LMDB's table of readers anew. This puts the process back into its first
        // row, which the held snapshot has too.
        writer.endReading(try writer.beginReading())
        var large = ViewBatch()
        for low in 0..<200_000 as Range<UInt64> {
            let word = low &* 0x9E37_79B9_7F4A_7C15
            large.put(.word(word, tag: 2), in: .names, for: ViewKey(3, low))
        }
        try writer.write(large, store: .sample, checkpoint: .at(2))
        let error = #expect(throws: ViewIndexError.self) { try reader.snapshot() }
        #expect(error?.reason == .outgrown)
        #expect(held?.checkpoint == .at(1))
        held = nil
        #expect(try reader.snapshot().checkpoint == .at(2))
        #expect(try value(reader) == .word(7 &* 0x9E37_79B9_7F4A_7C15, tag: 2))
    }

    @Test func `An index that lost its files or was replaced is not used`() throws {
        let index = try parked()
        let data = folder + "/data.mdb"
        let kept = folder + "/kept"
        try FileManager.default.moveItem(atPath: data, toPath: kept)
        let error = #expect(throws: ViewIndexError.self) { try index.snapshot() }
        #expect(error?.reason == .damaged)
        #expect(error?.message.contains("open it again") == true)
        #expect(!FileManager.default.fileExists(atPath: data))
        try FileManager.default.copyItem(atPath: kept, toPath: data)
        // The index that is there now is another one.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: data))
        #expect(try value(index) == .word(1, tag: 1))
        park(index)
        try index.apply(batch(2), checkpoint: .at(2))
        park(index)
        try bytes.write(to: URL(fileURLWithPath: data))
        #expect(throws: ViewIndexError.self) { try index.snapshot() }
    }

    @Test func `A parked index that is set aside leaves its folder to another one`() throws {
        let index = try parked()
        index.setAside()
        try LMDBViewIndex.remove(folder)
        let next = try open(.writing)
        #expect(next.checkpoint == nil)
        #expect(throws: ViewIndexError.self) { try index.snapshot() }
        try next.apply(batch(5), checkpoint: .at(5))
        #expect(try value(next) == .word(5, tag: 1))
    }
}
