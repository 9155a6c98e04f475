// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

@Suite struct SharingTests {
    let world: SharingWorld
    var anna: Client { world.anna }
    var store: Store { world.store }

    init() async throws {
        world = try await SharingWorld()
    }

    /// A tree that is shared with Bob, who has accepted, and records beside it.
    private func shareTree(_ permission: SharePermission = .readWrite) async throws -> Client {
        let result = try await anna.modify([
            try anna.node("root"), try anna.node("leaf", under: "root"),
            try anna.node("twig", under: "leaf"), try anna.node("other"),
        ])
        #expect(result.saves.allSatisfy { $0.error == nil })
        let saved = try await anna.modify([
            try anna.share("s", of: "root", with: [("bob", permission)])
        ])
        #expect(saved.saves[0].error == nil)
        let bob = world.guest("bob")
        try await bob.accept("s", of: anna)
        return bob
    }

    @Test func `A participant sees the root, its descendants, and the share`() async throws {
        let bob = try await shareTree()
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s"])
        #expect(try await bob.fetch("leaf")[0].get().recordID.zone == bob.zone)
        #expect(try await bob.fetch("other")[0].error?.code == .unknownItem)
        #expect(try await store.zones(as: bob.caller).map(\.zoneID) == [bob.zone])
        #expect(try await anna.fetch("root")[0].get().shareID == anna.id("s"))
        let share = try await anna.shared("s")
        #expect(share.participants.map(\.role) == [.owner, .privateUser])
        #expect(share.participants.map(\.acceptance) == [.accepted, .accepted])
    }

