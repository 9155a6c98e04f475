// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// What saves do to the tags of records that they refer to, under the strict switch.
@Suite struct TouchingTests {
    let scratch: ScratchAssets
    let notes: Client
    var store: Store { scratch.store }

    init() async throws {
        var options = StoreOptions()
        options.isStrict = true
        scratch = try ScratchAssets(options: options)
        notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await notes.createZone()
    }

    private func link(_ name: String, _ action: Reference.Action = .none) -> FieldValue {
        .reference(Reference(recordName: name, action: action))
    }

    private func tag(_ name: String) async throws -> RecordChangeTag? {
        try await notes.fetch(name)[0].get().changeTag
    }

    /// The records that a save touches beside those that it names.
    private func touched(by saves: RecordSave..., delete: [String] = []) async throws -> [String] {
        let start = store.lastSequence
        let result = try await notes.modify(
            saves,
            delete: delete.map { RecordDeletion(notes.id($0)) },
            isAtomic: false
        )
        for save in result.saves where save.error?.code != .referenceViolation {
            _ = try save.get()
        }
        return try events(after: start).compactMap { $0.event.isTouch ? try name(of: $0) : nil }
    }

    private func name(of stored: StoredRecord) throws -> String { try stored.body().recordName }

    /// Events of records in zones that are no system zones.
    private func events(after start: SequenceNumber) throws -> [StoredRecord] {
        let reader = try store.parts.reader
        let picture = try reader.picture(.visible)
        var events: [StoredRecord] = []
        try reader.source.scan(from: start.next, through: store.lastSequence) { event in
            let identity = try? picture.zone(event.zone).identity
            if identity?.isSystem == false,
                let stored = try? StoredRecord(event.sequence, zone: event.zone, event.payload)
            {
                events.append(stored)
            }
            return true
        }
        return events
    }

    @Test func `A new reference touches its target once, whatever its action`() async throws {
        try await notes.modify(try ["a", "b", "c"].map { try notes.save($0, ["n": 1]) })
        let list = FieldValue.referenceList([
            Reference(recordName: "a", action: .deleteSelf),
            Reference(recordName: "b", action: .validate),
            Reference(recordName: "c", action: .none),
            Reference(recordName: "c", action: .none), Reference(recordName: "gone", action: .none),
        ])
        #expect(try await touched(by: notes.save("x", ["to": list])) == ["a", "b", "c"])
        // It is there already, also under another name.
        let again = try notes.save("x", ["to": list, "too": link("b")], policy: .changedKeys)
        #expect(try await touched(by: again).isEmpty)
        let toItself = try notes.save("x", ["too": link("x")], policy: .changedKeys)
        #expect(try await touched(by: toItself).isEmpty)
        // Taking references away touches nothing.
        let none = try notes.save("x", ["to": nil, "too": nil], policy: .changedKeys)
        #expect(try await touched(by: none).isEmpty)
        let whole = try notes.save("x", ["too": link("a")], policy: .replace)
        #expect(try await touched(by: whole) == ["a"])
    }

    @Test func `Each save of a child touches only its parent`() async throws {
        var middle = try notes.save("middle", ["n": 1], policy: .allKeys)
        middle.parent = .set(Name("top"))
        var child = try notes.save("child", ["n": 1], policy: .allKeys)
        child.parent = .set(Name("middle"))
        // What a request names itself has a new tag anyway.
        #expect(try await touched(by: notes.save("top", ["n": 1]), middle, child).isEmpty)
        child.parent = .unchanged
        #expect(try await touched(by: child) == ["middle"])
        child.parent = .removed
        #expect(try await touched(by: child).isEmpty)
    }

