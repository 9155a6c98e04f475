// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

/// Imports of lines in which a share comes before its root, as compacted stores export them.
@Suite struct ShareImportTests {
    private let world: SharingWorld
    private let other: Store
    private var bob: Client { SharingWorld.guest("bob", in: other) }

    init() async throws {
        world = try await SharingWorld()
        other = try Store.open(at: world.folder.path("other.tide"), access: .creating)
    }

    /// A tree of three, shared with a guest who accepted; all but the share was changed since, the
    /// child first and its parent last.
    private func lines() async throws -> [ChangeStreamLine] {
        let anna = world.anna
        try await anna.modify([
            try anna.node("root"), try anna.node("page", under: "root"),
            try anna.node("line", under: "page"), try anna.node("beside"),
        ])
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readOnly)])])
        let share = try await anna.shared("s")
        _ = try await world.store.acceptShare(
            world.store.url(of: share),
            as: world.guest("bob").caller
        )
        for name in ["line", "root", "page"] {
            try await anna.modify([try anna.node(name, ["n": 2])])
        }
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await world.store.compact(policy)
        let lines = try world.store.commits()
        let shareIndex = try #require(lines.firstIndex { Self.saves("s", $0) })
        let rootIndex = try #require(lines.firstIndex { Self.saves("root", $0) })
        #expect(shareIndex < rootIndex)
        return lines
    }

    private static func saves(_ name: String, _ line: ChangeStreamLine) -> Bool {
        line.changes.contains { change in
            if case .save(let record, _, _, _) = change { record.recordName == name } else { false }
        }
    }

    private func take(_ lines: some Sequence<ChangeStreamLine>) async throws -> ChangeImport {
        var importing = try other.beginImport()
        for line in lines { _ = try await importing.add(line) }
        try await importing.finish()
        return importing
    }

    @Test func `A share starts with its root and shows earlier and later records`() async throws {
        let importing = try await take(try await lines())
        #expect(try importing.waitingShares() == [])
        #expect(try await bob.visible() == ["s", "root", "page", "line"])
        try other.close()
    }

    @Test(arguments: [false, true])
    func `An import that ended before the root is completed by the rest or all lines`(
        takesAll: Bool
    ) async throws {
        let lines = try await lines()
        let root = try #require(lines.firstIndex { Self.saves("root", $0) })
        let begun = try await take(lines[..<root])
        let waiting = try begun.waitingShares()
        #expect(waiting.map(\.share.recordName) == ["s"])
        #expect(waiting.map(\.root) == ["root"])
        #expect(try await other.zones(as: bob.caller) == [])
        // An import that knows of it from the store alone.
        #expect(try await take(lines[..<1]).waitingShares() == waiting)
        _ = try await take(lines[(takesAll ? 0 : root)...])
        #expect(try await bob.visible() == ["s", "root", "page", "line"])
        try other.close()
    }

    @Test func `A share that ends before its root does not start`() async throws {
        let lines = try await lines()
        let root = try #require(lines.firstIndex { Self.saves("root", $0) })
        let anna = SharingWorld.owner(in: other)
        var end = lines[root]
        end.changes = [.delete(anna.id("s"))]
        let importing = try await take(lines[..<root] + [end] + lines[root...])
        #expect(try importing.waitingShares() == [])
        #expect(try await anna.visible() == ["root", "page", "line", "beside"])
        // The record of the root is free for another share.
        try await anna.modify([try anna.share("t", of: "root")])
        try other.close()
    }
}
