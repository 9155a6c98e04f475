// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct HistoryTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `A history lists the requests, newest first, at every age of the views`(
        seed: UInt64
    ) async throws {
        var lived = try LivedStore(at: folder.path(), seed: seed)
        try await lived.live(150)
        #expect(lived.moments.values.contains { $0.contains { $0.happening == .zoneDeleted } })
        #expect(lived.moments.values.contains { $0.contains { $0.happening == .deleted } })
        // Beside the writer, by the writer itself, and after it.
        let beside = try Store.open(at: folder.path(), access: .reading)
        try await expectHistories(of: lived, in: beside)
        try await expectHistories(of: lived, in: lived.store)
        try lived.store.close()
        try await expectHistories(of: lived, in: Store.open(at: folder.path(), access: .reading))
    }

    private func expectHistories(of lived: LivedStore, in store: Store) async throws {
        for (id, all) in lived.moments {
            // Beside a writer the last commit may not be vouched for yet.
            let moments = all.filter { $0.sequence <= store.lastSequence.rawValue }
            if moments.isEmpty { continue }
            var found: [LivedStore.Moment] = []
            for try await entry in try await store.history(of: id) {
                guard case .change(let change) = entry else {
                    Issue.record("nothing was pruned")
                    continue
                }
                found.append(try moment(change))
            }
            let expected = moments.reversed().map { moment in
                // What fields were set by is the matter of blame.
                var moment = moment
                moment.fields = moment.fields.mapValues { .init(value: $0.value, sequence: 0) }
                if moment.happening != .deleted {
                    let named = moment.removed.union(moment.set.keys)
                    moment.before = moment.before.filter { named.contains($0.key) }
                }
                return moment
            }
            #expect(found == expected, "\(id)")
        }
    }

    /// A change in the form in which it is remembered.
    private func moment(_ change: PastChange) throws -> LivedStore.Moment {
        let origin = change.origin
        let happening = LivedStore.PastKind(rawValue: change.happening.rawValue)
        var caller = Caller(
            database: .standard,
            user: origin.user,
            device: origin.device,
            build: origin.build
        )
        caller.requestID = origin.request
        var moment = LivedStore.Moment(origin.sequence.rawValue, try #require(happening), caller)
        #expect(change.isBeforeKnown)
        for field in change.record?.fields ?? Fields() {
            moment.fields[field.name] = field.value.map { .init(value: $0, sequence: 0) }
        }
        for field in change.fields {
            moment.set[field.name] = field.after
            if field.after == nil { moment.removed.insert(field.name) }
            moment.before[field.name] = field.before
        }
        return moment
    }

    @Test func `A record that never existed is reported as missing`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        func code(_ id: RecordID) async -> SyncError.Code? {
            do {
                _ = try await store.history(of: id)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await code(RecordID(recordName: "x")) == .unknownItem)
        let zone = ZoneID(zoneName: "a")
        #expect(await code(RecordID(recordName: "x", zone: zone)) == .zoneNotFound)
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: Caller())
        #expect(await code(RecordID(recordName: "x", zone: zone)) == .unknownItem)
    }

    @Test func `A record deleted and saved again in one commit loses its fields`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let id = RecordID(recordName: "x", zone: ZoneID(zoneName: "z"))
        func save(_ type: Name, _ fields: Fields) -> ChangeStreamLine.Change {
            .save(recordID: id, recordType: type, fields: fields)
        }
        var importing = try store.beginImport()
        for (time, changes) in [
            (1_000, [save("Note", try Fields(["gone": 1, "kept": 2]))]),
            (2_000, [.delete(id), save("Page", try Fields(["kept": 2, "new": 3]))]),
        ] {
            _ = try await importing.add(
                ChangeStreamLine(time: Int64(time), user: UserID("ada"), changes: changes)
            )
        }
        try await importing.finish()
        var changes: [PastChange] = []
        for try await entry in try await store.history(of: id) {
            if case .change(let change) = entry { changes.append(change) }
        }
        #expect(changes.map(\.happening) == [.recreated, .created])
        #expect(changes[0].fields.map(\.name) == ["gone", "kept", "new"])
        #expect(changes[0].fields.map(\.before) == [.int64(1), .int64(2), nil])
        #expect(changes[0].fields.map(\.after) == [nil, .int64(2), .int64(3)])
        #expect(changes[0].record?.created.time == 2_000)
        #expect(changes.map(\.recordTypeBefore) == ["Note", nil])
        let blame = try await store.blame(of: id)
        #expect(blame.fields.map(\.name) == ["kept", "new"])
        #expect(Set(blame.fields.map(\.stamp)) == [changes[0].origin.sequence])
    }

    @Test func `A history without a trace after compaction is reported as pruned`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let zones = ["whole", "deletions", "ended"].map { ZoneID(zoneName: $0) }
        _ = try await store.modifyZones(ModifyZonesRequest(saves: zones), as: Caller())
        for zone in zones {
            let id = RecordID(recordName: "x", zone: zone)
            let save = RecordSave(id, type: "Note", fields: try Fields(["n": 1]))
            _ = try await store.modifyRecords(ModifyRecordsRequest(saves: [save]), as: Caller())
        }
        let gone = RecordID(recordName: "x", zone: zones[1])
        let deletion = ModifyRecordsRequest(deletions: [RecordDeletion(gone)])
        _ = try await store.modifyRecords(deletion, as: Caller())
        _ = try await store.modifyZones(ModifyZonesRequest(deletions: [zones[2]]), as: Caller())
        func error(_ name: String, _ zone: ZoneID) async -> SyncError? {
            do {
                _ = try await store.history(of: RecordID(recordName: name, zone: zone))
                return nil
            } catch {
                return error
            }
        }
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = .all
        _ = try await store.compact(policy)
        // The deletion is still there.
        #expect(await error("x", zones[1]) == nil)
        #expect(await error("y", zones[1])?.code == .unknownItem)
        policy.tombstones = .none
        _ = try await store.compact(policy)
        #expect(await error("x", zones[0]) == nil)
        #expect(await error("y", zones[0])?.code == .unknownItem)
        for zone in zones[1...] {
            let error = await error("x", zone)
            #expect(error?.code == .invalidArguments)
            #expect(error?.message.hasPrefix("History pruned: no trace of the record x") ?? false)
            #expect(error?.isHistoryPruned == true)
        }
    }

    @Test func `A history reads only the versions of its record`() async throws {
        var lived = try LivedStore(at: folder.path(), seed: 14)
        try await lived.live(200)
        var past = try lived.store.pastPicture()
        let log = past.log
        for (id, moments) in lived.moments {
            let source = PrunedSource(log.source)
            past.log = PastLog(source: source, line: log.line)
            var chains = try RecordChains(of: id, in: .standard, past)
            var count = 0
            while try chains.next() != nil { count += 1 }
            #expect(count == moments.count)
            // Each once, and once as what the next one replaced.
            #expect(source.readCount <= 2 * moments.count)
        }
        #expect(lived.store.lastSequence.rawValue > 300)
    }

    @Test func `A chain without a beginning ends with a pruned entry`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let id = RecordID(recordName: "x")
        var sequences: [SequenceNumber] = []
        for number in 1...4 {
            let save = RecordSave(
                id,
                type: "Note",
                fields: try Fields(["number": .int64(Int64(number))]),
                policy: .changedKeys
            )
            let request = ModifyRecordsRequest(saves: [save])
            let result = try await store.modifyRecords(request, as: Caller())
            let tag = try #require(try result.saves[0].get().changeTag)
            sequences.append(try #require(TagContent(tag)).sequence)
        }
        var past = try store.pastPicture()
        past.log = PastLog(
            source: PrunedSource(past.log.source, without: [sequences[1], sequences[0]]),
            line: past.log.line
        )
        var chains = try RecordChains(of: id, in: .standard, past)
        guard case .change(let newest)? = try chains.next(),
            case .change(let oldest)? = try chains.next(),
            case .pruned(let through)? = try chains.next()
        else {
            Issue.record("two versions and an end were to come")
            return
        }
        #expect(newest.origin.sequence == sequences[3] && newest.isBeforeKnown)
        #expect(newest.fields.map(\.before) == [.int64(3)])
        #expect(oldest.origin.sequence == sequences[2] && !oldest.isBeforeKnown)
        #expect(oldest.fields.map(\.before) == [nil] && oldest.fields.map(\.after) == [.int64(3)])
        #expect(through == sequences[1])
        #expect(try chains.next() == nil)
    }

    @Test func `Entering and leaving a share is reported`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let caller = Caller(database: .standard, user: UserID("_anna"))
        let zone = ZoneID(zoneName: "a")
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        func save(_ name: String, parent: ParentChange = .unchanged) -> RecordSave {
            RecordSave(
                RecordID(recordName: name, zone: zone),
                type: "Node",
                fields: Fields(),
                parent: parent,
                policy: .changedKeys
            )
        }
        func modify(_ request: ModifyRecordsRequest) async throws {
            let result = try await store.modifyRecords(request, as: caller)
            for save in result.saves { _ = try save.get() }
            for deletion in result.deletions { _ = try deletion.get() }
        }
        try await modify(
            ModifyRecordsRequest(
                saves: [save("root"), save("leaf", parent: .set("middle")), save("middle")]
            )
        )
        let share = RecordID(recordName: "share", zone: zone)
        try await modify(
            ModifyRecordsRequest(
                saves: [
                    RecordSave(
                        share,
                        type: Share.recordType,
                        fields: try Fields(["cloudkit.title": "A share"]),
                        policy: .changedKeys,
                        share: ShareContent(root: "root")
                    )
                ]
            )
        )
        try await modify(ModifyRecordsRequest(saves: [save("middle", parent: .set("root"))]))
        try await modify(ModifyRecordsRequest(saves: [save("middle", parent: .removed)]))
        try await modify(ModifyRecordsRequest(saves: [save("middle", parent: .set("root"))]))
        try await modify(ModifyRecordsRequest(deletions: [RecordDeletion(share)]))
        func happenings(_ name: String) async throws -> [PastChange] {
            var changes: [PastChange] = []
            let id = RecordID(recordName: name, zone: zone)
            for try await entry in try await store.history(of: id) {
                if case .change(let change) = entry { changes.append(change) }
            }
            return changes
        }
        let leaf = try await happenings("leaf")
        #expect(
            leaf.map(\.happening)
                == [.leftShare, .enteredShare, .leftShare, .enteredShare, .created]
        )
        #expect(Set(leaf.dropLast().map(\.audience)).count == 1)
        #expect(zip(leaf, leaf.dropFirst()).allSatisfy { $0.origin.sequence > $1.origin.sequence })
        let middle = try await happenings("middle")
        #expect(middle.compactMap { $0.parent?.after } == ["root", "root"])
        #expect(middle.compactMap { $0.parent?.before } == ["root"])
        #expect(middle.last?.happening == .created)
    }
}
