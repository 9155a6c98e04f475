// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

/// Deltas of a participant when a shared record is deleted and its name is used again.
@Suite struct RecreatedShareRecordTests {
    /// How the name comes to be used again.
    enum Way: CaseIterable {
        /// A deletion and a save, one commit each.
        case twoCommits
        /// A deletion and a save in one imported commit.
        case oneCommit
        /// An imported save, which replaces the record as a whole.
        case replacement
    }

    @Test(arguments: Way.allCases, [nil, "other", "root"])
    func `A recreated record is visible in its new place only`(
        way: Way,
        parent: String?
    ) async throws {
        let world = try await SharingWorld()
        let anna = world.anna
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        try await anna.modify([
            anna.node("root"), anna.share("s", of: "root", with: [("bob", .readOnly)]),
            anna.node("other"), anna.share("t", of: "other", with: [("carol", .readOnly)]),
        ])
        for (client, share) in [(bob, "s"), (carol, "t")] {
            try await client.accept(share, of: anna)
        }
        try await anna.modify([anna.node("a", under: "root")])
        let tokens = [try await bob.changes().token, try await carol.changes().token]
        let save = ChangeStreamLine.Change.save(
            recordID: anna.id("a"),
            recordType: "Node",
            fields: try Fields(["n": 2]),
            parent: parent.map { Name($0) }
        )
        let commits: [[ChangeStreamLine.Change]] =
            switch way {
            case .twoCommits: [[.delete(anna.id("a"))], [save]]
            case .oneCommit: [[.delete(anna.id("a")), save]]
            case .replacement: [[save]]
            }
        var importing = try world.store.beginImport()
        for changes in commits {
            let line = ChangeStreamLine(
                time: 1,
                user: UserID("_anna"),
                database: anna.caller.database,
                changes: changes
            )
            _ = try await importing.add(line)
        }
        try await importing.finish()
        let seen = try await bob.delta(since: tokens[0])
        #expect(seen.changed == (parent == "root" ? ["a"] : []))
        #expect(seen.deleted == (parent == "root" ? [] : ["a"]))
        let came = try await carol.delta(since: tokens[1])
        #expect(came.changed == (parent == "other" ? ["a"] : []))
        #expect(came.deleted == [])
        try world.store.close()
    }
}
