// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Reads as of an event answer what they answered when it was the last one.
@Suite struct PastReadTests {
    /// What a store answered at one moment.
    private struct Moment {
        var position: SequenceNumber
        var zones: [Zone]
        /// Of each zone, from no token and from those that were handed out before.
        var deltas: [Delta] = []
        var records: [Result<Record, SyncError>]
        /// Of the database, from no token and from those that were handed out before.
        var zoneChanges: [(since: ChangeToken?, changes: [ZoneChange])] = []
        var subscriptions: [Subscription]
    }

    private struct Delta {
        var caller: Caller
        var request: ZoneChangesRequest
        var answer: Result<[RecordChange], SyncError>
    }

    private static let zones = ["a", "b"].map { ZoneID(zoneName: $0) } + [ZoneID.default]
    private static let names = (0..<6).map { "r\($0)" }
    private static var ids: [RecordID] {
        zones.flatMap { zone in names.map { RecordID(recordName: $0, zone: zone) } }
            + [RecordID(recordName: "_anna"), RecordID(recordName: "r0", zone: zoneOfOther)]
    }
    private static let zoneOfOther = ZoneID(zoneName: "a", ownerName: "_bert")
    /// Of one user, who creates records on two devices and reads on a third one as well.
    private static let callers = ["phone", "pad", nil].map {
        Caller(database: .standard, user: UserID("_anna"), device: $0)
    }

    /// All pages of a delta, of three changes each.
    private static func pages(
        _ request: ZoneChangesRequest,
        _ fetch: (ZoneChangesRequest) async throws -> ZoneChanges
    ) async throws -> (answer: Result<[RecordChange], SyncError>, token: ChangeToken?) {
        var request = request
        request.limit = 3
        var changes: [RecordChange] = []
        do {
            while true {
                let page = try await fetch(request)
                changes += page.changes
                request.since = page.token
                if !page.moreComing { return (.success(changes), page.token) }
            }
        } catch let error as SyncError {
            return (.failure(error), nil)
        }
    }

    /// All pages of a database's delta, of two zones each.
    private static func pages(
        since token: ChangeToken?,
        _ fetch: (DatabaseChangesRequest) async throws -> DatabaseChanges
    ) async throws -> (changes: [ZoneChange], token: ChangeToken) {
        var request = DatabaseChangesRequest(since: token, limit: 2)
        var changes: [ZoneChange] = []
        while true {
            let page = try await fetch(request)
            changes += page.changes
            if !page.moreComing { return (changes, page.token) }
            request.since = page.token
        }
    }

    private static func step(
        _ store: Store,
        _ caller: Caller,
        _ random: inout SeededGenerator
    ) async throws {
        let zone = zones.randomElement(using: &random) ?? .default
        switch Int.random(in: 0..<15, using: &random) {
        case 14:
            // The user's data is removed, as an import says.
            var changes = try store.beginImport()
            let end = ChangeStreamLine.Change.deleteZone(zone, reason: .purged)
            let line = ChangeStreamLine(
                time: Int64(bitPattern: store.lastSequence.rawValue),
                user: UserID("_anna"),
                database: caller.database,
                changes: [end]
            )
            if zone != .default { _ = try await changes.add(line) }
            try await changes.finish()
        case 12, 13:
            let id = ["s", "t", "u"].randomElement(using: &random) ?? "s"
            var request = ModifySubscriptionsRequest()
            if Bool.random(using: &random) {
                request.saves = [Subscription(id, .database(recordType: nil))]
            } else {
                request.deletions = [id]
            }
            _ = try await store.modifySubscriptions(request, as: caller)
        case 0:
            let request = ModifyZonesRequest(deletions: [zone])
            if zone != .default { _ = try await store.modifyZones(request, as: caller) }
        case 1...3:
            let request = ModifyZonesRequest(saves: [zone])
            if zone != .default { _ = try await store.modifyZones(request, as: caller) }
        case 4, 5:
            let id = RecordID(recordName: names.randomElement(using: &random) ?? "r0", zone: zone)
            let request = ModifyRecordsRequest(deletions: [RecordDeletion(id)])
            _ = try? await store.modifyRecords(request, as: caller)
        default:
            let saves = try names.filter { _ in Bool.random(using: &random) }.map { name in
                RecordSave(
                    RecordID(recordName: name, zone: zone),
                    type: "Note",
                    fields: try Fields(["n": .int64(Int64.random(in: 0...9, using: &random))]),
                    policy: .changedKeys
                )
            }
            let request = ModifyRecordsRequest(saves: saves)
            if !saves.isEmpty { _ = try? await store.modifyRecords(request, as: caller) }
        }
    }

