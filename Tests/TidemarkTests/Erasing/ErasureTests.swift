// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// A user or a zone is gone from every byte, and what others have is as it was.
@Suite struct ErasureTests {
    /// What the store has been through before.
    enum Past: CaseIterable {
        case fresh
        case compacted
        case forked
    }

    private let folder: ScratchFolder
    private var path: String { folder.path() }

    init() throws {
        folder = try ScratchFolder()
    }

    private func open(_ access: StoreAccess = .writing) throws -> ErasureWorld {
        ErasureWorld(store: try Store.open(at: path, access: access, options: ErasureWorld.options))
    }

    private func erase(_ subject: ErasureSubject, isDryRun: Bool = false) throws -> ErasureReceipt {
        try Store.erase(subject, at: path, options: ErasureWorld.options, isDryRun: isDryRun)
    }

    private func places(of word: String, in path: String? = nil) throws -> Set<String> {
        try StoreSearch(path: path ?? self.path, fileSystem: PosixFileSystem()).places(of: word)
    }

    /// What others have before: what they see, from nothing and from the tokens that they hold.
    private struct Others {
        var bobs: [String]
        var publics: [String]
        var carols: [String]
        var bobsToken: ChangeToken
        var bobsDelta: [String] = []
        var publicToken: ChangeToken
        var carolsToken: ChangeToken
        var databaseToken: ChangeToken
        var sharedToken: ChangeToken
        var heardToken: ChangeToken
        var zeldasTokens: [ChangeToken]
        var zeldasZoneTokens: [ZoneID: ChangeToken] = [:]
    }

    private func databaseToken(_ client: Client) async throws -> ChangeToken {
        try await client.databaseChanges().token
    }

    private func look(_ world: ErasureWorld) async throws -> Others {
        let bobsToken = try await world.bob.changes().token
        let carol = world.guest("carol", in: ZoneID(zoneName: "Bob", ownerName: "_bob"))
        _ = try await world.bob.modify([
            try world.bob.save("b3", ["word": "later"], policy: .changedKeys)
        ])
        var others = Others(
            bobs: try await world.records(of: world.bob),
            publics: try await world.records(of: world.open(to: "bob")),
            carols: try await world.records(of: carol),
            bobsToken: bobsToken,
            publicToken: try await world.open(to: "bob").changes().token,
            carolsToken: try await carol.changes().token,
            databaseToken: try await databaseToken(world.bob),
            sharedToken: try await databaseToken(world.bobAsGuest),
            heardToken: try await world.zelda.heard().token,
            zeldasTokens: [
                try await databaseToken(world.zelda), try await databaseToken(world.zeldaAsGuest),
            ]
        )
        others.bobsDelta = try await world.records(of: world.bob, since: bobsToken)
        for zone in [ErasureWorld.zone, ZoneID(zoneName: "zelda's other"), .default] {
            others.zeldasZoneTokens[zone] = try await world.zelda(in: zone).changes().token
        }
        return others
    }

    private func prepare(_ past: Past) async throws -> Others {
        let world = try open(.creating)
        try await world.live()
        let others = try await look(world)
        if past == .compacted {
            var policy = CompactionPolicy()
            policy.history = .none
            _ = try await world.store.compact(policy)
        }
        try world.store.close()
        if past == .forked {
            _ = try Store.fork(from: path, to: folder.path("fork.tide"))
        }
        return others
    }

    /// What Bob and Carol have is what they had.
    private func check(_ world: ErasureWorld, _ others: Others, withPublicTokens: Bool) async throws
    {
        #expect(try await world.records(of: world.bob) == others.bobs)
        #expect(try await world.records(of: world.bob, since: others.bobsToken) == others.bobsDelta)
        let carol = world.guest("carol", in: ZoneID(zoneName: "Bob", ownerName: "_bob"))
        #expect(try await world.records(of: carol) == others.carols)
        #expect(try await world.records(of: carol, since: others.carolsToken).isEmpty)
        let changes = try await world.bob.databaseChanges(since: others.databaseToken)
        #expect(changes.changes.isEmpty)
        #expect(try await world.bob.download("with file").count == 300 * "bob bytes ".utf8.count)
        if withPublicTokens {
            let publics = try await world.records(of: world.open(to: "bob"))
            #expect(publics == others.publics)
            let delta = try await world.records(
                of: world.open(to: "bob"),
                since: others.publicToken
            )
            #expect(delta.isEmpty)
        }
        let verified = try LogReader(path, fileSystem: PosixFileSystem()).verify()
        #expect(verified.damage.isEmpty)
    }

