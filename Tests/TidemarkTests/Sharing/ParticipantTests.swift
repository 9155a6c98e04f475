// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

/// Who comes to a share in which way, and what they may do with the share itself.
@Suite struct ParticipantTests {
    let world: SharingWorld
    var anna: Client { world.anna }
    var store: Store { world.store }

    init() async throws {
        var options = StoreOptions()
        options.limits.participantsPerShare = 4
        world = try await SharingWorld(options: options)
        try await world.anna.modify([try world.anna.node("root")])
    }

    /// Saves the share of the root with what a client made of its content.
    private func save(
        as client: Client? = nil,
        _ edit: (inout ShareContent) -> Void
    ) async throws -> SyncError? {
        let client = client ?? anna
        var save = try client.share("s", of: "root")
        var content = ShareContent(root: "root")
        if let share = try? await anna.shared("s") { content = ShareContent(share) }
        edit(&content)
        save.share = content
        return try await client.modify([save]).saves[0].error
    }

    private func accept(_ link: String?, as client: Client) async throws -> SyncError.Code? {
        do throws(SyncError) {
            _ = try await store.acceptShare(link ?? "", as: client.caller)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `A one-time link accepts the first user who opens it`() async throws {
        let refused = try await save { content in
            content.participants = [ShareParticipant(permission: .readWrite, isOneTime: true)]
        }
        #expect(refused == nil)
        let share = try await anna.shared("s")
        let link = store.url(of: share.participants[1])
        #expect(link?.hasPrefix(store.options.shareURLPrefix) == true)
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        #expect(try await accept(store.url(of: share), as: bob) == .permissionFailure)
        #expect(try await accept(link, as: bob) == nil)
        #expect(try await accept(link, as: carol) == .permissionFailure)
        #expect(try await bob.visible() == ["root", "s"])
        // The link is not for the eyes of participants.
        #expect(try await bob.shared("s").participants[1].linkToken.isEmpty)
        #expect(try await anna.shared("s").participants[1].user == UserID("_bob"))
        // Nor beside a refusal.
        #expect(
            try await save {
                $0.participants.append(ShareParticipant(permission: .readWrite, isOneTime: true))
            } == nil
        )
        #expect(try await anna.shared("s").participants.contains { !$0.linkToken.isEmpty })
        let stale = RecordSave(bob.id("s"), type: Share.recordType, fields: Fields())
        let refusal = try await bob.modify([stale]).saves[0].error
        let shown = try #require(refusal?.conflict?.server.share)
        #expect(shown.participants.count == 3)
        #expect(shown.participants.allSatisfy { $0.linkToken.isEmpty })
        #expect(try await save { $0.participants = [] } == nil)
        #expect(try await accept(link, as: carol) == .unknownItem)
    }

    @Test func `A conflict contains no version from before the sharing`() async throws {
        let first = try await anna.modify([try anna.node("tree", ["n": 42])]).saves[0].get()
        try await anna.modify([try anna.node("tree", ["n": 7])])
        try await anna.modify([try anna.share("t", of: "tree", with: [("bob", .readWrite)])])
        let bob = world.guest("bob")
        #expect(try await accept(store.url(of: try await anna.shared("t")), as: bob) == nil)
        func conflict(_ tag: RecordChangeTag?) async throws -> ConflictRecords? {
            let save = try bob.node("tree", ["n": 1], tag: tag, policy: .ifServerRecordUnchanged)
            return try await bob.modify([save]).saves[0].error?.conflict
        }
        let guessed = try await conflict(first.changeTag)
        #expect(guessed?.server["n"] == .int64(7))
        #expect(guessed != nil && guessed?.ancestor == nil)
        #expect(guessed?.client["n"] == .int64(1))
        let seen = try await anna.modify([try anna.node("tree", ["n": 8])]).saves[0].get()
        try await anna.modify([try anna.node("tree", ["n": 9])])
        #expect(try await conflict(seen.changeTag)?.ancestor?["n"] == .int64(8))
    }

    @Test func `Nobody learns of a share without taking part in it`() async throws {
        #expect(try await save { $0.publicPermission = .readOnly } == nil)
        try await anna.modify([
            try anna.node("tree"), try anna.share("t", of: "tree", with: [("bob", .readWrite)]),
        ])
        let bob = world.guest("bob")
        #expect(try await accept(store.url(of: try await anna.shared("t")), as: bob) == nil)
        for name in ["s", "none"] {
            for tag in [nil, RecordChangeTag("1-x")] {
                var save = RecordSave(bob.id(name), type: Share.recordType, fields: Fields())
                save.changeTag = tag
                let error = try await bob.modify([save]).saves[0].error
                #expect(error?.conflict == nil)
                #expect(error?.code != .serverRecordChanged, "\(name)")
                let deletion = RecordDeletion(bob.id(name), changeTag: tag)
                let result = try await bob.modify([], delete: [deletion]).deletions[0]
                if case .failure(let error) = result { #expect(error.conflict == nil) }
            }
        }
        // One's own share may be left.
        let left = try await bob.modify([], delete: [RecordDeletion(bob.id("t"))])
        #expect(throws: Never.self) { try left.deletions[0].get() }
    }

    @Test func `A share's record is in its own audience, whatever its parent`() async throws {
        try await anna.modify([try anna.node("other")])
        var share = try anna.share("s", of: "root", with: [("bob", .readOnly)])
        share.parent = .set("other")
        try await anna.modify([share])
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        try await bob.accept("s", of: anna)
        try await anna.modify([try anna.share("o", of: "other", with: [("carol", .readOnly)])])
        try await carol.accept("o", of: anna)
        #expect(try await bob.visible() == ["root", "s"])
        #expect(try await carol.visible() == ["other", "o"])
    }

    @Test func `A root that a new share above it takes in has one event`() async throws {
        try await anna.modify([try anna.node("top")])
        try await anna.modify([
            try anna.node("root", under: "top"), try anna.node("leaf", under: "root"),
        ])
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readWrite)])])
        let before = store.lastSequence
        let result = try await anna.modify(
            [try anna.share("t", of: "top", with: [("bob", .readWrite)])],
            delete: [RecordDeletion(anna.id("s"))]
        )
        #expect(throws: Never.self) { try result.saves[0].get() }
        let bob = world.guest("bob")
        try await bob.accept("t", of: anna)
        #expect(try await bob.visible() == ["top", "root", "leaf", "t"])
        // What he sees is the newest version, so that he can save it.
        let mine = try await anna.fetch("root")[0].get()
        for case .changed(let record) in try await bob.changes().changes
        where record.recordID.recordName == "root" {
            #expect(record.changeTag == mine.changeTag)
            #expect(record.body.shareName == nil)
        }
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = .none
        _ = try await store.compact(policy)
        #expect(try await bob.visible() == ["top", "root", "leaf", "t"])
        #expect(before < store.lastSequence)
    }

    @Test func `A share blocks no more users than may take part`() async throws {
        let users = (0..<5).map { UserID("_\($0)") }
        #expect(try await save { $0.blocked = users }?.code == .limitExceeded)
        #expect(try await save { $0.blocked = Array(users.dropLast()) } == nil)
    }

    @Test func `An invitation by address may need verification`() async throws {
        let refused = try await save { content in
            content.participants = [ShareParticipant(email: "bob@example.com")]
        }
        #expect(refused == nil)
        let link = store.url(of: try await anna.shared("s"))
        #expect(try await accept(link, as: world.guest("bob")) == .participantMayNeedVerification)
    }

    @Test func `Access requests can be approved, denied and blocked`() async throws {
        #expect(try await save { $0.allowsAccessRequests = false } == nil)
        let link = store.url(of: try await anna.shared("s"))
        let (bob, carol, dan) = (world.guest("bob"), world.guest("carol"), world.guest("dan"))
        func request(_ client: Client) async -> SyncError.Code? {
            do throws(SyncError) {
                try await store.requestShareAccess(link, as: client.caller)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await request(bob) == .permissionFailure)
        #expect(try await save { $0.allowsAccessRequests = true } == nil)
        for client in [bob, carol, dan, bob] { #expect(await request(client) == nil) }
        #expect(
            try await anna.shared("s").requesters.map(\.userRecordName) == [
                "_bob", "_carol", "_dan",
            ]
        )
        let refused = try await save { content in
            content.participants.append(ShareParticipant(user: UserID("_bob")))
            content.requesters = [UserID("_bob"), UserID("_dan")]
            content.blocked = [UserID("_dan")]
        }
        #expect(refused == nil)
        let share = try await anna.shared("s")
        #expect(share.requesters.isEmpty)
        #expect(share.participant(UserID("_bob"))?.isApprovedRequester == true)
        #expect(await request(bob) == .participantAlreadyInvited)
        #expect(await request(carol) == nil)
        #expect(await request(dan) == .permissionFailure)
        #expect(try await accept(link, as: bob) == nil)
        #expect(await request(bob) == nil)
    }

    @Test func `A share has as many requesters as it may have participants`() async throws {
        var options = StoreOptions()
        options.limits.participantsPerShare = 2
        let world = try await SharingWorld(options: options)
        var share = try world.anna.share("s", of: "a")
        share.share?.allowsAccessRequests = true
        for save in try await world.anna.modify([try world.anna.node("a"), share]).saves {
            _ = try save.get()
        }
        let link = world.store.url(of: try await world.anna.shared("s"))
        for name in ["bob", "carol", "bob"] {
            try await world.store.requestShareAccess(link, as: world.guest(name).caller)
        }
        let error = await #expect(throws: SyncError.self) {
            try await world.store.requestShareAccess(link, as: world.guest("dan").caller)
        }
        #expect(error?.code == .tooManyParticipants)
        #expect(try await world.anna.shared("s").requesters.count == 2)
    }

    @Test func `Only administrators among participants change participants`() async throws {
        let refused = try await save { content in
            content.participants = [
                ShareParticipant(
                    user: UserID("_bob"),
                    role: .administrator,
                    permission: .readWrite
                ),
                ShareParticipant(user: UserID("_carol"), permission: .readWrite),
            ]
        }
        #expect(refused == nil)
        let link = store.url(of: try await anna.shared("s"))
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        for client in [bob, carol] { #expect(try await accept(link, as: client) == nil) }
        let denied = try await save(as: carol) { $0.participants.removeAll() }
        #expect(denied?.code == .permissionFailure)
        let done = try await save(as: bob) { content in
            content.participants.removeAll { $0.user == UserID("_carol") }
            content.participants.append(ShareParticipant(user: UserID("_dan")))
        }
        #expect(done == nil)
        #expect(try await store.zones(as: carol.caller).isEmpty)
        #expect(try await accept(link, as: world.guest("dan")) == nil)
        #expect(
            try await anna.shared("s").participants.map(\.role) == [
                .owner, .administrator, .privateUser,
            ]
        )
    }

    @Test(arguments: [
        ShareParticipant(user: UserID(String(repeating: "u", count: 256))),
        ShareParticipant(user: UserID("_b\0b")),
        ShareParticipant(email: "bob"), ShareParticipant(email: "bob@"),
        ShareParticipant(phone: "call me"),
        ShareParticipant(user: UserID("_bob"), email: "bob"),
    ])
    func `An invitation without a user is rejected`(_ participant: ShareParticipant) async throws {
        #expect(try await save { _ in } == nil)
        let refused = try await save { $0.participants = [participant] }
        #expect(refused?.code == .invalidArguments)
        #expect(try await anna.shared("s").participants.map(\.role) == [.owner])
    }

    @Test func `A participant's ID fits into a record name`() async throws {
        let tooLong = String(repeating: "p", count: 256)
        for id in ["a/b", tooLong] {
            let participant = ShareParticipant(id: id, user: UserID("_bob"))
            let refused = try await save { $0.participants = [participant] }
            #expect(refused?.code == .invalidArguments)
        }
        let participant = ShareParticipant(id: String(tooLong.dropLast()), user: UserID("_bob"))
        #expect(try await save { $0.participants = [participant] } == nil)
        #expect(try await anna.shared("s").participant(UserID("_bob"))?.id == participant.id)
    }

    @Test func `The number of participants of a share is limited`() async throws {
        func invite(_ count: Int) async throws -> SyncError.Code? {
            try await save { content in
                content.participants = (0..<count).map { ShareParticipant(user: UserID("_u\($0)")) }
            }?.code
        }
        #expect(try await invite(4) == .tooManyParticipants)
        #expect(try await invite(3) == nil)
        #expect(
            try await save {
                $0.participants = []
                $0.publicPermission = .readOnly
            } == nil
        )
        let link = store.url(of: try await anna.shared("s"))
        for index in 0..<3 { #expect(try await accept(link, as: world.guest("v\(index)")) == nil) }
        #expect(try await accept(link, as: world.guest("v4")) == .tooManyParticipants)
    }

    @Test(.timeLimit(.minutes(1)))
    func `Too many participants are refused before each is compared with the others`()
        async throws
    {
        let many = (0..<20_000).map { ShareParticipant(email: "u\($0)@example.org") }
        let refused = try await save { $0.participants = many }
        #expect(refused?.code == .tooManyParticipants)
    }

    @Test func `Closing a share removes users of its link, except those it invites`() async throws {
        #expect(try await save { $0.publicPermission = .readWrite } == nil)
        let link = store.url(of: try await anna.shared("s"))
        let (bob, carol) = (world.guest("bob"), world.guest("carol"))
        for client in [bob, carol] { #expect(try await accept(link, as: client) == nil) }
        let refused = try await save { content in
            content.publicPermission = .none
            content.participants = [ShareParticipant(user: UserID("_bob"))]
        }
        #expect(refused == nil)
        for client in [bob, carol] { #expect(try await store.zones(as: client.caller).isEmpty) }
        let participant = try await anna.shared("s").participant(UserID("_bob"))
        #expect(participant?.acceptance == .pending)
        #expect(participant?.role == .privateUser)
        #expect(try await accept(link, as: carol) == .permissionFailure)
        #expect(try await accept(link, as: bob) == nil)
        #expect(try await bob.visible() == ["root", "s"])
    }

    @Test func `An invalid share is rejected`() async throws {
        func code(_ save: RecordSave, as client: Client? = nil) async throws -> SyncError.Code? {
            try await (client ?? anna).modify([save]).saves[0].error?.code
        }
        for nobody in [ShareParticipant(), ShareParticipant(user: UserID(""))] {
            let unreachable = try await save { $0.participants = [nobody] }
            #expect(unreachable?.code == .invalidArguments)
        }
        #expect(try await code(anna.share(Share.zoneWideName, of: "root")) == .invalidArguments)
        #expect(try await code(anna.share("s", of: nil)) == .invalidArguments)
        var none = try anna.share("s", of: "root")
        none.share = nil
        #expect(try await code(none) == .invalidArguments)
        var node = try anna.node("root")
        node.share = ShareContent(root: "root")
        #expect(try await code(node) == .invalidArguments)

        var inDefault = anna
        inDefault.zone = .default
        try await inDefault.modify([try inDefault.node("root")])
        #expect(
            try await code(inDefault.share("s", of: "root"), as: inDefault) == .invalidArguments
        )
        var inPublic = inDefault
        inPublic.caller.database = DatabaseID(scope: .public)
        try await inPublic.modify([try inPublic.node("root")])
        #expect(try await code(inPublic.share("s", of: "root"), as: inPublic) == .badDatabase)
        let zones = try await store.modifyZones(
            ModifyZonesRequest(saves: [ZoneID(zoneName: "Mine")]),
            as: world.guest("bob").caller
        )
        #expect(zones.saves[0].error?.code == .badDatabase)
    }

    @Test func `Making a participant the owner is rejected and changes nothing`() async throws {
        let bob = ShareParticipant(user: UserID("_bob"))
        #expect(try await save { $0.participants.append(bob) } == nil)
        let error = try await save { content in
            content.participants[1].role = .owner
        }
        #expect(error?.code == .invalidArguments)
        #expect(try await anna.shared("s").participant(UserID("_bob"))?.role == .privateUser)
    }

    @Test func `A merge removes no participant who was added in the meantime`() async throws {
        #expect(try await save { _ in } == nil)
        let held = try await anna.fetch("s")[0].get()
        let bob = ShareParticipant(user: UserID("_bob"))
        #expect(try await save { $0.participants.append(bob) } == nil)
        let stale = RecordSave(
            anna.id("s"),
            type: Share.recordType,
            fields: Fields(),
            changeTag: held.changeTag,
            policy: .merge,
            share: ShareContent(try #require(held.share))
        )
        #expect(try await anna.modify([stale]).saves[0].error?.code == .serverRecordChanged)
        #expect(try await anna.shared("s").participant(UserID("_bob")) != nil)
    }

    @Test func `Addresses are compared regardless of spelling`() async throws {
        let refused = try await save { content in
            content.participants = ["bob@example.com", "Bob@Example.com"].map {
                ShareParticipant(email: $0)
            }
        }
        #expect(refused?.code == .invalidArguments)
        #expect(
            try await save { content in
                content.participants = [
                    ShareParticipant(email: "bob@example.com"), ShareParticipant(phone: "+1 555"),
                ]
            } == nil
        )
        let before = try await anna.shared("s").participants
        #expect(
            try await save { content in
                content.participants = [
                    ShareParticipant(email: "BOB@example.com"), ShareParticipant(phone: "+1555"),
                ]
            } == nil
        )
        // Who was invited already is not invited anew.
        #expect(try await anna.shared("s").participants.map(\.id) == before.map(\.id))
    }

    @Test func `A share keeps its fields, link and root when it is saved again`() async throws {
        #expect(try await save { _ in } == nil)
        let before = try await anna.shared("s")
        let fetched = try await anna.fetch("s")[0].get()
        let again = RecordSave(
            anna.id("s"),
            type: Share.recordType,
            fields: fetched.fields,
            changeTag: fetched.changeTag
        )
        #expect(try await anna.modify([again]).saves[0].error == nil)
        #expect(try await anna.shared("s") == before)
        #expect(try await anna.fetch("s")[0].get()["cloudkit.title"] == "A share")
        #expect(try await anna.modify([again]).saves[0].error?.code == .serverRecordChanged)
        let moved = try await save { $0.root = "other" }
        #expect(moved?.code == .invalidArguments)
    }
}
