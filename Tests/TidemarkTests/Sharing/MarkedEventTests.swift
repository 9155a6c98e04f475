// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Deltas take most records from marks that were made when their blocks were decoded.
@Suite struct MarkedEventTests {
    @Test func `Deltas are the same with marks and without`() async throws {
        let world = try await SharingWorld()
        let (anna, bob) = (world.anna, world.guest("bob"))
        // Below the root before it is shared, so that events of the share name their versions.
        try await anna.modify([try anna.node("root"), try anna.node("beside")])
        for name in ["a", "b"] { try await anna.modify([try anna.node(name, under: "root")]) }
        var share = try anna.share("s", of: "root", with: [("bob", .readWrite)])
        let invited = ShareParticipant(permission: .readWrite, isOneTime: true)
        share.share?.participants.append(invited)
        try await anna.modify([share])
        try await bob.accept("s", of: anna)
        for number in 0..<60 {
            try await anna.modify([try anna.node("\(number)", under: "root", ["n": .int64(7)])])
        }
        let start = try await anna.changes().token
        try await anna.modify([try anna.node("0"), try anna.node("1")])
        let gone = ["2", "3", "beside"].map { RecordDeletion(anna.id($0)) }
        try await anna.modify([], delete: gone)
        try world.store.close()

        var pages: [[RecordChange]] = []
        for marker in [EventMarker.none, .records] {
            var environment = StoreEnvironment()
            environment.log.marker = marker
            let store = try Store.open(
                at: world.folder.path(),
                access: .reading,
                environment: environment
            )
            var lines: [RecordChange] = []
            for client in [SharingWorld.owner(in: store), SharingWorld.guest("bob", in: store)] {
                lines += try await client.changes().changes
            }
            lines += try await SharingWorld.owner(in: store).changes(since: start).changes
            pages.append(lines)
            try store.close()
        }
        #expect(pages[0] == pages[1])
        // All records and the share for two users, and the changes at the end.
        #expect(pages[0].count > 120)
        for case .changed(let record) in pages[0] where record.recordID.recordName == "s" {
            #expect(record.share?.participants.count == 3)
        }
        let links = pages[1].compactMap { change -> Bool? in
            guard case .changed(let record) = change, let share = record.share else { return nil }
            return share.participants.contains { !$0.linkToken.isEmpty }
        }
        // The owner sees the link, and the participant does not.
        #expect(links == [true, false])
    }
}
