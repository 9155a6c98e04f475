// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

/// Each cause is made to happen, and named.
@Suite struct ExplanationTests {
    @Test func `A missing record was never saved`() async throws {
        let world = try await JournalledStore()
        let why = try await world.why("a", of: "anna")
        #expect(why.names == ["neverSaved"] && why.version == nil && why.user == UserID("_anna"))
        let quiet = try await JournalledStore(.refusals)
        let silent = try await quiet.why("a")
        #expect(silent.names == ["neverSaved"])
        #expect(silent.gaps == [.userAssumed, .noJournal])
        // As of a point before it was saved, too.
        let before = world.store.lastSequence
        try await world.modify([world.save("a")])
        #expect(try await world.why("a", asOf: before).names == ["neverSaved"])
    }

    @Test func `The answer is unknown if compaction dropped all traces`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        try await world.modify([], delete: ["a"])
        try await world.modify([world.save("b")])
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = .none
        _ = try await world.store.compact(policy)
        let why = try await world.why("a", of: "anna")
        #expect(why.names == ["unknown"])
        let horizon = try world.store.historyHorizon()
        #expect(horizon > .zero)
        guard case .noTrace(horizon, _)? = why.gaps.first else {
            Issue.record("\(why.gaps)")
            return
        }
        // What is still there is explained as before.
        #expect(try await world.why("b", of: "anna").names == ["neverAsked"])
    }

    @Test func `A rejection has its code, rule, request and reason`() async throws {
        let world = try await JournalledStore(.refusals)
        try await world.modify(
            [world.save("a", under: "missing"), world.save("b")],
            request: "r-7"
        )
        let why = try await world.why("a", of: "anna")
        #expect(why.names == ["refused", "neverSaved"])
        guard case .refused(let refusal) = why.causes[0] else { return }
        #expect(refusal.refusal.code == .referenceViolation && refusal.reason == nil)
        #expect(refusal.refusal.message.contains("missing"))
        #expect(refusal.refused.caller.requestID == "r-7" && refusal.time > 1_700_000_000_000)
        // The other one is innocent; the reason is told with it.
        guard case .refused(let other) = try await world.why("b", of: "anna").causes[0] else {
            Issue.record("not refused")
            return
        }
        #expect(other.refusal.code == .batchRequestFailed)
        #expect(other.reason == refusal.refusal)
    }

    @Test func `The user of a device is the one of any call in the same container`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let zone = ZoneChangesRequest(zone: world.zone)
        _ = try await world.store.zoneChanges(zone, as: world.caller())
        // Another app, of another user, on a device of the same name.
        var other = world.caller("ben")
        other.database = DatabaseID(container: "iCloud.other", owner: UserID("_ben"))
        let refused = RecordSave(RecordID(recordName: "x"), type: "1", fields: Fields())
        _ = try? await world.store.modifyRecords(ModifyRecordsRequest(saves: [refused]), as: other)
        let why = try await world.why("a")
        #expect(why.user == UserID("_anna"))
        #expect(why.names == ["delivered"])
        // A user who is not invited fetches what there is, and never that zone.
        var tablet = world.caller("ben", on: "tablet")
        _ = try await world.store.databaseChanges(DatabaseChangesRequest(), as: tablet)
        tablet.database = DatabaseID(owner: UserID("_ben"))
        _ = try await world.store.databaseChanges(DatabaseChangesRequest(), as: tablet)
        let unseen = try await world.why("a", from: "tablet")
        #expect(unseen.user == UserID("_ben"))
        #expect(unseen.names == ["hidden"])
    }

    @Test func `A rejection of the whole request explains each record`() async throws {
        let world = try await JournalledStore { $0.limits.itemsPerRequest = 1 }
        await #expect(throws: SyncError.self) {
            try await world.modify([world.save("a"), world.save("b")])
        }
        let why = try await world.why("b")
        guard case .refused(let refusal) = why.causes[0] else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.refusal.code == .limitExceeded && refusal.reason?.item == nil)
        #expect(refusal.reason?.message.contains("2 items") == true)
    }

    @Test func `A later rejected attempt comes first until one succeeds`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        try await world.fetch()
        try await world.modify([world.save("a", ["n": 2], policy: .ifServerRecordUnchanged)])
        #expect(try await world.why("a").names == ["refused", "delivered"])
        let version = try await world.why("a").version
        #expect(
            try await world.why("a", asOf: version?.origin.sequence).names == ["delivered"]
        )
        // By the clock's next millisecond.
        try await Task.sleep(for: .milliseconds(5))
        try await world.modify([world.save("a", ["n": 2])])
        #expect(try await world.why("a").names == ["committedAfterToken"])
    }

    @Test func `A version was committed after the token, or no delta was requested`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        #expect(try await world.why("a", of: "anna").names == ["neverAsked"])
        let token = try await world.fetch()
        try await world.modify([world.save("a", ["n": 2])])
        let why = try await world.why("a")
        #expect(why.names == ["committedAfterToken"] && why.gaps.isEmpty)
        guard case .committedAfterToken(let delivery) = why.causes[0] else { return }
        #expect(delivery.told.token == token && !delivery.told.moreComing)
        // Another device is another matter.
        #expect(try await world.why("a", from: "laptop", of: "anna").names == ["neverAsked"])
    }

    @Test func `The device stopped before the page with the record`() async throws {
        let world = try await JournalledStore()
        for name in ["a", "b", "c", "d"] { try await world.modify([world.save(name)]) }
        try await world.fetch(limit: 2, pageCount: 1)
        #expect(try await world.why("b").names == ["delivered"])
        guard case .committedAfterToken(let delivery) = try await world.why("c").causes[0] else {
            Issue.record("another cause")
            return
        }
        #expect(delivery.told.moreComing)
    }

    @Test func `A version was delivered, then acknowledged by the next request`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let token = try await world.fetch()
        let told = try await world.why("a")
        #expect(told.names == ["delivered"] && told.user == UserID("_anna"))
        guard case .delivered(let delivery?, nil) = told.causes[0] else { return }
        #expect(delivery.told.token == token)
        try await world.fetch(since: token)
        let why = try await world.why("a")
        guard case .delivered(delivery, let acknowledged?) = why.causes[0] else {
            Issue.record("not acknowledged")
            return
        }
        #expect(acknowledged.token == token)
        // Who begins anew has not acknowledged what is told then.
        try await world.fetch()
        #expect(try await world.why("a").names == ["delivered"])
    }

    @Test func `The request of the device was rejected`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let token = try await world.fetch()
        for request in [
            ModifyZonesRequest(deletions: [world.zone]), ModifyZonesRequest(saves: [world.zone]),
        ] {
            _ = try await world.store.modifyZones(request, as: world.caller())
        }
        try await world.modify([world.save("a")])
        await #expect(throws: SyncError.self) { try await world.fetch(since: token) }
        let why = try await world.why("a")
        #expect(why.names == ["fetchRefused", "committedAfterToken"])
        guard case .fetchRefused(let refusal) = why.causes[0] else { return }
        #expect(refusal.refusal.code == .changeTokenExpired && refusal.refused.since == token)
        #expect(refusal.reason?.message.contains("created again") == true)
    }

    @Test func `An earlier version was replaced before the device synced`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let first = world.store.lastSequence
        try await world.modify([world.save("a", ["n": 2])])
        try await world.fetch()
        let why = try await world.why("a", asOf: first)
        #expect(why.version?.origin.sequence == first)
        guard case .superseded(let sequence, _) = why.causes[0] else {
            Issue.record("another cause")
            return
        }
        #expect(sequence == world.store.lastSequence)
        // A device that had it, and has begun anew since, was given it.
        try await world.modify([world.save("b")])
        let second = world.store.lastSequence
        try await world.fetch(on: "laptop")
        try await world.modify([world.save("b", ["n": 2])])
        try await world.fetch(on: "laptop")
        #expect(try await world.why("b", from: "laptop", asOf: second).names == ["delivered"])
        #expect(try await world.why("a").names == ["delivered"])
    }

    @Test func `Only devices that had the record are notified of its deletion`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let token = try await world.fetch()
        try await world.modify([], delete: ["a"])
        #expect(try await world.why("a").names == ["committedAfterToken"])
        try await world.fetch(since: token)
        let why = try await world.why("a")
        #expect(why.names == ["delivered"] && why.version?.happening == .deleted)
        try await world.fetch(on: "laptop")
        #expect(try await world.why("a", from: "laptop").names == ["beganAfterDeletion"])
    }

    @Test func `The zone was deleted`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a")])
        let saved = try await world.why("a")
        let request = ModifyZonesRequest(deletions: [world.zone])
        _ = try await world.store.modifyZones(request, as: world.caller())
        let why = try await world.why("a")
        #expect(why.hiding == .zoneGone && why.version?.happening == .zoneDeleted)
        // What was in it is not in a zone of the same name.
        let old = try #require(saved.version).origin.sequence
        _ = try await world.store.modifyZones(
            ModifyZonesRequest(saves: [world.zone]),
            as: world.caller()
        )
        #expect(try await world.why("a", asOf: old).hiding == .zoneGone)
        try await world.modify([world.save("a")])
        let again = try await world.why("a", asOf: old)
        #expect(again.hiding == .zoneGone && again.version?.happening == .created)
        #expect(try await world.why("a").hiding == nil)
    }

    @Test func `A record is hidden without a share, its acceptance or permission`()
        async throws
    {
        let world = try await JournalledStore()
        try await world.modify([
            world.save("top"), world.save("middle", under: "top"),
            world.save("leaf", under: "middle"),
        ])
        func hiding(_ name: String, from user: String) async throws -> RecordHiding? {
            try await world.why(name, from: "\(user)'s", of: user).hiding
        }
        #expect(try await hiding("leaf", from: "bob") == .notShared(top: "top"))
        #expect(try await hiding("top", from: "bob") == .notShared(top: "top"))
        try await world.modify([
            world.share(
                of: "middle",
                with: [("bob", .readOnly), ("carol", .readWrite), ("dan", .none)]
            )
        ])
        #expect(try await hiding("top", from: "bob") == .notShared(top: "top"))
        #expect(try await hiding("leaf", from: "eve") == .notInvited(share: "share"))
        #expect(try await hiding("leaf", from: "bob") == .notAccepted(share: "share"))
        try await world.accept(as: "bob")
        #expect(try await hiding("leaf", from: "bob") == nil)
        #expect(try await hiding("share", from: "bob") == nil)
        try await world.accept(as: "carol")
        let leave = ModifyZonesRequest(deletions: [world.zone(for: "carol")])
        _ = try await world.store.modifyZones(leave, as: world.caller("carol"))
        #expect(try await hiding("leaf", from: "carol") == .left(share: "share"))
        try await world.accept(as: "dan")
        #expect(try await hiding("leaf", from: "dan") == .noPermission(share: "share"))
        try await world.modify([world.save("other")])
        try await world.modify([], delete: ["other"])
        #expect(try await hiding("other", from: "bob") == .neverShown)
    }

    @Test func `A record is hidden by its roles`() async throws {
        let world = try await JournalledStore()
        let text = """
            DEFINE SCHEMA CREATE ROLE Reader;
            RECORD TYPE Note (n INT64, GRANT CREATE TO "_icloud", GRANT READ TO Reader);
            """
        try await world.store.importSchema(try SchemaFile(text).schema)
        let database = DatabaseID(scope: .public)
        let id = RecordID(recordName: "a")
        func caller(_ user: String) -> Caller {
            Caller(database: database, user: UserID(user), device: "phone")
        }
        let save = RecordSave(id, type: "Note", fields: try Fields(["n": 1]))
        let saved = try await world.store.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: caller("_anna")
        )
        _ = try saved.saves[0].get()
        func why(_ user: String) async throws -> Explanation {
            let store = world.store
            return try await store.explainAbsence(
                of: id,
                in: database,
                from: "phone",
                of: UserID(user)
            )
        }
        guard case .role(let message)? = try await why("_bert").hiding else {
            Issue.record("not hidden")
            return
        }
        #expect(message.contains("READ"))
        let role = try #require(try SchemaFile(text).schema.roles.first)
        try await world.store.setRoles([role], of: UserID("_bert"))
        #expect(try await why("_bert").names == ["neverAsked"])
        _ = try await world.store.zoneChanges(
            ZoneChangesRequest(zone: .default),
            as: caller("_bert")
        )
        #expect(try await why("_bert").names == ["delivered"])
    }

    @Test func `A shared record is delivered in deltas, lists and new shares`() async throws {
        let world = try await JournalledStore()
        try await world.modify([
            world.save("one"), world.share("share 1", of: "one", with: [("bob", .readOnly)]),
            world.save("two"), world.share("share 2", of: "two", with: [("bob", .readOnly)]),
        ])
        try await world.accept("share 1", as: "bob")
        #expect(try await world.why("one", from: "tablet", of: "bob").names == ["neverAsked"])
        var token = try await world.fetch("bob", on: "tablet")
        #expect(try await world.why("one", from: "tablet").names == ["delivered"])
        #expect(try await world.why("two", from: "tablet").hiding == .notAccepted(share: "share 2"))
        try await world.modify([world.save("one", ["n": 2])])
        #expect(try await world.why("one", from: "tablet").names == ["committedAfterToken"])
        try await world.accept("share 2", as: "bob")
        #expect(try await world.why("two", from: "tablet").names == ["committedAfterToken"])
        token = try await world.fetch("bob", on: "tablet", since: token, limit: 1)
        #expect(try await world.why("two", from: "tablet").names.first == "acknowledged")
        #expect(try await world.why("one", from: "tablet").names.first == "acknowledged")
        // Accepting has changed the share after that.
        #expect(try await world.why("share 2", from: "tablet").names == ["delivered"])
        try await world.fetch("bob", on: "tablet", since: token)
        #expect(try await world.why("share 2", from: "tablet").names == ["acknowledged"])
    }

    @Test func `Gaps of the journal are reported`() async throws {
        let world = try await JournalledStore(.refusals)
        try await world.modify([world.save("a")])
        try await world.fetch()
        let without = try await world.why("a")
        #expect(without.names == ["unknown"] && without.gaps == [.userAssumed, .noJournal])
        try await Task.sleep(for: .milliseconds(5))
        try world.reopen(.full)
        let late = try await world.why("a", of: "anna")
        #expect(late.names == ["unknown"])
        guard case .journalBegins? = late.gaps.first else {
            Issue.record("\(late.gaps)")
            return
        }
        try await world.modify([world.save("b")])
        #expect(try await world.why("b", of: "anna").names == ["neverAsked"])
        // Somebody opens it without a journal of what is told.
        try world.reopen(.refusals)
        try world.reopen(.full)
        let blind = try await world.why("b", of: "anna")
        #expect(blind.names == ["unknown"])
        guard case .notFull(_, .some)? = blind.gaps.first else {
            Issue.record("\(blind.gaps)")
            return
        }
        // Once it was told, that is known whatever was before.
        let token = try await world.fetch()
        #expect(try await world.why("b").names == ["delivered"])
        #expect(try await world.why("b").gaps.isEmpty)
        // And a token that comes says what it covers, though nobody saw it being given.
        try world.reopen(.refusals)
        try await world.modify([world.save("c")])
        let newer = try await world.fetch(since: token)
        try world.reopen(.full)
        #expect(try await world.why("c").names == ["unknown"])
        try await world.fetch(since: newer)
        let why = try await world.why("c")
        guard case .delivered(nil, let acknowledged?) = why.causes[0] else {
            Issue.record("\(why.names)")
            return
        }
        #expect(acknowledged.token == newer)
    }

    @Test func `The explanation from the files is the same while and after writing`() async throws {
        let world = try await JournalledStore()
        try await world.modify([world.save("a"), world.save("b")])
        let token = try await world.fetch()
        try await world.fetch(since: token)
        try await world.modify([world.save("b", ["n": 2])])
        let live = [try await world.why("a").names, try await world.why("b").names]
        #expect(live == [["acknowledged"], ["committedAfterToken"]])
        try world.reopen(.full, .reading)
        #expect(
            [try await world.why("a").names, try await world.why("b").names] == live
        )
    }
}