    @Test func `Deleted and rejected records are not touched and touch nothing`() async throws {
        try await notes.modify(
            try ["a", "b"].map { try notes.save($0, ["n": 1]) }
                + [try notes.save("goes", ["to": link("a", .deleteSelf)])]
        )
        let saves = [
            try notes.save("x", ["to": link("goes")]),
            try notes.save("y", ["to": link("b"), "too": link("nothing", .validate)]),
        ]
        let plain = scratch.client()
        #expect(
            try await touched(by: saves[0], delete: ["a"]).isEmpty,
            "it goes along with what it refers to"
        )
        #expect(try await tag("x") != nil)
        #expect(try await notes.modify([saves[1]]).saves[0].error?.code == .referenceViolation)
        try await plain.put("b", ["n": 1])
        let before = try await plain.fetch("b")[0].get().changeTag
        // In a default zone an item that fails leaves the others as they are.
        let mixed = try await plain.modify([
            try plain.save("b", ["n": 2]), try plain.save("z", ["to": link("b")]),
        ])
        #expect(mixed.saves[0].error?.code == .serverRecordChanged)
        #expect(try await plain.fetch("b")[0].get().changeTag != before)
        #expect(try await plain.fetch("b")[0].get()["n"] == .int64(1))
    }

    @Test func `A touch keeps the stamps of all fields`() async throws {
        let first = try await notes.put("a", ["n": 1, "m": 1])
        let second = try await notes.put("a", ["n": 2, "m": nil], tag: first.changeTag)
        scratch.wait(5)
        try await notes.modify([try notes.save("x", ["to": link("a")])])
        // The clock went back: the commit's time is raised, the touched record's stays.
        scratch.wait(-3)
        try await notes.modify([try notes.save("y", ["to": link("a")])])
        let now = try await notes.fetch("a")[0].get()
        #expect(now.modified == second.modified)
        #expect(now.created == first.created)
        #expect(now.fields.present.map(\.name) == ["n"])
        let stored = try #require(try events(after: .zero).last { try name(of: $0) == "a" })
        let held = try #require(second.changeTag.flatMap { TagContent($0)?.sequence.rawValue })
        #expect(try stored.body().fields.map(\.stamp) == [held, held])
        // Nothing met these fields since, whatever the tag says.
        let merge = try notes.save("a", ["n": 3], tag: second.changeTag, policy: .merge)
        #expect(try await notes.modify([merge]).saves[0].error == nil)
        let late = try notes.save("a", ["n": 3], tag: first.changeTag, policy: .merge)
        #expect(try await notes.modify([late]).saves[0].error?.code == .serverRecordChanged)
    }

    @Test func `A delta contains touched records, and a query returns their tags`() async throws {
        try await notes.modify([try notes.save("a", ["n": 1])])
        #expect(try await notes.find("n == 1") == ["a"])
        let token = try await notes.changes().token
        let request = try notes.save("x", ["to": link("a")])
        let answer = try await notes.modify([request], request: "1")
        let changes = try await notes.changes(since: token).changes
        let names = changes.map { change -> String in
            if case .changed(let record) = change { record.recordID.recordName } else { "gone" }
        }
        #expect(names == ["x", "a"])
        let query = Query(recordType: "Note", predicate: try Query.Predicate(format: "n == 1"))
        let found = try await notes.find(query, in: notes.zone)
        #expect(try await found.map(\.changeTag) == [tag("a")])
        // Asked again, the request has its first answer and touches nothing.
        let last = store.lastSequence
        #expect(try await notes.modify([request], request: "1") == answer)
        #expect(store.lastSequence == last)
    }

    @Test func `Touching a record sends no notification`() async throws {
        try await notes.modify([try notes.save("a", ["n": 1])])
        let pad = notes.client(on: "pad")
        try await pad.subscribe("q", where: .always, in: notes.zone)
        try await pad.subscribe(Subscription("z", .zone(notes.zone, recordType: "Note")))
        let token = try await pad.heard().token
        try await notes.modify([try notes.save("x", ["to": link("a")], type: "Other")])
        #expect(try await pad.summary(since: token) == ["z zone Notes"])
    }

    @Test func `An export omits touches, and importing it gives the same state`() async throws {
        try await notes.modify([try notes.save("a", ["n": 1])])
        var child = try notes.save("x", ["n": 2])
        child.parent = .set(Name("a"))
        try await notes.modify([child])
        let lines = try store.commits()
        let other = try ScratchAssets()
        try await other.store.importLines(lines)
        let there = other.client(zone: notes.zone)
        for name in ["a", "x"] {
            let copy = try await there.fetch(name)[0].get()
            let original = try await notes.fetch(name)[0].get()
            #expect(copy.fields.map(\.name) == original.fields.map(\.name))
            #expect(copy.parentID == original.parentID)
            #expect(copy.modified == original.modified)
        }
        let saves = lines.flatMap(\.changes).filter { change in
            guard case .save(let id, _, _, _) = change else { return false }
            return id.zone == notes.zone
        }
        #expect(saves.count == 2)
    }

    @Test func `Quotas and assets of a touched record stay correct`() async throws {
        var options = StoreOptions()
        options.isStrict = true
        options.limits.bytesPerPrivateDatabase = 1_000_000
        let scratch = try ScratchAssets(options: options)
        let anna = scratch.client()
        let asset = try await anna.upload([1, 2, 3])
        _ = try await anna.attach(asset, to: "a").get()
        try await anna.put("x", ["to": link("a")])
        let counted = try scratch.store.usage(of: .standard).total
        #expect(counted.assetByteCount == 3)
        let wanted = UsageCounts.Reservation(.standard, growth: 1)
        let writer = try scratch.store.parts.writer()
        let carriedOn = writer.usages.withLock { $0.reserve(wanted, quota: 0) }
        #expect(carriedOn == .refused(byteCount: counted.byteCount))
        scratch.wait(2 * ScratchAssets.day)
        #expect(try await scratch.store.collectAssets().isEmpty)
        #expect(try await anna.download("a") == [1, 2, 3])
    }

    /// Many children at once: each save that lands touches the parent's latest version.
    @Test func `Touches of one record are serialized`() async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.isStrict = true
        options.checkpointEventCount = 50
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        let notes = Client(store: store)
        try await notes.createZone()
        try await notes.modify([try notes.save("a", ["n": 1])])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<20 {
                        var child = try notes.save("\(writer)-\(number)", ["n": 1])
                        child.parent = .set(Name("a"))
                        _ = try await notes.modify([child]).saves[0].get()
                    }
                }
            }
            try await group.waitForAll()
        }
        var next = try #require(
            try await notes.fetch("a")[0].get().changeTag.flatMap { TagContent($0)?.sequence }
        )
        let views = try store.parts.reader.views
        var touches = 0
        while true {
            let stored = try views.records(at: [next])[0]
            if !stored.event.isTouch { break }
            touches += 1
            next = stored.event.previous
        }
        #expect(touches == 80)
        try store.close()
    }
}