    @Test(arguments: 0..<(runsLongTests ? 24 : 3) as Range<UInt64>)
    func `Past reads return the past results`(_ seed: UInt64) async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.isStrict = seed % 3 == 2
        var environment = StoreEnvironment()
        // The names of a zone have one slot, so that each lookup passes other names.
        if seed % 3 == 1 { environment.slotMask = 0 }
        let store = try Store.open(
            at: folder.path(),
            access: .creating,
            options: options,
            environment: environment
        )
        let caller = Self.callers[2]
        var random = SeededGenerator(seed: seed)
        var tokens: [(zone: ZoneID, token: ChangeToken)] = []
        var databaseTokens: [ChangeToken?] = [nil]
        var moments: [Moment] = []
        for number in 0..<60 {
            let author = Self.callers[Bool.random(using: &random) ? 0 : 1]
            try await Self.step(store, author, &random)
            var moment = Moment(
                position: store.lastSequence,
                zones: try await store.zones(as: caller),
                records: try await store.fetchRecords(FetchRecordsRequest(Self.ids), as: caller),
                subscriptions: try await store.subscriptions(as: caller)
            )
            for token in databaseTokens.prefix(1) + databaseTokens.suffix(4) {
                let (changes, next) = try await Self.pages(since: token) {
                    try await store.databaseChanges($0, as: caller)
                }
                moment.zoneChanges.append((token, changes))
                if token == nil, number % 3 == 0 { databaseTokens.append(next) }
            }
            var requests = Self.zones.map { ZoneChangesRequest(zone: $0) }
            requests += tokens.suffix(9).map { ZoneChangesRequest(zone: $0.zone, since: $0.token) }
            for request in requests {
                for caller in Self.callers {
                    let (answer, token) = try await Self.pages(request) {
                        try await store.zoneChanges($0, as: caller)
                    }
                    moment.deltas.append(Delta(caller: caller, request: request, answer: answer))
                    if number % 4 == 0, request.since == nil, let token {
                        tokens.append((request.zone, token))
                    }
                }
            }
            moments.append(moment)
        }
        for moment in moments where moment.position > .zero {
            let position = moment.position
            #expect(try await store.zones(as: caller, asOf: position) == moment.zones)
            let records = try await store.fetchRecords(
                FetchRecordsRequest(Self.ids),
                as: caller,
                asOf: position
            )
            for (found, expected) in zip(records, moment.records) {
                #expect((try? found.get()) == (try? expected.get()))
                #expect(found.error?.code == expected.error?.code)
            }
            for (token, changes) in moment.zoneChanges {
                let (answer, _) = try await Self.pages(since: token) {
                    try await store.databaseChanges($0, as: caller, asOf: position)
                }
                #expect(answer == changes)
            }
            let subscriptions = try await store.subscriptions(as: caller, asOf: position)
            #expect(subscriptions == moment.subscriptions)
            let found = try await store.fetchSubscriptions(["s", "x"], as: caller, asOf: position)
            #expect((try? found[0].get()) == moment.subscriptions.first { $0.id == "s" })
            #expect(found[1].error?.code == .unknownItem)
            for delta in moment.deltas {
                let (answer, _) = try await Self.pages(delta.request) {
                    try await store.zoneChanges($0, as: delta.caller, asOf: position)
                }
                #expect((try? answer.get()) == (try? delta.answer.get()))
                #expect(answer.error?.code == delta.answer.error?.code)
            }
        }
        try store.close()
    }

    @Test func `Past reads return the past results after a compaction`() async throws {
        let folder = try ScratchFolder()
        let clock = HookedClock()
        var environment = StoreEnvironment()
        environment.log.now = { clock.now }
        environment.log.uptime = nil
        let store = try Store.open(at: folder.path(), access: .creating, environment: environment)
        let client = Client(store: store)
        func save(_ numbers: Range<Int>) async throws {
            let saves = try numbers.map {
                try client.save("r\($0)", ["n": .int64(Int64($0))], policy: .changedKeys)
            }
            for save in try await client.modify(saves).saves { _ = try save.get() }
        }
        func delete(_ name: String) async throws {
            let deletion = RecordDeletion(client.id(name))
            _ = try await client.modify([], delete: [deletion]).deletions[0].get()
        }
        func state(_ position: SequenceNumber? = nil) throws -> [String] {
            var lines: [String] = []
            try store.visitRecords(of: client.caller.database, asOf: position) { record in
                lines.append("\(record.recordID.recordName) \(record.changeTag?.text ?? "")")
                return true
            }
            return lines
        }
        let request = FetchRecordsRequest((0..<20).map { client.id("r\($0)") })
        func records(_ position: SequenceNumber) async throws -> [Record?] {
            try await store.fetchRecords(request, as: client.caller, asOf: position)
                .map { try? $0.get() }
        }
        try await client.createZone()
        for _ in 0..<5 { try await save(0..<20) }
        try await delete("r5")
        let token = try await client.changes().token
        clock.pass(10 * 24 * 60 * 60 * 1000)
        try await save(0..<4)
        try await delete("r3")
        let position = store.lastSequence
        let (expected, delta) = (try state(), try await client.changes(since: token).changes)
        #expect(expected.count == 18 && delta.count == 4)
        let known = try await store.fetchRecords(request, as: client.caller).map { try? $0.get() }
        var policy = CompactionPolicy()
        policy.history = .atLeast(.seconds(5 * 24 * 60 * 60))
        policy.tombstones = .none
        #expect(try await store.compact(policy).droppedCount > 0)
        // Few later events, and then so many that the way from the beginning is shorter.
        for rounds in [1, 20] {
            for _ in 0..<rounds { try await save(2..<20) }
            // The records as of the last position that was read are kept.
            #expect(try state(position.previous).count == 19)
            #expect(try state(position) == expected)
            #expect(try await records(position) == known)
            let page = try await store.zoneChanges(
                ZoneChangesRequest(zone: client.zone, since: token),
                as: client.caller,
                asOf: position
            )
            #expect(Array(page.changes) == delta)
        }
        // The views list the records of a zone until it ends.
        try await client.deleteZone()
        #expect(try await records(position) == known)
        _ = try await store.compact(policy)
        #expect(try await records(position) == known)
        try store.close()
    }

    @Test func `A past read returns the asset of that time`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let store = client.store
        var positions: [SequenceNumber] = []
        for text in ["first", "second"] {
            let asset = try await client.upload(Array(text.utf8))
            try await client.modify([
                try client.save("r", ["file": .asset(asset)], policy: .changedKeys)
            ])
            positions.append(store.lastSequence)
        }
        let request = DownloadAssetRequest(client.id("r"), field: "file")
        for (position, text) in zip(positions, ["first", "second"]) {
            let asset = try await store.downloadAsset(request, as: client.caller, asOf: position)
            var bytes: [UInt8] = []
            for try await piece in asset { bytes += piece }
            #expect(bytes == Array(text.utf8))
        }
        let before = SequenceNumber(rawValue: positions[0].rawValue - 1)
        let error = await #expect(throws: SyncError.self) {
            try await store.downloadAsset(request, as: client.caller, asOf: before)
        }
        #expect(error?.code == .unknownItem)
        try store.close()
    }

    @Test func `Past lookups find the users of that time`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let caller = Caller(database: .standard, user: UserID("_anna"))
        let bert = UserLookup.email("bert@example.com")
        var moments:
            [(position: SequenceNumber, found: [UserIdentity?], contacts: [UserIdentity])] = []
        for step in 0..<5 {
            var account = UserAccount(UserID("_bert"))
            account.emails = [step == 2 ? "robert@example.com" : "bert@example.com"]
            account.name.givenName = "Bert \(step)"
            account.isDiscoverable = step != 3
            if step > 0 { try await store.setUser(account) }
            var anna = UserAccount(UserID("_anna"))
            anna.contacts = step == 4 ? [] : [bert]
            try await store.setUser(anna)
            let found = try await store.lookUpUsers([bert, .user(UserID("_bert"))], as: caller)
            let contacts = try await store.contacts(as: caller)
            moments.append((store.lastSequence, found, contacts))
        }
        #expect(moments.map { $0.found[0] != nil } == [false, true, false, false, true])
        for moment in moments {
            let found = try await store.lookUpUsers(
                [bert, .user(UserID("_bert"))],
                as: caller,
                asOf: moment.position
            )
            #expect(found == moment.found)
            let contacts = try await store.contacts(as: caller, asOf: moment.position)
            #expect(contacts == moment.contacts)
        }
        try store.close()
    }

    @Test func `Reads at unknown points are rejected`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let store = client.store
        let early = store.lastSequence
        try await client.modify([try client.save("r", ["n": 1])])
        let token = try await client.changes().token
        let request = ZoneChangesRequest(zone: client.zone, since: token)
        let future = await #expect(throws: SyncError.self) {
            try await store.zoneChanges(request, as: client.caller, asOf: early)
        }
        #expect(future?.code == .invalidArguments)
        let beyond = SequenceNumber(rawValue: store.lastSequence.rawValue + 1)
        await #expect(throws: SyncError.self) {
            try await store.zones(as: client.caller, asOf: beyond)
        }
        var shared = client.caller
        shared.database = DatabaseID(scope: .shared, owner: UserID("_anna"))
        let refusal = await #expect(throws: SyncError.self) {
            try await store.zones(as: shared, asOf: early)
        }
        #expect(refusal == .sharedPast)
        try await client.modify([try client.save("r", ["n": 2], policy: .changedKeys)])
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await store.compact(policy)
        let pruned = await #expect(throws: SyncError.self) {
            try await store.fetchRecords(
                FetchRecordsRequest([client.id("r")]),
                as: client.caller,
                asOf: early
            )[0].get()
        }
        #expect(pruned?.isHistoryPruned == true)
        try store.close()
    }
}
