// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

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
