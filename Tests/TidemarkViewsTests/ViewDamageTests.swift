// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// A damaged view index is noticed, and never takes the process with it.
struct ViewDamageTests {
    private let scratch: ScratchFolder
    private var folder: String { scratch.path("views") }

    init() throws {
        scratch = try ScratchFolder()
    }

    /// An index with some history, closed; what it holds, and its files' bytes.
    private func makeIndex() throws -> (model: IndexModel, files: IndexFiles) {
        var random = SeededGenerator(seed: 42)
        var model = IndexModel()
        let index = try LMDBViewIndex.open(folder, access: .writing, store: .sample)
        for step in 1...6 as ClosedRange<UInt64> {
            var batch = ViewBatch()
            for _ in 0..<120 {
                let table = ViewTable.allCases.randomElement(using: &random) ?? .names
                let (key, value) = (random.key(), random.value(in: table))
                batch.put(value, in: table, for: key)
                model.tables[table, default: [:]][key] = value
            }
            for table in ViewTable.allCases {
                guard let key = model.tables[table]?.keys.randomElement(using: &random) else {
                    continue
                }
                batch.remove(key, from: table)
                model.tables[table]?[key] = nil
            }
            try index.apply(batch, checkpoint: .at(step))
        }
        return (model, try IndexFiles(folder))
    }

    /// Opens the index in each way that a stopped store is opened and reads all of it.
    private func outcomes(_ access: [ViewAccess] = [.readingStill, .writing]) -> [Outcome] {
        access.map { access in
            do throws(ViewIndexError) {
                let index = try LMDBViewIndex.open(folder, access: access, store: .sample)
                let snapshot = try index.snapshot()
                var digests: [ViewDigest] = []
                for table in ViewTable.allCases { digests.append(try snapshot.digest(table)) }
                return .opened(digests, snapshot.checkpoint)
            } catch {
                return error.reason == .damaged ? .damaged : .failed(error.message)
            }
        }
    }

    private enum Outcome: Equatable {
        case opened([ViewDigest], ViewCheckpoint?)
        case damaged
        case failed(String)

        /// What a sound index gives that holds what a model holds.
        init(_ model: IndexModel, at checkpoint: ViewCheckpoint) {
            let digests = ViewTable.allCases.map { table in
                var digest = ViewDigest()
                for (key, value) in model.tables[table] ?? [:] {
                    digest.add(value, in: table, for: key)
                }
                return digest
            }
            self = .opened(digests, checkpoint)
        }
    }

    @Test func `A flipped bit is detected, or is in an unused page`() throws {
        let (model, files) = try makeIndex()
        let sound = Outcome(model, at: .at(6))
        #expect(outcomes() == [sound, sound])
        let used = try files.usedPages()
        var random = SeededGenerator(seed: 7)
        var harmless = 0
        for _ in 0..<3000 {
            let offset = Int.random(in: 0..<files.data.count, using: &random)
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            try files.flip(bit, at: offset)
            if used.contains(offset / files.pageByteCount) {
                #expect(outcomes([.readingStill]) == [.damaged], "bit \(bit) at \(offset)")
            } else {
                harmless += 1
                #expect(outcomes([.readingStill]) == [sound], "bit \(bit) at \(offset)")
            }
            try files.flip(0, at: offset)
        }
        #expect(harmless > 0 && harmless < 2500)
    }

    @Test func `Every flipped bit in the used bytes of meta pages is detected`() throws {
        let (_, files) = try makeIndex()
        for page in 0..<2 {
            for offset in page * files.pageByteCount..<page * files.pageByteCount
                + LMDBMetaPage.byteCount
            {
                for bit in 0..<8 {
                    try files.flip(1 << UInt8(bit), at: offset)
                    #expect(outcomes([.readingStill]) == [.damaged], "bit \(bit) at \(offset)")
                    try files.flip(0, at: offset)
                }
            }
        }
    }

    @Test func `A file truncated at any offset is detected`() throws {
        let (model, files) = try makeIndex()
        let sound = Outcome(model, at: .at(6))
        let needed = (try files.usedPages().max() ?? 0) * files.pageByteCount + files.pageByteCount
        for length in stride(from: 0, through: files.data.count, by: 2039) {
            try files.restore()
            try Data(files.data.prefix(length)).write(to: files.dataURL)
            let expected = length < needed ? Outcome.damaged : sound
            #expect(outcomes() == [expected, expected], "\(length) of \(files.data.count)")
        }
    }