    // MARK: A user

    @Test(arguments: Past.allCases)
    func `No byte of an erased user remains`(_ past: Past) async throws {
        let others = try await prepare(past)
        let before = try places(of: "zelda")
        #expect(before.isSuperset(of: ["blocks", "views", "queries", "journal", "assets"]))
        #expect(before.contains("dictionaries"))
        let estimate = try erase(.user(ErasureWorld.user), isDryRun: true)
        #expect(try places(of: "zelda") == before)
        let receipt = try erase(.user(ErasureWorld.user))
        #expect(try places(of: "zelda") == [])
        #expect(try places(of: "quagga") == [])
        #expect(try places(of: "98765432") == [])
        #expect(receipt.zoneCount == 4, "three zones, and the one with her notifications")
        #expect(receipt.removedCount > 100)
        #expect(receipt.redactedCount > 0)
        #expect(receipt.assets.count == 3)
        #expect(receipt.journalCount > 0)
        #expect(receipt.views.count > 0)
        #expect(receipt.queries.count > 0)
        #expect(receipt.dictionaryCount > 0)
        #expect(receipt.mentionCount == 0)
        #expect((receipt.sharedSegmentCount > 0) == (past == .forked))
        #expect(receipt.sharedAssetCount == (past == .forked ? 3 : 0))
        #expect(estimate.removedCount == receipt.removedCount)
        #expect(estimate.redactedCount == receipt.redactedCount)
        #expect(estimate.assets == receipt.assets)
        #expect(estimate.journalCount == receipt.journalCount)

        let world = try open()
        try await check(world, others, withPublicTokens: false)
        try await checkUserIsGone(world, others)
        if past == .forked {
            #expect(try places(of: "zelda", in: folder.path("fork.tide")).isEmpty == false)
        }
        try world.store.close()
    }