    @Test func `A stranger sees nothing and cannot accept`() async throws {
        _ = try await shareTree()
        let carol = world.guest("carol")
        let link = store.url(of: try await anna.shared("s"))
        let error = await #expect(throws: SyncError.self) {
            try await store.acceptShare(link, as: carol.caller)
        }
        #expect(error?.code == .permissionFailure)
        #expect(await refusal { try await carol.changes() } == .zoneNotFound)
        let unknown = await #expect(throws: SyncError.self) {
            try await store.acceptShare("https://tidemark.invalid/share/nothing", as: carol.caller)
        }
        #expect(unknown?.code == .unknownItem)
    }

    @Test func `Moves into and out of a share are in the next delta`() async throws {
        try await anna.modify([
            try anna.node("a"), try anna.node("a1", under: "a"), try anna.node("a2", under: "a1"),
        ])
        let bob = try await shareTree()
        var token = try await bob.changes().token
        try await anna.modify([try anna.node("a", under: "root")])
        var delta = try await bob.delta(since: token)
        #expect(delta.changed == ["a", "a1", "a2"])
        #expect(delta.deleted.isEmpty)
        token = delta.token
        let tag = try await anna.fetch("a2")[0].get().changeTag
        #expect(try await bob.fetch("a2")[0].get().changeTag == tag)

        var out = try anna.node("a1")
        out.parent = .removed
        try await anna.modify([out])
        delta = try await bob.delta(since: token)
        #expect(delta.changed.isEmpty)
        #expect(delta.deleted == ["a1", "a2"])
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s", "a"])
    }

    @Test func `A participant writes only below the root, and with permission`() async throws {
        let bob = try await shareTree()
        let codes = try await bob.modify(
            [
                try bob.node("new", under: "leaf"), try bob.node("stray"),
                try bob.node("leaf", ["n": 2]), try bob.node("other", ["n": 2]),
            ],
            isAtomic: false
        ).saves.map { $0.error?.code }
        #expect(codes == [nil, .permissionFailure, nil, .permissionFailure])
        for save in [try bob.node("stray"), try bob.node("other", ["n": 2])] {
            #expect(try await bob.modify([save]).saves[0].error?.code == .permissionFailure)
        }
        let new = try await anna.fetch("new")[0].get()
        #expect(new.created.user == UserID("_bob"))
        #expect(new.parentID == anna.id("leaf"))
        let root = try await bob.modify([], delete: [RecordDeletion(bob.id("root"))]).deletions[0]
        #expect(root.error?.code == .permissionFailure)

        let reader = world.guest("rita")
        var share = ShareContent(try await anna.shared("s"))
        share.participants.append(ShareParticipant(user: UserID("_rita")))
        var save = try anna.share("s", of: "root")
        save.share = share
        try await anna.modify([save])
        try await reader.accept("s", of: anna)
        #expect(try await reader.visible().contains("new"))
        let refused = try await reader.modify([try reader.node("leaf", ["n": 3])]).saves[0]
        #expect(refused.error?.code == .permissionFailure)
    }

    @Test func `A participant references only visible records`() async throws {
        let bob = try await shareTree()
        func link(_ name: String, _ action: Reference.Action) throws -> RecordSave {
            try bob.node(
                "leaf",
                ["to": .reference(Reference(recordName: name, action: action))]
            )
        }
        func code(_ save: RecordSave, as client: Client) async throws -> SyncError.Code? {
            try await client.modify([save]).saves[0].error?.code
        }
        // What is not shown is as if it were not there, and its owner can delete it.
        for hidden in ["other", "nothing"] {
            for action in [Reference.Action.deleteSelf, .validate] {
                #expect(try await code(link(hidden, action), as: bob) == .referenceViolation)
            }
            let moved = try bob.node("root", under: hidden)
            #expect(try await code(moved, as: bob) == .referenceViolation)
        }
        #expect(try await code(link("other", .none), as: bob) == nil)
        #expect(try await code(link("root", .validate), as: bob) == nil)
        // What the owner has bound stays so when a participant sends it back.
        let bound = try anna.node(
            "twig",
            ["to": .reference(Reference(recordName: "other", action: .deleteSelf))]
        )
        #expect(try await code(bound, as: anna) == nil)
        let twig = try await bob.fetch("twig")[0].get()
        let back = RecordSave(
            twig.recordID,
            type: twig.recordType,
            fields: twig.fields,
            policy: .allKeys
        )
        #expect(try await code(back, as: bob) == nil)
        // Nor does a refusal name what is not shown.
        let validating = try anna.node(
            "secret",
            ["to": .reference(Reference(recordName: "twig", action: .validate))]
        )
        #expect(try await code(validating, as: anna) == nil)
        for (client, names) in [(bob, false), (anna, true)] {
            let refused = try await client.modify([], delete: [RecordDeletion(client.id("twig"))])
            let message = try #require(refused.deletions[0].error?.message)
            #expect(message.contains("secret") == names)
        }
        let gone = ["secret", "other"].map { RecordDeletion(anna.id($0)) }
        let deletion = try await anna.modify([], delete: gone)
        #expect(deletion.deletions[0].error == nil)
        #expect(try await bob.visible() == ["root", "leaf", "s"])
    }

    @Test func `Removed and leaving participants lose the zone`() async throws {
        let bob = try await shareTree()
        let database = try await bob.databaseChanges()
        #expect(database.changes == [.changed(bob.zone)])
        var save = try anna.share("s", of: "root")
        try await anna.modify([save])
        let gone = try await bob.databaseChanges(since: database.token)
        #expect(gone.changes == [.deleted(bob.zone, .deleted)])
        #expect(await refusal { try await bob.changes() } == .zoneNotFound)

        save.share?.participants = [ShareParticipant(user: UserID("_bob"))]
        try await anna.modify([save])
        try await bob.accept("s", of: anna)
        #expect(try await bob.visible().count == 4)
        let left = try await bob.modify([], delete: [RecordDeletion(bob.id("s"))])
        #expect(left.deletions[0].error == nil)
        #expect(try await store.zones(as: bob.caller).isEmpty)
        #expect(try await anna.shared("s").participants.count == 1)
        #expect(try await anna.visible().contains("s"))
    }

    @Test func `Ending a share keeps the records and removes the shared zone`() async throws {
        let bob = try await shareTree()
        try await anna.modify([], delete: [RecordDeletion(anna.id("s"))])
        #expect(try await anna.fetch("root")[0].get().shareID == nil)
        #expect(try await anna.visible() == ["root", "leaf", "twig", "other"])
        #expect(try await store.zones(as: bob.caller).isEmpty)
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readOnly)])])
        try await bob.accept("s", of: anna)
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s"])
    }

    @Test func `Two shares of a zone are one shared zone; leaving one hides its records`()
        async throws
    {
        let bob = try await shareTree()
        var token = try await bob.changes().token
        try await anna.modify([
            try anna.node("other2", under: "other"),
            try anna.share("t", of: "other", with: [("bob", .readOnly)]),
        ])
        try await bob.accept("t", of: anna)
        var delta = try await bob.delta(since: token)
        #expect(delta.changed == ["other", "other2", "t"])
        #expect(delta.deleted.isEmpty)
        token = delta.token
        try await bob.modify([], delete: [RecordDeletion(bob.id("s"))])
        delta = try await bob.delta(since: token)
        #expect(delta.changed.isEmpty)
        #expect(delta.deleted == ["root", "leaf", "twig", "s"])
        #expect(try await store.zones(as: bob.caller).map(\.zoneID) == [bob.zone])
    }

    @Test func `A deletion is not reported to users who never saw the record`() async throws {
        let bob = try await shareTree()
        var token = try await bob.changes().token
        try await anna.modify([
            try anna.node("early", under: "other"), try anna.share("t", of: "other"),
        ])
        // Gone from the other share before Bob came to it.
        try await anna.modify([], delete: [RecordDeletion(anna.id("early"))])
        let invited = try anna.share("t", of: "other", with: [("bob", .readOnly)])
        try await anna.modify([invited, try anna.node("seen", under: "other")])
        try await bob.accept("t", of: anna)
        var delta = try await bob.delta(since: token)
        #expect(delta.changed == ["other", "seen", "t"])
        #expect(delta.deleted.isEmpty)
        token = delta.token
        // Changed, added and deleted after he was taken out, before he fetches.
        try await anna.modify([try anna.share("t", of: "other")])
        try await anna.modify([
            try anna.node("seen", ["n": 2]), try anna.node("late", under: "other"),
            try anna.node("short", under: "other"),
        ])
        try await anna.modify([], delete: [RecordDeletion(anna.id("short"))])
        delta = try await bob.delta(since: token)
        #expect(delta.changed.isEmpty)
        #expect(delta.deleted == ["other", "seen", "t"])
    }

    @Test func `The record of a share cannot be a parent`() async throws {
        let bob = try await shareTree()
        for client in [anna, bob] {
            let save = try client.node("x", under: "s")
            #expect(try await client.modify([save]).saves[0].error?.code == .invalidArguments)
        }
    }

    @Test func `The record of a share cannot be shared`() async throws {
        _ = try await shareTree()
        func code(_ save: RecordSave) async throws -> SyncError.Code? {
            try await anna.modify([save]).saves[0].error?.code
        }
        #expect(try await code(anna.share("x", of: "s")) == .invalidArguments)
        #expect(try await code(anna.share("x", of: "x")) == .invalidArguments)
        let both = [try anna.share("x", of: "other"), try anna.share("y", of: "x")]
        let codes = try await anna.modify(both).saves.map { $0.error?.code }
        #expect(codes == [.batchRequestFailed, .invalidArguments])
    }

    @Test func `A record is in at most one share`() async throws {
        _ = try await shareTree()
        func code(_ save: RecordSave) async throws -> SyncError.Code? {
            try await anna.modify([save]).saves[0].error?.code
        }
        #expect(try await code(anna.share("x", of: "root")) == .alreadyShared)
        #expect(try await code(anna.share("x", of: "leaf")) == .alreadyShared)
        #expect(try await code(anna.share(Share.zoneWideName, of: nil)) == .alreadyShared)
        #expect(try await code(anna.share("x", of: "nothing")) == .unknownItem)
        try await anna.modify([try anna.node("above"), try anna.node("root", under: "above")])
        #expect(try await code(anna.share("x", of: "above")) == .alreadyShared)
        try await anna.modify([try anna.share("t", of: "other")])
        #expect(try await code(anna.node("other", under: "leaf")) == .alreadyShared)
    }

    @Test func `Moving a tree with a share under a share is rejected, other saves are not`()
        async throws
    {
        try await anna.modify([
            try anna.node("top"), try anna.node("middle", under: "top"),
            try anna.node("low", under: "middle"), try anna.node("other"),
        ])
        for (share, root) in [("s", "low"), ("t", "other")] {
            #expect(try await anna.modify([try anna.share(share, of: root)]).saves[0].error == nil)
        }
        let saves = [
            try anna.node("middle", ["n": 2]), try anna.node("top", under: "other", ["n": 2]),
        ]
        for saves in [saves, saves.reversed()] {
            let result = try await anna.modify(saves, isAtomic: false)
            for (save, answer) in zip(saves, result.saves) {
                let isMoved = save.recordID == anna.id("top")
                #expect(answer.error?.code == (isMoved ? .alreadyShared : nil))
            }
        }
    }

    @Test(arguments: [nil, 1])
    func `A record that moves between two visible shares is never reported deleted`(
        limit: Int?
    ) async throws {
        let bob = try await shareTree()
        try await anna.modify([try anna.share("t", of: "other", with: [("bob", .readWrite)])])
        try await bob.accept("t", of: anna)
        let token = try await bob.changes().token
        try await anna.modify([try anna.node("leaf", under: "other")])
        let changes = try await bob.changes(since: token, limit: limit).changes
        let names = changes.map { change in
            switch change {
            case .changed(let record): record.recordID.recordName
            case .deleted(let record): "-" + record.recordID.recordName
            }
        }
        #expect(names.sorted() == ["leaf", "twig"])
        // Nor where the share that it came from is left.
        try await bob.modify([], delete: [RecordDeletion(bob.id("s"))])
        let left = try await bob.changes(since: token, limit: limit).changes
        let gone = left.compactMap { change in
            if case .deleted(let record) = change { record.recordID.recordName } else { nil }
        }
        #expect(Set(gone) == ["root", "s"])
    }

    @Test func `A zone-wide share includes existing and future records`() async throws {
        try await anna.modify([try anna.node("a"), try anna.node("b")])
        try await anna.modify([
            try anna.share(Share.zoneWideName, of: nil, with: [("bob", .readWrite)])
        ])
        let bob = world.guest("bob")
        let share = try await anna.shared(Share.zoneWideName)
        _ = try await store.acceptShare(store.url(of: share), as: bob.caller)
        #expect(try await bob.visible() == ["a", "b", Share.zoneWideName])
        let token = try await bob.changes().token
        #expect(try await bob.modify([try bob.node("c")]).saves[0].error == nil)
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        let delta = try await bob.delta(since: token)
        #expect(delta.changed == ["c"])
        #expect(delta.deleted == ["a"])
    }

    @Test func `Closing an open share removes everyone who joined by its link`() async throws {
        try await anna.modify([
            try anna.node("root"), try anna.share("s", of: "root", open: .readOnly),
        ])
        let carol = world.guest("carol")
        let link = store.url(of: try await anna.shared("s"))
        let metadata = try await store.shareMetadata(
            of: link,
            withRootRecord: true,
            as: carol.caller
        )
        #expect(metadata.role == .publicUser)
        #expect(metadata.acceptance == .pending)
        #expect(metadata.rootRecord?.recordID == carol.id("root"))
        #expect(metadata.owner == UserID("_anna"))
        _ = try await store.acceptShare(link + "#A%20share", as: carol.caller)
        #expect(try await carol.visible() == ["root", "s"])
        #expect(
            try await carol.modify([try carol.node("x", under: "root")]).saves[0].error?.code
                == .permissionFailure
        )
        let mixed = try anna.share("s", of: "root", with: [("bob", .readOnly)], open: .readOnly)
        #expect(try await anna.modify([mixed]).saves[0].error?.code == .invalidArguments)
        try await anna.modify([try anna.share("s", of: "root", open: .readWrite)])
        #expect(
            try await carol.modify([try carol.node("x", under: "root")]).saves[0].error == nil
        )
        try await anna.modify([try anna.share("s", of: "root")])
        #expect(try await store.zones(as: carol.caller).isEmpty)
        #expect(try await anna.shared("s").participants.count == 1)
    }

    @Test func `Deleting the zone or the root ends the share`() async throws {
        let bob = try await shareTree()
        let names = ["root", "leaf", "twig"]
        try await anna.modify([], delete: names.map { RecordDeletion(anna.id($0)) })
        #expect(try await anna.visible() == ["other"])
        #expect(try await store.zones(as: bob.caller).isEmpty)
        try await anna.modify([try anna.share("t", of: "other", with: [("bob", .readOnly)])])
        try await bob.accept("t", of: anna)
        let token = try await bob.databaseChanges().token
        try await anna.deleteZone(.purged)
        #expect(try await store.zones(as: bob.caller).isEmpty)
        let delta = try await bob.databaseChanges(since: token)
        #expect(delta.changes == [.deleted(bob.zone, .purged)])
    }

    @Test func `A query of a shared zone finds the shared records, in pages`() async throws {
        let bob = try await shareTree()
        try await anna.modify(
            try (0..<20).map { index in
                let isShared = index % 3 == 0
                return try anna.node(
                    "n\(index)",
                    under: isShared ? "leaf" : "other",
                    ["n": .int64(Int64(index))]
                )
            }
        )
        func find(_ zone: ZoneID?, limit: Int) async throws -> [String] {
            var names: [String] = []
            var request = QueryRequest(
                Query(recordType: "Node", predicate: try Query.Predicate(format: "n >= 3")),
                in: zone,
                limit: limit
            )
            while true {
                let page = try await store.query(request, as: bob.caller)
                #expect(page.records.count <= limit)
                #expect(page.records.allSatisfy { $0.recordID.zone == bob.zone })
                names += page.records.map(\.recordID.recordName)
                guard let cursor = page.cursor else { return names.sorted() }
                request.cursor = cursor
            }
        }
        let shared = ["n12", "n15", "n18", "n3", "n6", "n9"]
        for limit in [1, 2, 5, 100] { #expect(try await find(bob.zone, limit: limit) == shared) }
        #expect(await refusal { try await find(nil, limit: 1) } == .invalidArguments)
        let reading = try Store.open(at: world.folder.path(), access: .reading)
        let request = QueryRequest(
            Query(recordType: "Node", predicate: try Query.Predicate(format: "n >= 3")),
            in: bob.zone
        )
        let found = try await reading.query(request, as: bob.caller).records
        #expect(found.map(\.recordID.recordName).sorted() == shared)
        try reading.close()
    }

    @Test func `Invitations by address match accounts, also ones added later`() async throws {
        var account = UserAccount(UserID("_bob"))
        account.emails = ["Bob@Example.com"]
        try await store.setUser(account)
        try await anna.modify([try anna.node("root")])
        var save = try anna.share("s", of: "root")
        save.share?.participants = [
            ShareParticipant(email: "bob@example.com"), ShareParticipant(phone: "+1 555 1234"),
        ]
        #expect(try await anna.modify([save]).saves[0].error == nil)
        let share = try await anna.shared("s")
        #expect(share.participants.map(\.user) == [UserID("_anna"), UserID("_bob"), nil])
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        _ = try await store.acceptShare(store.url(of: share), as: bob.caller)
        let early = await #expect(throws: SyncError.self) {
            try await store.acceptShare(store.url(of: share), as: carol.caller)
        }
        #expect(early?.code == .participantMayNeedVerification)
        var other = UserAccount(UserID("_carol"))
        other.phones = ["+15551234"]
        try await store.setUser(other)
        _ = try await store.acceptShare(store.url(of: share), as: carol.caller)
        #expect(try await carol.visible() == ["root", "s"])
    }

    @Test func `Shared records include their assets`() async throws {
        let bob = try await shareTree()
        let photo = try await store.uploadAsset(
            AsyncStream { stream in
                stream.yield([1, 2, 3])
                stream.finish()
            },
            UploadAssetRequest(zone: anna.zone),
            as: anna.caller
        )
        try await anna.modify([
            try anna.node("leaf", ["photo": .asset(photo)]),
            try anna.node("other", ["photo": .asset(photo)]),
        ])
        func bytes(_ name: String) async throws -> [UInt8] {
            let download = try await store.downloadAsset(
                DownloadAssetRequest(bob.id(name), field: "photo"),
                as: bob.caller
            )
            var bytes: [UInt8] = []
            for try await piece in download { bytes += piece }
            return bytes
        }
        let held = try await store.heldAssets(
            HeldAssetsRequest([photo], zone: bob.zone),
            as: bob.caller
        )
        #expect(held == [false])
        #expect(try await bytes("leaf") == [1, 2, 3])
        #expect(await refusal { try await bytes("other") } == .unknownItem)
        let own = try await store.uploadAsset(
            AsyncStream { stream in
                stream.yield([4])
                stream.finish()
            },
            UploadAssetRequest(zone: bob.zone),
            as: bob.caller
        )
        let saved = try await bob.modify([try bob.node("leaf", ["photo": .asset(own)])])
        #expect(saved.saves[0].error == nil)
        #expect(try await bytes("leaf") == [4])
    }

    @Test(arguments: [false, true])
    func `The order of moves in one request does not matter`(isReversed: Bool) async throws {
        // The leaf leaves the share with what is below it; what comes below that is not shown either.
        let bob = try await shareTree()
        try await anna.modify([try anna.node("hill"), try anna.node("stone", under: "hill")])
        var token = try await bob.changes().token
        var leaf = try anna.node("leaf")
        leaf.parent = .removed
        var moves = [leaf, try anna.node("hill", under: "twig")]
        try await anna.modify(isReversed ? moves.reversed() : moves)
        #expect(try await bob.visible() == ["root", "s"])
        var delta = try await bob.delta(since: token)
        #expect(delta.changed.isEmpty && delta.deleted == ["leaf", "twig"])
        token = delta.token

        // Back, while the hill goes on below: from beside all shares to under one.
        moves = [try anna.node("leaf", under: "root"), try anna.node("hill", under: "twig")]
        try await anna.modify([try anna.node("pond"), try anna.node("fish", under: "pond")])
        moves.append(try anna.node("pond", under: "hill"))
        try await anna.modify(isReversed ? moves.reversed() : moves)
        let all: Set = ["root", "leaf", "twig", "hill", "stone", "pond", "fish", "s"]
        #expect(try await bob.visible() == all)
        delta = try await bob.delta(since: token)
        #expect(delta.changed == all.subtracting(["root", "s"]) && delta.deleted.isEmpty)
    }

    @Test func `A record moves between two shares with its tree, in any order`() async throws {
        let bob = try await shareTree()
        try await anna.modify([
            try anna.node("top"), try anna.node("b", under: "top"), try anna.node("d", under: "b"),
            try anna.node("a"), try anna.node("c", under: "a"),
        ])
        let saved = try await anna.modify([
            try anna.share("t", of: "top", with: [("carl", .readOnly)])
        ])
        #expect(saved.saves[0].error == nil)
        let carl = world.guest("carl")
        try await carl.accept("t", of: anna)
        try await anna.modify([try anna.node("b", under: "c"), try anna.node("a", under: "root")])
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s", "a", "c", "b", "d"])
        #expect(try await carl.visible() == ["top", "t"])
    }

    @Test func `A participant's deletion deletes no share and names no hidden record`()
        async throws
    {
        let bob = try await shareTree()
        let toTwig = FieldValue.reference(Reference(recordName: "twig", action: .deleteSelf))
        var share = try anna.share("s", of: nil)
        share.share = nil
        share.fields = try Fields(["to": toTwig])
        #expect(try await anna.modify([share]).saves[0].error == nil)
        var error = try await bob.modify([], delete: [RecordDeletion(bob.id("twig"))]).deletions[0]
            .error
        #expect(error?.code == .permissionFailure)
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s"])

        share.fields = try Fields(["to": nil])
        #expect(try await anna.modify([share]).saves[0].error == nil)
        try await anna.modify([try anna.node("secret", ["to": toTwig])])
        try await anna.modify([try anna.share("hidden", of: "secret", with: [("carl", .readOnly)])])
        error = try await bob.modify([], delete: [RecordDeletion(bob.id("twig"))]).deletions[0]
            .error
        #expect(error?.code == .permissionFailure)
        #expect(error?.message.contains("secret") == false)
        // The owner's takes all along.
        _ = try await anna.modify([], delete: [RecordDeletion(anna.id("twig"))]).deletions[0].get()
        #expect(try await anna.fetch("secret")[0].error?.code == .unknownItem)
        #expect(try await anna.fetch("hidden")[0].error?.code == .unknownItem)
    }

    @Test func `A share cannot be changed and ended in one request`() async throws {
        let bob = try await shareTree()
        var (leaf, share) = (try anna.node("leaf"), try anna.share("s", of: nil))
        leaf.parent = .removed
        share.share = nil
        let result = try await anna.modify(
            [leaf, share],
            delete: [RecordDeletion(anna.id("root"))]
        )
        #expect(result.saves[1].error?.message.contains("deletes it too") == true)
        #expect(result.deletions[0].error?.code == .batchRequestFailed)
        #expect(try await bob.visible() == ["root", "leaf", "twig", "s"])
    }
}