/// What participants of shares see of touches.
@Suite struct SharedTouchingTests {
    let world: SharingWorld
    let bob: Client
    var anna: Client { world.anna }

    init() async throws {
        var options = StoreOptions()
        options.isStrict = true
        world = try await SharingWorld(options: options)
        bob = world.guest("bob")
        let saved = try await world.anna.modify([
            try world.anna.node("root"), try world.anna.node("leaf", under: "root"),
            try world.anna.node("other"), try world.anna.node("below", under: "other"),
            try world.anna.share("s", of: "root", with: [("bob", .readWrite)]),
        ])
        for save in saved.saves { _ = try save.get() }
        try await bob.accept("s", of: world.anna)
    }

    private func linking(_ client: Client, _ name: String, to target: String) throws -> RecordSave {
        let link = Reference(recordName: target, action: .none)
        return try client.node(name, ["to": .reference(link)])
    }

    @Test func `A touch from outside the share reaches its participants`() async throws {
        let token = try await bob.changes().token
        try await anna.modify([try linking(anna, "other", to: "leaf")])
        let delta = try await bob.changes(since: token)
        guard case .changed(let record)? = delta.changes.first else {
            Issue.record("nothing was told")
            return
        }
        #expect(delta.changes.count == 1)
        #expect(record.changeTag == (try await anna.fetch("leaf")[0].get().changeTag))
    }

    @Test func `A participant touches only visible records`() async throws {
        let tag = try await anna.fetch("below")[0].get().changeTag
        let save = try linking(bob, "leaf", to: "below")
        _ = try await bob.modify([save]).saves[0].get()
        #expect(try await anna.fetch("below")[0].get().changeTag == tag)
        let root = try await anna.fetch("root")[0].get().changeTag
        _ = try await bob.modify([try linking(bob, "leaf", to: "root")]).saves[0].get()
        #expect(try await anna.fetch("root")[0].get().changeTag != root)
    }

    /// The record is moved by its parent and touched by a reference, in one commit.
    @Test func `A record moved and touched in one commit is reported once`() async throws {
        var token = try await bob.changes().token
        try await anna.modify([
            try anna.node("other", under: "root"), try linking(anna, "free", to: "below"),
        ])
        let came = try await bob.delta(since: token)
        #expect(came.changed == ["other", "below", "root"])
        let tag = try await anna.fetch("below")[0].get().changeTag
        #expect(try await bob.fetch("below")[0].get().changeTag == tag)
        token = came.token
        var out = try anna.node("other")
        out.parent = .removed
        try await anna.modify([out, try linking(anna, "third", to: "below")])
        let left = try await bob.delta(since: token)
        #expect(left.changed.isEmpty)
        #expect(left.deleted == ["other", "below"])
        #expect(try await bob.fetch("below")[0].error?.code == .unknownItem)
    }

    @Test func `A share that ends in the same commit reports no touch`() async throws {
        let token = try await bob.changes().token
        let result = try await anna.modify(
            [try linking(anna, "other", to: "leaf")],
            delete: [RecordDeletion(anna.id("s"))]
        )
        #expect(result.saves[0].error == nil)
        await #expect(throws: SyncError.zoneNotFound(bob.zone, in: bob.caller.database)) {
            try await bob.changes(since: token)
        }
        #expect(try await anna.fetch("leaf")[0].get().shareID == nil)
    }
}