    private func checkUserIsGone(_ world: ErasureWorld, _ others: Others) async throws {
        #expect(try world.store.accounts().map(\.user) == [UserID("_bob")])
        let bob = try #require(try world.store.account(of: UserID("_bob")))
        #expect(bob.contacts == [.email("carol@example.org")])
        #expect(try world.store.roles(of: ErasureWorld.user).isEmpty)
        #expect(try world.store.roles(of: UserID("_bob")) == [Schema.Role("Editor")])
        // What she wrote to others stays, and nobody made it.
        let child = try await world.bob.fetch("child")[0].get()
        #expect(child["word"] == .string("hers"))
        #expect(child.created.user == nil && child.created.device == nil)
        #expect(child.modified.user == UserID("_bob"))
        let post = try await world.open(to: "bob").fetch("post")[0].get()
        #expect(post.modified.user == nil)
        let share = try await world.bob.shared("bobs")
        #expect(share.participants.map(\.user) == [UserID("_bob"), UserID("_carol"), nil])
        #expect(share.participants.allSatisfy { $0.email.isEmpty })
        // Bob is told that his picture of the shared database is not to be trusted, and begins anew.
        let bobAsGuest = world.bobAsGuest
        let shared = await refusal {
            _ = try await bobAsGuest.databaseChanges(since: others.sharedToken)
        }
        #expect(shared == .changeTokenExpired)
        #expect(try await world.store.zones(as: bobAsGuest.caller).isEmpty)
        #expect(await refusal { try await bobAsGuest.changes() } == .zoneNotFound)
        #expect(
            try await world.store.subscriptions(as: bobAsGuest.caller).map(\.id) == ["bob-watch"]
        )
        let publics = await refusal {
            _ = try await world.open(to: "bob").changes(since: others.publicToken)
        }
        #expect(publics == .changeTokenExpired)
        // Somebody comes under her name, with tokens from before.
        for (client, token) in zip([world.zelda, world.zeldaAsGuest], others.zeldasTokens) {
            let code = await refusal { try await client.databaseChanges(since: token) }
            #expect(code == .changeTokenExpired)
        }
        for (zone, token) in others.zeldasZoneTokens {
            let client = world.zelda(in: zone)
            let code = await refusal { try await client.changes(since: token) }
            #expect(code == (zone == .default ? .changeTokenExpired : .zoneNotFound))
            if zone != .default { try await client.createZone() }
            #expect(await refusal { try await client.changes(since: token) } == .changeTokenExpired)
        }
        #expect(try await world.zelda.changes().changes.isEmpty)
        let fresh = try await databaseToken(world.zelda)
        _ = try await world.zelda.databaseChanges(since: fresh)
    }

    // MARK: A zone

    @Test(arguments: Past.allCases)
    func `No byte of an erased zone remains`(_ past: Past) async throws {
        let others = try await prepare(past)
        let zelda = try places(of: "zelda")
        #expect(try places(of: "quagga").isSuperset(of: ["blocks", "views", "queries", "journal"]))
        let subject = ErasureSubject.zone(ErasureWorld.zone, in: ErasureWorld.own)
        let receipt = try erase(subject)
        #expect(try places(of: "quagga") == [])
        #expect(receipt.zoneCount == 1)
        #expect(receipt.assets.count == 1, "the other one is named in another zone too")
        #expect(try places(of: "zelda").isSuperset(of: zelda.subtracting(["views", "queries"])))

        let world = try open()
        try await check(world, others, withPublicTokens: true)
        let other = world.zelda(in: ZoneID(zoneName: "zelda's other"))
        #expect(try await other.changes(since: others.zeldasZoneTokens[other.zone]).changes.isEmpty)
        #expect(try await other.changes().changes.count == 11)
        #expect(
            try await other.download("zelda-both").count == 300 * "zelda-both bytes ".utf8.count
        )
        let own = await refusal {
            _ = try await world.zelda.databaseChanges(since: others.zeldasTokens[0])
        }
        #expect(own == .changeTokenExpired)
        let past = await refusal {
            _ = try await world.store.databaseChanges(
                DatabaseChangesRequest(since: others.zeldasTokens[0]),
                as: world.zelda.caller,
                asOf: world.store.lastSequence
            )
        }
        #expect(past == .changeTokenExpired)
        let zones = try await world.zelda.databaseChanges()
        #expect(Set(zones.changes) == [.changed(other.zone), .changed(.default)])
        let guest = await refusal {
            _ = try await world.bobAsGuest.databaseChanges(since: others.sharedToken)
        }
        #expect(guest == .changeTokenExpired)
        // Her part in what others share is as it was.
        let shared = try await world.zeldaAsGuest.databaseChanges(since: others.zeldasTokens[1])
        #expect(shared.changes.isEmpty)
        #expect(try await world.zeldaAsGuest.visible() == ["b1", "bobs", "child"])
        let heard = await refusal { try await world.zelda.heard(since: others.heardToken) }
        #expect(heard == .changeTokenExpired)
        _ = try await world.zelda.heard()
        let token = others.zeldasZoneTokens[ErasureWorld.zone]
        #expect(await refusal { try await world.zelda.changes(since: token) } == .zoneNotFound)
        try await world.zelda.createZone()
        #expect(
            await refusal { try await world.zelda.changes(since: token) } == .changeTokenExpired
        )
        #expect(try await world.zelda.changes().changes.isEmpty)
        let ids = try await world.store.subscriptions(as: world.zelda.caller).map(\.id)
        #expect(Set(ids) == ["zelda-database", "zelda-query"])
        try world.store.close()
    }

    @Test func `A default zone can be erased`() async throws {
        _ = try await prepare(.fresh)
        let receipt = try erase(.zone(.default, in: ErasureWorld.own))
        #expect(receipt.zoneCount == 1)
        let world = try open()
        #expect(try await world.zelda(in: .default).changes().changes.isEmpty)
        #expect(try await world.zelda.changes().changes.count > 40)
        try world.store.close()
    }

    // MARK: Afterwards

    @Test func `An erased store can be compacted, forked, restored, erased again`() async throws {
        let others = try await prepare(.fresh)
        _ = try erase(.user(ErasureWorld.user))
        let again = try erase(.user(ErasureWorld.user))
        #expect(again.removedCount == 0)
        #expect(again.redactedCount == 0)
        #expect(again.assets.count == 0)
        var world = try open()
        try await check(world, others, withPublicTokens: false)
        var lines: [String] = []
        try world.store.visitCommits { line in
            lines.append("\(line)")
            return true
        }
        #expect(lines.count > 50)
        #expect(!lines.contains { $0.lowercased().contains("zelda") })
        _ = try await world.store.compact(.keepingNothing)
        try world.store.close()
        world = try open()
        try await check(world, others, withPublicTokens: false)
        try world.store.close()

        let fork = folder.path("fork.tide")
        _ = try Store.fork(from: path, to: fork)
        let forked = ErasureWorld(store: try Store.open(at: fork, options: ErasureWorld.options))
        #expect(try await forked.records(of: forked.bob) == others.bobs)
        // A share with somebody in it of whom nothing is known can be saved.
        var share = try forked.bob.share("bobs", of: "b1")
        share.share = ShareContent(try await forked.bob.shared("bobs"))
        _ = try await forked.bob.modify([share]).saves[0].get()
        try forked.store.close()
        #expect(try places(of: "zelda", in: fork) == [])
    }

    @Test func `A copy that ends before an erasure expires the same tokens`() async throws {
        let world = try open(.creating)
        try await world.live()
        let others = try await look(world)
        let point = world.store.lastSequence
        try world.store.close()
        _ = try erase(.user(ErasureWorld.user))
        let later = try open()
        _ = try await later.bob.modify([try later.bob.save("late", ["word": "late"])])
        try later.store.close()
        let fork = folder.path("fork.tide")
        let report = try Store.fork(from: path, to: fork, through: point)
        #expect(report.lastSequence <= point)
        let forked = ErasureWorld(store: try Store.open(at: fork, options: ErasureWorld.options))
        #expect(try await forked.records(of: forked.bob) == others.bobs)
        let shared = await refusal {
            _ = try await forked.bobAsGuest.databaseChanges(since: others.sharedToken)
        }
        #expect(shared == .changeTokenExpired)
        let publics = forked.open(to: "bob")
        let code = await refusal { try await publics.changes(since: others.publicToken) }
        #expect(code == .changeTokenExpired)
        // New tokens are good.
        let token = try await publics.changes().token
        #expect(try await publics.changes(since: token).changes.isEmpty)
        try forked.store.close()
    }

    @Test func `After an erasure is decided, no copy contains its subject`() async throws {
        _ = try await prepare(.fresh)
        // As a stop leaves it right after the decision.
        let subject = ErasureSubject.user(ErasureWorld.user)
        try Data(subject.bytes).write(to: URL(fileURLWithPath: path + "/ERASING"))
        let copy = folder.path("copy.tide")
        let copies: [() throws -> Void] = [
            { _ = try Store.backUp(at: path, to: copy) },
            { _ = try Store.restore(from: path, to: copy) },
            { _ = try Store.fork(from: path, to: copy) },
        ]
        for make in copies {
            let error = #expect(throws: LogError.self) { try make() }
            #expect(error?.code == .locked)
            #expect(error?.message.contains("erasure") == true)
            #expect(!FileManager.default.fileExists(atPath: copy))
        }
        // Of a damaged store it may be that nothing else can be had.
        let salvaged = folder.path("salvaged.tide")
        #expect(try Store.salvage(from: path, to: salvaged).erasing == subject)
        for path in [salvaged, path] {
            try Store.open(at: path, options: ErasureWorld.options).close()
            #expect(try places(of: "zelda", in: path) == [])
        }
        #expect(try Store.backUp(at: path, to: copy).lastSequence > .zero)
        #expect(try places(of: "zelda", in: copy) == [])
    }

    @Test func `A store without views is erased like any other`() async throws {
        _ = try await prepare(.fresh)
        let restored = folder.path("restored.tide")
        _ = try Store.restore(from: path, to: restored)
        // Views may be removed at any time.
        try FileManager.default.removeItem(atPath: path + "/views")
        for path in [restored, path] {
            #expect(!FileManager.default.fileExists(atPath: path + "/views"))
            let receipt = try Store.erase(
                .user(ErasureWorld.user),
                at: path,
                options: ErasureWorld.options
            )
            #expect(receipt.views.count == 0)
            #expect(!FileManager.default.fileExists(atPath: path + "/ERASING"))
            try Store.open(at: path, options: ErasureWorld.options).close()
            #expect(try places(of: "zelda", in: path) == [])
        }
    }

    @Test func `Imported lines of other users are recognized after an erasure`() async throws {
        let world = try open(.creating)
        let id = RecordID(recordName: "b", zone: ZoneID(zoneName: "Bob"))
        let lines = try (1...40 as ClosedRange<Int64>).map { number in
            let fields = try Fields(["n": .int64(number)])
            return ChangeStreamLine(
                time: number,
                user: UserID("_bob"),
                database: DatabaseID(owner: UserID("_bob")),
                changes: [.save(recordID: id, recordType: "Note", fields: fields)]
            )
        }
        try await world.store.importLines(lines)
        try world.store.close()
        // A name that is in each id that an import makes.
        let receipt = try erase(.user(UserID("l")))
        #expect(receipt.redactedCount == 0)
        let later = try open()
        let last = later.store.lastSequence
        try await later.store.importLines(lines)
        #expect(later.store.lastSequence == last)
        try later.store.close()
    }

    @Test func `An open store is not erased`() async throws {
        let world = try open(.creating)
        try await world.live()
        let writer = #expect(throws: LogError.self) { try erase(.user(ErasureWorld.user)) }
        #expect(writer?.code == .locked)
        try world.store.close()
        let reader = try Store.open(at: path, access: .reading)
        let read = #expect(throws: LogError.self) { try erase(.user(ErasureWorld.user)) }
        #expect(read?.code == .locked)
        #expect(try places(of: "zelda").contains("blocks"))
        _ = try erase(.user(ErasureWorld.user), isDryRun: true)
        try reader.close()
    }

    @Test func `Only one of two users with canonically equal names is erased`() async throws {
        let (composed, decomposed) = ("_ren\u{E9}", "_rene\u{301}")
        let names = [composed, decomposed].map { UserID($0) }
        var world = try open(.creating)
        for (index, name) in names.enumerated() {
            var account = UserAccount(name)
            account.emails = ["rene\(index)@example.org"]
            try await world.store.setUser(account)
            let caller = Caller(database: DatabaseID(owner: name), user: name)
            let save = RecordSave(RecordID(recordName: "r"), type: "T", fields: Fields())
            _ = try await world.store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller)
        }
        try world.store.close()
        #expect(try erase(.user(names[0])).removedCount > 0)
        world = try open()
        #expect(try world.store.account(of: names[1])?.emails == ["rene1@example.org"])
        #expect(try world.store.account(of: names[0]) == nil)
        let caller = Caller(database: DatabaseID(owner: names[1]), user: names[1])
        let record = try await world.store.fetchRecords(
            FetchRecordsRequest([RecordID(recordName: "r")]),
            as: caller
        )
        #expect(try record[0].get().modified.user == names[1])
        #expect(try places(of: composed).isEmpty)
        try world.store.close()
    }

    @Test func `Erasing an unknown user or zone changes nothing`() async throws {
        let others = try await prepare(.fresh)
        let receipt = try erase(.user(UserID("_nobody")))
        #expect(receipt.removedCount == 0)
        #expect(receipt.redactedCount == 0)
        #expect(receipt.journalCount == 0)
        let zone = try erase(.zone(ZoneID(zoneName: "_shares"), in: DatabaseID(scope: .public)))
        #expect(zone.removedCount == 0)
        let world = try open()
        try await check(world, others, withPublicTokens: true)
        try world.store.close()
    }
}
