// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import Tidemark
import TidemarkModel

/// A deletion that is not on disk may be lost, so no answer rests on it.
@Suite struct UndurableDeletionTests {
    private let disk = SimulatedFileSystem(keepsTrace: false)

    /// Lets every later write of the log remain undurable.
    private func failSyncs() {
        disk.failCall(disk.callCount(of: .sync) + 1, of: .sync, with: 5, forGood: true)
    }

    @Test func `A deleted subscription is not missed before that is durable`() async throws {
        let store = try ScratchAssets(disk).store
        let anna = Client(store: store, zone: .default)
        try await anna.subscribe("all")
        try await store.waitUntilNotified()
        failSyncs()
        for _ in 0..<2 {
            await #expect(throws: SyncError.self) { try await anna.unsubscribe("all") }
        }
        await #expect(throws: SyncError.self) { try await store.subscriptions(as: anna.caller) }
    }

    @Test func `Roles have not ended before that is durable`() async throws {
        let store = try ScratchAssets(disk).store
        let anna = UserID("_anna")
        try await store.importSchema(try SchemaFile("DEFINE SCHEMA CREATE ROLE Editor;").schema)
        try await store.setRoles([Schema.Role("Editor")], of: anna)
        failSyncs()
        for _ in 0..<2 {
            await #expect(throws: SyncError.self) { try await store.setRoles([], of: anna) }
        }
    }

    @Test func `A link has not ended before that is durable`() async throws {
        let store = try ScratchAssets(disk).store
        let anna = SharingWorld.owner(in: store)
        try await anna.createZone()
        let saves = [try anna.node("a"), try anna.share("s", of: "a", open: .readWrite)]
        for save in try await anna.modify(saves).saves { _ = try save.get() }
        let link = store.url(of: try await anna.shared("s"))
        failSyncs()
        await #expect(throws: SyncError.self) {
            try await anna.modify([], delete: [RecordDeletion(anna.id("s"))])
        }
        let bob = SharingWorld.guest("bob", in: store)
        let accepted = await #expect(throws: SyncError.self) {
            try await store.acceptShare(link, as: bob.caller)
        }
        #expect(accepted?.code != .unknownItem)
        let requested = await #expect(throws: SyncError.self) {
            try await store.requestShareAccess(link, as: bob.caller)
        }
        #expect(requested?.code != .unknownItem)
    }
}
