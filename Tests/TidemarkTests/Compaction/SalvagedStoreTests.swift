// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkEvents
import TidemarkModel
import TidemarkViews

@testable import Tidemark
@testable import TidemarkLog

/// A copy by salvage of a store that was compacted is that store.
@Suite struct SalvagedStoreTests {
    @Test func `The salvage of a compacted store has equal views`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let anna = SharingWorld.owner(in: store)
        try await anna.createZone()
        try await anna.modify([
            try anna.node("root"), try anna.node("leaf", under: "root"),
            try anna.node("twig", under: "leaf"), try anna.node("other"), try anna.node("gone"),
        ])
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readWrite)])])
        let bob = SharingWorld.guest("bob", in: store)
        try await bob.accept("s", of: anna)
        for number in 1...3 as ClosedRange<Int64> {
            try await bob.modify([try bob.node("leaf", ["n": .int64(number)])])
            try await anna.modify([try anna.node("other", under: "root")])
            var out = try anna.node("other", ["n": .int64(number)])
            out.parent = .removed
            try await anna.modify([out])
        }
        try await anna.modify([], delete: [RecordDeletion(anna.id("gone"))])
        try await anna.modify([], delete: [RecordDeletion(anna.id("twig"))])
        let report = try await store.compact(.keepingNothing)
        #expect(report.droppedCount > 8)
        try await bob.modify([try bob.node("leaf", ["n": 9])])
        let visible = try await bob.visible()
        try store.close()

        let salvaged = try Store.salvage(from: folder.path(), to: folder.path("copy.tide"))
        #expect(salvaged.damage == [])
        #expect(salvaged.log.lost == [])
        #expect(salvaged.log.incomplete == [])
        let copy = try Store.open(at: folder.path("copy.tide"))
        #expect(try await SharingWorld.guest("bob", in: copy).visible() == visible)
        try copy.close()
        #expect(try Self.views(folder.path("copy.tide")) == Self.views(folder.path()))
    }

    enum Loss: CaseIterable {
        case nothing
        /// The segment that begins with the compaction.
        case compaction
        case compactionAndViews
    }

    @Test(arguments: Loss.allCases)
    func `A salvaged store knows what compaction has dropped`(_ loss: Loss) async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let anna = Client(store: store, zone: .default)
        try await anna.put("r", ["n": 1])
        // The first is refused because of a version that compaction drops.
        let refused = [
            try anna.save("r", ["n": 5]), try anna.save("ok", ["n": 1], policy: .changedKeys),
        ]
        let answer = try await anna.modify(refused, isAtomic: false, request: "1")
        for number in 2...3 as ClosedRange<Int64> {
            try await anna.modify([try anna.save("r", ["n": .int64(number)], policy: .changedKeys)])
        }
        var policy = CompactionPolicy()
        policy.history = .none
        #expect(try await store.compact(policy).droppedCount == 2)
        try await anna.modify([try anna.save("q", ["n": 7])])
        try store.close()
        let files = FileManager.default
        let segments = StoreFolder(folder.path()).segments
        if loss != .nothing {
            let newest = try #require(try files.contentsOfDirectory(atPath: segments).max())
            try files.removeItem(atPath: segments + "/" + newest)
        }
        if loss == .compactionAndViews { try files.removeItem(atPath: folder.path() + "/views") }
        let original = try LogReader(folder.path(), fileSystem: PosixFileSystem())
        #expect(original.compactedThrough > .zero)

        let copy = folder.path("copy.tide")
        let salvaged = try Store.salvage(from: folder.path(), to: copy)
        #expect(salvaged.log.lost.isEmpty == (loss == .nothing))
        let log = try LogReader(copy, fileSystem: PosixFileSystem())
        #expect(log.compactedThrough >= original.compactedThrough)
        // The last version names its dropped predecessor, as before.
        var previous: [SequenceNumber] = []
        try log.scan(from: 1, through: log.durableSequence) { event in
            if event.kind == .recordSaved,
                let (read, _) = try? RecordEvent.read(event.payload.span.bytes),
                read.previousState == .live
            {
                previous.append(read.previous)
            }
            return true
        }
        #expect(previous.contains { $0 > .zero && $0 <= original.compactedThrough })
        #expect(try Store.verify(at: copy).findings == [])
        let error = #expect(throws: LogError.self) {
            try Store.restore(
                from: copy,
                to: folder.path("restored.tide"),
                through: original.compactedThrough.previous
            )
        }
        #expect(error?.code == .pruned)
        let again = try Store.open(at: copy)
        let repeated = Client(store: again, caller: anna.caller, zone: .default)
        let same = try await repeated.modify(refused, isAtomic: false, request: "1")
        #expect(same.saves.map(\.error?.code) == answer.saves.map(\.error?.code))
        #expect(answer.saves.map(\.error?.code) == [.serverRecordChanged, nil])
        try again.close()
    }

    /// An erasure writes all segments anew, and drops nobody else's history.
    @Test(arguments: [true, false])
    func `The salvage of a store with an erased user keeps its history`(
        _ hasViews: Bool
    ) async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let bob = UserID("_bob")
        let home = Caller(database: DatabaseID(owner: bob), user: bob)
        try await Client(store: store, caller: home, zone: .default).put("his", ["n": 1])
        let anna = Client(store: store, zone: .default)
        for number in 1...3 as ClosedRange<Int64> {
            try await anna.modify([try anna.save("r", ["n": .int64(number)], policy: .changedKeys)])
        }
        let early = store.lastSequence.previous
        try store.close()
        _ = try Store.erase(.user(bob), at: folder.path())
        if !hasViews { try FileManager.default.removeItem(atPath: folder.path() + "/views") }

        let copy = folder.path("copy.tide")
        #expect(try Store.salvage(from: folder.path(), to: copy).damage == [])
        let restored = folder.path("restored.tide")
        #expect(try Store.restore(from: copy, to: restored, through: early).lastSequence == early)
        let again = try Store.open(at: restored)
        let record = try await Client(store: again, zone: .default).fetch("r")[0].get()
        #expect(record["n"] == .int64(2))
        try again.close()
    }

    @Test func `A zone whose creation an older segment has splits no commits`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let anna = Client(store: store)
        try await anna.createZone()
        for number in 0..<40 {
            try await anna.modify(
                try (0..<5).map {
                    // Long enough for several blocks, of which one has the zone's creation.
                    let text = String(repeating: "\(number).\($0) ", count: 400)
                    return try anna.save("\(number).\($0)", ["text": .string(text)])
                }
            )
        }
        // It keeps the old segments.
        let reader = try Store.open(at: folder.path(), access: .reading)
        // All events stay, so no position is without one.
        _ = try await store.compact(CompactionPolicy())
        try store.close()
        let source = StoreFolder(folder.path())
        let compacted = try #require(
            try LogReader(folder.path(), fileSystem: PosixFileSystem()).manifest.segments
                .first { $0.isCompacted }
        )
        let (file, header) = try SegmentReader.open(
            compacted.id,
            store: try LogReader(folder.path(), fileSystem: PosixFileSystem()).store,
            in: source,
            fileSystem: PosixFileSystem()
        )
        let blocks = try SegmentReader.footer(of: file, header: header).directory
        let segment = SegmentReader(
            id: compacted.id,
            file: file,
            header: header,
            dictionary: try SegmentReader.dictionary(of: file, header: header),
            blocks: blocks
        )
        var creation: SequenceNumber?
        try LogReader(folder.path(), fileSystem: PosixFileSystem()).scan(from: 1, through: 100) {
            if $0.kind == .zoneCreated { creation = $0.sequence }
            return creation == nil
        }
        for block in blocks where !block.isMap {
            var cursor = BlockCursor(try segment.decode(block))
            var hasCreation = false
            while try cursor.advance() { hasCreation = hasCreation || cursor.sequence == creation }
            if hasCreation {
                try damage(source.segment(compacted.id), at: UInt64(block.offset) + 2)
            }
        }

        let salvaged = try Store.salvage(from: folder.path(), to: folder.path("copy.tide"))
        #expect(!salvaged.damage.isEmpty)
        #expect(salvaged.log.lost == [] && salvaged.log.incomplete == [])
        let log = try LogReader(folder.path("copy.tide"), fileSystem: PosixFileSystem())
        #expect(try log.verify().commitCount == salvaged.log.commitCount)
        try reader.close()
    }

    @Test func `Positions of a commit that lost its end are not given out again`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let anna = Client(store: store, zone: .default)
        var random = SeededGenerator(seed: 1)
        try await anna.modify(
            try (0..<300).map { number in
                let text = String(
                    (0..<200).map { _ in "abcdefghijklmnop".randomElement(using: &random) ?? "a" }
                )
                return try anna.save("\(number)", ["text": .string(text)])
            }
        )
        try store.close()
        let log = try LogReader(folder.path(), fileSystem: PosixFileSystem())
        let active = try #require(log.manifest.active)
        let end = try #require(log.manifest.closing)
        try damage(StoreFolder(folder.path()).segment(active.id), at: end.framesEnd - 200)

        let copy = folder.path("copy.tide")
        let salvaged = try Store.salvage(from: folder.path(), to: copy)
        #expect(salvaged.log.incomplete.count == 1)
        #expect(salvaged.log.lost.last?.upperBound == end.last)
        let read = try LogReader(copy, fileSystem: PosixFileSystem())
        #expect(read.durableSequence > end.last)
        #expect(try Store.verify(at: copy).findings == [])
        let again = try Store.open(at: copy)
        try await Client(store: again, zone: .default).put("new", ["n": 1])
        try again.close()
    }

    private func damage(_ path: String, at offset: UInt64) throws {
        let file = try PosixFileSystem().open(path, .readWrite)
        try file.write([0xFF, 0x00, 0xFF].span.bytes, at: offset)
    }

    /// What the views on disk hold.
    private static func views(_ path: String) throws -> [ViewTable: [ViewKey: ViewValue]] {
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        let snapshot = try LMDBViewIndex.open(
            path + "/views",
            access: .readingStill,
            store: reader.store
        )
        .snapshot()
        var views: [ViewTable: [ViewKey: ViewValue]] = [:]
        for table in ViewTable.allCases {
            try snapshot.scan(table, from: ViewKey(0, 0), through: ViewKey(.max, .max)) {
                key,
                value in
                views[table, default: [:]][key] = value
                return true
            }
        }
        return views
    }
}