    @Test func `A zeroed or misplaced page is detected`() throws {
        let (_, files) = try makeIndex()
        let used = try files.usedPages()
        for page in used.union([0, 1]) {
            try files.restore()
            try files.overwrite(page: page, with: Data(count: files.pageByteCount))
            #expect(outcomes([.readingStill]) == [.damaged], "page \(page)")
            if let other = used.first(where: { $0 != page }) {
                try files.restore()
                try files.overwrite(page: page, with: files.page(other))
                #expect(outcomes([.readingStill]) == [.damaged], "page \(page)")
            }
        }
    }

    @Test func `Damage is found in every part of a long file, and the first is reported`() throws {
        do {
            let index = try LMDBViewIndex.open(folder, access: .writing, store: .sample)
            var batch = ViewBatch()
            for number in 0..<600_000 as Range<UInt64> {
                let slot = number &* 0x9E37_79B9_7F4A_7C15
                batch.put(.word(slot, tag: 1), in: .sync, for: ViewKey(3, number))
            }
            try index.apply(batch, checkpoint: .at(1))
        }
        let files = try IndexFiles(folder)
        // A thread verifies 64 chunks of 16 pages, then the next ones.
        let parts = Dictionary(grouping: try files.usedPages()) { $0 / (64 * 16) }
        try #require(parts.count > 1)
        let last = try parts.values.map { try #require($0.max()) }.sorted()
        for page in last {
            try files.flip(1, at: page * files.pageByteCount)
            #expect(outcomes([.readingStill]) == [.damaged], "page \(page)")
            try files.flip(0, at: page * files.pageByteCount)
        }
        // The damage of the second part is probably found earlier.
        let second = try #require(parts[1]?.min())
        for page in [last[0], second] {
            try files.flip(1, at: page * files.pageByteCount)
        }
        let error = #expect(throws: ViewIndexError.self) {
            try LMDBViewIndex.open(folder, access: .readingStill, store: .sample)
        }
        let offset = last[0] / 16 * 16 * files.pageByteCount
        #expect(error?.message.contains("at offset \(offset),") == true)
    }

    @Test func `Missing, truncated, flipped and unknown checks are detected`() throws {
        let (_, files) = try makeIndex()
        try FileManager.default.removeItem(at: files.checksURL)
        #expect(outcomes() == [.damaged, .damaged])
        for length in 0..<files.checks.count {
            try files.restore()
            try files.checks.prefix(length).write(to: files.checksURL)
            #expect(outcomes([.readingStill]) == [.damaged], "\(length) bytes")
        }
        for offset in files.checks.indices {
            try files.restore()
            var flipped = files.checks
            flipped[offset] ^= 0x10
            try flipped.write(to: files.checksURL)
            #expect(outcomes([.readingStill]) == [.damaged], "byte \(offset)")
        }
        for version in [0, 1, UInt8(ViewState.formatVersion + 1)] {
            try files.restore()
            var other = [UInt8](files.checks.dropLast(8))
            other[8] = version
            other.append(integer: xxh3(other.span.bytes, seed: 0))
            try Data(other).write(to: files.checksURL)
            #expect(outcomes() == [.damaged, .damaged])
        }
    }

