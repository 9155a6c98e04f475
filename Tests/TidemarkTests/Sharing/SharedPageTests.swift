// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct SharedPageTests {
    /// Of each tree that is moved below the shared root, one record changes and one enters the share
    /// as it was: its version lies far before the records around it.
    @Test(arguments: [nil, 600, 200, 1])
    func `Pages have the records in the order in which they entered a share`(
        _ byteLimit: Int?
    ) async throws {
        let world = try await SharingWorld()
        let (anna, bob) = (world.anna, world.guest("bob"))
        try await anna.modify([try anna.node("root")])
        let numbers = 0..<6
        // The last ones first, so that the versions are not in the order of the entries.
        for number in numbers.reversed() {
            try await anna.modify([try anna.node("tree\(number)")])
            try await anna.modify([try anna.node("leaf\(number)", under: "tree\(number)")])
        }
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readWrite)])])
        try await bob.accept("s", of: anna)
        for number in numbers {
            try await anna.modify([try anna.node("new\(number)", under: "root")])
            try await anna.modify([try anna.node("tree\(number)", under: "root")])
        }

        var names: [String] = []
        var pageCount = 0
        var request = ZoneChangesRequest(zone: bob.zone, byteLimit: byteLimit)
        while true {
            let page = try await world.store.zoneChanges(request, as: bob.caller)
            for case .changed(let record) in page.changes {
                names.append(record.recordID.recordName)
            }
            pageCount += 1
            request.since = page.token
            if !page.moreComing { break }
        }
        let entered = numbers.flatMap { ["new\($0)", "tree\($0)", "leaf\($0)"] }
        #expect(Array(names.suffix(entered.count)) == entered)
        #expect(Set(names.dropLast(entered.count)) == ["root", "s"])
        #expect(names.count == entered.count + 2)
        if byteLimit != nil { #expect(pageCount > 3) }
        try world.store.close()
    }

    /// A token that was given to another participant in the midst of records that it alone may see.
    @Test func `A token shows nobody the records of another participant`() async throws {
        let world = try await SharingWorld()
        let (anna, bob, carol) = (world.anna, world.guest("bob"), world.guest("carol"))
        for tree in ["a", "b", "c"] {
            try await anna.modify([
                try anna.node(tree), try anna.node(tree + "1", under: tree),
                try anna.node(tree + "2", under: tree),
            ])
        }
        let shares = [("sa", "a", "bob"), ("sb", "b", "bob"), ("sc", "c", "carol")]
        for (share, root, guest) in shares {
            try await anna.modify([try anna.share(share, of: root, with: [(guest, .readWrite)])])
        }
        try await bob.accept("sb", of: anna)
        try await carol.accept("sc", of: anna)
        let before = try await bob.changes().token
        try await bob.accept("sa", of: anna)
        let joining = try await bob.page(since: before, limit: 1)
        #expect(joining.moreComing && joining.changes.count == 1)
        let joined = try await bob.delta(since: joining.token)
        try await bob.modify([], delete: [RecordDeletion(bob.id("sa"))])
        let leaving = try await bob.page(since: joined.token, limit: 1)
        #expect(leaving.moreComing && leaving.changes.count == 1)
        for token in [joining.token, leaving.token] {
            let error = await #expect(throws: SyncError.self) {
                try await carol.changes(since: token)
            }
            #expect(error?.code == .changeTokenExpired)
        }
        // Without such a rest, the token of another participant is a place in the log like any other.
        #expect(try await carol.delta(since: before).changed.isEmpty)
        #expect(try await bob.delta(since: leaving.token).deleted.count == 3)
        try world.store.close()
    }
}
