// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

/// The zones of events, as the notifier looks them up.
@Suite struct FollowingTests {
    @Test func `Views that cannot be read are an error, and not an unknown zone`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        try await Client(store: store).createZone()
        let source = try store.parts.reader.source
        func picture(of index: any ViewIndex) throws -> ViewPicture {
            let views = ZoneViews(
                source: source,
                index: index,
                hash: StoreHash(store: source.store),
                checkpoint: source.durableSequence,
                checkpointWeight: 1_000
            )
            return try views.picture(.visible)
        }
        var following = Following(position: 0)
        let empty = try picture(of: MemoryViewIndex())
        let isKnown = try following.zone(1, empty) != nil
        #expect(!isKnown)
        let unreadable = try picture(of: UnreadableIndex())
        let error = #expect(throws: SyncError.self) {
            _ = try following.zone(1, unreadable)
        }
        #expect(error?.code == .internalError)
        try store.close()
    }
}

/// An index whose disk fails.
private final class UnreadableIndex: ViewIndex, ViewSnapshot {
    var checkpoint: ViewCheckpoint? { nil }
    var byteCount: UInt64 { 0 }
    var spareByteCount: UInt64 { 0 }

    func snapshot() -> any ViewSnapshot { self }

    func apply(_ batch: consuming ViewBatch, checkpoint: ViewCheckpoint) {}

    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue? {
        throw ViewIndexError(.system, "The disk failed.")
    }

    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError) {
        throw ViewIndexError(.system, "The disk failed.")
    }
}