    @Test func `An index of another store is rejected`() throws {
        _ = try makeIndex()
        for access in [ViewAccess.writing, .readingStill, .readingLive] {
            let error = #expect(throws: ViewIndexError.self) {
                try LMDBViewIndex.open(folder, access: access, store: StoreID(low: 1, high: 2))
            }
            #expect(error?.reason == .damaged)
            #expect(error?.message.contains("belongs to store") == true)
        }
    }

    @Test func `Checks one commit behind are updated; two behind are damage`() throws {
        var models: [IndexModel] = []
        var copies: [IndexFiles] = []
        do {
            let index = try LMDBViewIndex.open(folder, access: .writing, store: .sample)
            var model = IndexModel()
            for step in 1...4 as ClosedRange<UInt64> {
                var batch = ViewBatch()
                for low in 0..<500 as Range<UInt64> {
                    batch.put(.word(step, tag: 0), in: .names, for: ViewKey(step % 2, low * step))
                    model.tables[.names, default: [:]][ViewKey(step % 2, low * step)] =
                        .word(step, tag: 0)
                }
                try index.apply(batch, checkpoint: .at(step))
                models.append(model)
                copies.append(try IndexFiles(folder))
            }
        }
        let newest = Outcome(models[3], at: .at(4))
        try copies[2].checks.write(to: copies[3].checksURL)
        #expect(outcomes([.readingStill]) == [newest])
        #expect(try Data(contentsOf: copies[3].checksURL) == copies[2].checks)
        #expect(outcomes([.writing]) == [newest])
        #expect(try Data(contentsOf: copies[3].checksURL) != copies[2].checks)
        #expect(outcomes() == [newest, newest])

        try copies[1].checks.write(to: copies[3].checksURL)
        #expect(outcomes() == [.damaged, .damaged])
        // Checks from the future: the file went back in time.
        try copies[2].data.write(to: copies[3].dataURL)
        try copies[3].checks.write(to: copies[3].checksURL)
        #expect(outcomes() == [.damaged, .damaged])
    }

    @Test func `A commit that is interrupted while writing changes nothing`() throws {
        var (before, after): (IndexFiles, IndexFiles)
        var model = IndexModel()
        do {
            let index = try LMDBViewIndex.open(folder, access: .writing, store: .sample)
            for step in 1...5 as ClosedRange<UInt64> {
                var batch = ViewBatch()
                for low in 0..<6000 as Range<UInt64> {
                    let value = ViewValue.word(low &* 0x9E37_79B9_7F4A_7C15 &+ step, tag: 0)
                    batch.put(value, in: .names, for: ViewKey(low, 1))
                    model.tables[.names, default: [:]][ViewKey(low, 1)] = value
                }
                try index.apply(batch, checkpoint: .at(step))
            }
            before = try IndexFiles(folder)
            var batch = ViewBatch()
            for low in 0..<6000 as Range<UInt64> {
                let word = low &* 0x9E37_79B9_7F4A_7C15 &+ 6
                batch.put(.word(word, tag: 0), in: .names, for: ViewKey(low, 1))
            }
            try index.apply(batch, checkpoint: .at(6))
            after = try IndexFiles(folder)
        }
        let sound = Outcome(model, at: .at(5))
        let changed = (2..<after.data.count / after.pageByteCount).filter { page in
            (page + 1) * after.pageByteCount > before.data.count
                || after.page(page) != before.page(page)
        }
        #expect(changed.count > 10)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20 {
            try before.restore()
            for page in changed where Bool.random(using: &random) {
                try before.overwrite(page: page, with: after.page(page))
            }
            #expect(outcomes([.readingStill]) == [sound])
        }
        #expect(outcomes([.writing]) == [sound])
    }
}

/// The bytes of an index's files, to be put back after each experiment.
struct IndexFiles {
    let folder: String
    let data: Data
    let checks: Data
    let pageByteCount: Int

    var dataURL: URL { URL(fileURLWithPath: folder + "/data.mdb") }
    var checksURL: URL { URL(fileURLWithPath: folder + "/checks") }

    init(_ folder: String) throws {
        self.folder = folder
        data = try Data(contentsOf: URL(fileURLWithPath: folder + "/data.mdb"))
        checks = try Data(contentsOf: URL(fileURLWithPath: folder + "/checks"))
        pageByteCount = try ViewChecks([UInt8](checks), folder).pageByteCount
    }

    func restore() throws {
        try data.write(to: dataURL)
        try checks.write(to: checksURL)
    }

    /// Pages in use by the checks, the meta pages included.
    func usedPages() throws -> Set<Int> {
        var pages: Set<Int> = [0, 1]
        for (index, chunk) in try ViewChecks([UInt8](checks), folder).chunks.enumerated() {
            for page in 0..<16 where chunk.used >> UInt16(page) & 1 == 1 {
                pages.insert(index * 16 + page)
            }
        }
        return pages
    }

    func page(_ number: Int) -> Data {
        data.subdata(in: number * pageByteCount..<min((number + 1) * pageByteCount, data.count))
    }

    /// Writes one byte, as it was but for some bits.
    func flip(_ bits: UInt8, at offset: Int) throws {
        let file = try FileHandle(forUpdating: dataURL)
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: [data[offset] ^ bits])
        try file.close()
    }

    func overwrite(page: Int, with bytes: Data) throws {
        let file = try FileHandle(forUpdating: dataURL)
        try file.seek(toOffset: UInt64(page * pageByteCount))
        try file.write(contentsOf: bytes)
        try file.close()
    }
}
