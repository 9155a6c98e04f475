// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// Histories of several devices, against the model: every answer, every record, every delta from
/// every token that was ever handed out, across checkpoints, restarts and stops without a close.
@Suite struct RulesModelTests {
    /// One run: a store, the model beside it, and what the devices remember.
    final class Run {
        let path: String
        var random: SeededGenerator
        var environment = StoreEnvironment()
        var options = StoreOptions()
        /// `nil` only between two openings.
        var store: Store?
        var model = RulesModel()
        /// The change tag of every version, by its number.
        var tags: [Int: RecordChangeTag] = [:]
        /// Tokens, with the zone, its epoch, and the number that the model had.
        var tokens: [(token: ChangeToken, zone: String, epoch: Int, number: Int)] = []
        let zoneNames = ["a", "b", "_defaultZone"]
        /// Whether the log is compacted now and then.
        let compacts: Bool
        /// How far deletions are forgotten, by zone and epoch.
        var horizons: [String: UInt64] = [:]
        /// Tokens that were below.
        var expiredCount = 0

        init(
            _ folder: ScratchFolder,
            seed: UInt64,
            slotMask: UInt64,
            isStrict: Bool,
            compacts: Bool
        ) throws {
            self.compacts = compacts
            // Small ones, so that there are many.
            if compacts { options.segmentByteCount = 16 << 10 }
            path = folder.path("\(seed).tide")
            random = SeededGenerator(seed: seed)
            environment.slotMask = slotMask
            options.checkpointEventCount = 40
            options.limits.recordsPerPage = 7
            options.isStrict = isStrict
            model.isStrict = isStrict
            store = try Store.open(
                at: path,
                access: .creating,
                options: options,
                environment: environment
            )
        }

        func open() throws -> Store { try #require(store) }

        func client(_ zone: String) throws -> Client {
            let device = ["phone", "pad", "desk"].randomElement(using: &random) ?? ""
            model.device = device
            return Client(
                store: try open(),
                caller: Caller(database: .standard, user: UserID("_anna"), device: device),
                zone: ZoneID(zoneName: zone)
            )
        }

        func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        /// Whether the store gives deltas of a zone.
        func hasDelta(_ zone: String) -> Bool { !options.isStrict || zone != "_defaultZone" }

        func zone() -> String { zoneNames.randomElement(using: &random) ?? "a" }
    }

    /// Seeds of histories, each with the bits of slots that names are told apart by: few, but one of each
    /// kind, unless long tests run.
    private static func histories(
        from first: UInt64,
        count: Int,
        meeting masks: [UInt64]
    ) -> [(seed: UInt64, slotMask: UInt64)] {
        let usual = runsLongTests ? count : 4
        let all = [UInt64](repeating: .max, count: usual) + masks
        return all.enumerated().map { (first + UInt64($0.offset), $0.element) }
    }

    @Test(arguments: histories(from: 1, count: 20, meeting: [0b1111, 0b111, 0b11, 0]))
    func `A store agrees with the model`(_ seed: UInt64, _ slotMask: UInt64) async throws {
        try await play(seed, slotMask, isStrict: false)
    }

    @Test(arguments: histories(from: 101, count: 10, meeting: [0b111, 0]))
    func `A strict store, which touches referenced records, agrees with the model`(
        _ seed: UInt64,
        _ slotMask: UInt64
    ) async throws {
        try await play(seed, slotMask, isStrict: true)
    }

    @Test(arguments: histories(from: 201, count: 16, meeting: [0b1111, 0b111, 0b11, 0]))
    func `A compacted store agrees with the model, or reports an expired token`(
        _ seed: UInt64,
        _ slotMask: UInt64
    ) async throws {
        try await play(seed, slotMask, isStrict: seed % 4 == 0, compacts: true)
    }

    private func play(
        _ seed: UInt64,
        _ slotMask: UInt64,
        isStrict: Bool,
        compacts: Bool = false
    ) async throws {
        let folder = try ScratchFolder()
        let run = try Run(
            folder,
            seed: seed,
            slotMask: slotMask,
            isStrict: isStrict,
            compacts: compacts
        )
        for step in 0..<220 {
            switch Int.random(in: 0..<100, using: &run.random) {
            case 0..<5 where compacts: try await compact(run)
            case 0..<4: try await changeZones(run)
            case 4..<8: try await restart(run)
            case 8..<25: try await rememberToken(run)
            default: try await modify(run)
            }
            if step % 20 == 0 { try await checkAll(run) }
        }
        try await checkAll(run)
        try run.open().close()
        try checkViews(run)
    }

    // MARK: - Steps

    private func changeZones(_ run: Run) async throws {
        let name = ["a", "b"].randomElement(using: &run.random) ?? "a"
        let zone = ZoneID(zoneName: name)
        let client = try run.client(name)
        if run.chance(70) {
            let result = try await run.open().modifyZones(
                ModifyZonesRequest(saves: [zone]),
                as: client.caller
            )
            #expect(result.saves[0].error == nil)
            run.model.createZone(name)
        } else {
            let result = try await run.open().modifyZones(
                ModifyZonesRequest(deletions: [zone]),
                as: client.caller
            )
            #expect(result.deletions[0].error?.code == run.model.deleteZone(name))
        }
    }

    private func compact(_ run: Run) async throws {
        var policy = CompactionPolicy()
        policy.history = run.chance(80) ? .none : .all
        policy.tombstones = run.chance(50) ? .none : .all
        let report = try await run.open().compact(policy)
        for expiry in report.expiries {
            let epoch = run.model.zones[expiry.zoneName]?.epoch ?? 0
            run.horizons["\(expiry.zoneName) \(epoch)"] = expiry.position.rawValue
        }
    }

    private func restart(_ run: Run) async throws {
        if run.chance(50) { try run.store?.close() }
        // Dropped without a close, a store is recovered by its next opening. What it still does in
        // the background keeps its lock until that ends.
        run.store = nil
        let limit = ContinuousClock.now + .seconds(60)
        while run.store == nil {
            do {
                run.store = try Store.open(
                    at: run.path,
                    access: .writing,
                    options: run.options,
                    environment: run.environment
                )
            } catch {
                guard error.code == .locked, .now < limit else { throw error }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private func rememberToken(_ run: Run) async throws {
        let name = run.zone()
        guard run.model.zones[name] != nil || name == "_defaultZone", run.hasDelta(name) else {
            return
        }
        let token = try await run.client(name).changes().token
        let epoch = run.model.zones[name]?.epoch ?? 0
        run.tokens.append((token, name, epoch, run.model.lastNumber))
    }

    private func modify(_ run: Run) async throws {
        let zone = run.zone()
        var names = (0..<25).map { "r\($0)" }.shuffled(using: &run.random)
        var saves: [RulesModel.Save] = []
        for _ in 0..<Int.random(in: 0...4, using: &run.random) {
            let name = names.removeLast()
            saves.append(
                RulesModel.Save(
                    name: name,
                    fields: fields(run),
                    held: heldVersion(of: name, in: zone, run),
                    policy: run.chance(60)
                        ? .ifServerRecordUnchanged
                        : SavePolicy.allCases.randomElement(using: &run.random) ?? .replace,
                    links: links(run),
                    parent: parent(run)
                )
            )
        }
        let deletions = (0..<Int.random(in: 0...2, using: &run.random)).map { _ in
            let name = names.removeLast()
            let held = run.chance(30) ? heldVersion(of: name, in: zone, run) : nil
            return RulesModel.Deletion(name: name, held: held)
        }
        let isAtomic = run.chance(70)
        let client = try run.client(zone)
        let request = ModifyRecordsRequest(
            saves: try saves.map { save in
                var builder = FieldsBuilder()
                for (name, value) in save.fields { try builder.set(name, value.map { .int64($0) }) }
                if let links = save.links {
                    try builder.set("links", .referenceList(links.map(Reference.init)))
                }
                return RecordSave(
                    client.id(save.name),
                    type: "Note",
                    fields: try builder.finish(),
                    parent: save.parent,
                    changeTag: save.held.flatMap { run.tags[$0] },
                    policy: save.policy
                )
            },
            deletions: deletions.map {
                RecordDeletion(client.id($0.name), changeTag: $0.held.flatMap { run.tags[$0] })
            },
            isAtomic: isAtomic
        )
        var caller = client.caller
        caller.requestID = run.chance(30) ? "request \(run.model.lastNumber) \(saves.count)" : nil
        let before = run.model
        let expected = run.model.modify(saves, deletions, in: zone, isAtomic: isAtomic)
        let result = try await run.open().modifyRecords(request, as: caller)
        let codes = result.saves.map { $0.error?.code } + result.deletions.map { $0.error?.code }
        let messages = result.saves.compactMap { $0.error?.message }
        #expect(codes == expected, "\(messages)")
        for (save, answer) in zip(saves, result.saves) {
            if let version = run.model.zones[zone]?.records[save.name],
                let record = try? answer.get()
            {
                run.tags[version.number] = record.changeTag
            }
            if let conflict = answer.error?.conflict {
                let server = before.zones[zone]?.records[save.name]
                #expect(conflict.server.changeTag == server.flatMap { run.tags[$0.number] })
                #expect(
                    conflict.ancestor.flatMap(\.changeTag)
                        == conflict.ancestor.flatMap { _ in save.held.flatMap { run.tags[$0] } }
                )
            }
        }
        try await learnTags(of: run, after: before.lastNumber, in: client)
        if caller.requestID != nil, run.model.lastNumber > before.lastNumber {
            #expect(try await run.open().modifyRecords(request, as: caller) == result)
        }
    }

    /// The tags of versions that no answer named, because their records were touched.
    private func learnTags(of run: Run, after number: Int, in client: Client) async throws {
        let new = (run.model.zones[client.zone.zoneName]?.records ?? [:]).filter {
            $0.value.fields != nil && $0.value.number > number && run.tags[$0.value.number] == nil
        }
        for (name, version) in new {
            let tag = try #require(try await client.fetch(name)[0].get().changeTag)
            #expect(!run.tags.values.contains(tag))
            run.tags[version.number] = tag
        }
    }

    private func fields(_ run: Run) -> [String: Int64?] {
        var fields: [String: Int64?] = [:]
        for name in ["x", "y", "z"] where run.chance(60) {
            fields[name] = run.chance(15) ? .some(nil) : .random(in: 0..<9, using: &run.random)
        }
        return fields
    }

    private func links(_ run: Run) -> Set<RulesModel.Bond>? {
        guard run.chance(25) else { return nil }
        return Set(
            (0..<Int.random(in: 0...2, using: &run.random)).map { _ in
                RulesModel.Bond(
                    target: "r\(Int.random(in: 0..<25, using: &run.random))",
                    kind: [.deleteSelf, .deleteSelf, .validate, .none]
                        .randomElement(using: &run.random) ?? .none
                )
            }
        )
    }

    private func parent(_ run: Run) -> ParentChange {
        guard run.chance(15) else { return run.chance(10) ? .removed : .unchanged }
        return .set(Name("r\(Int.random(in: 0..<25, using: &run.random))"))
    }

    /// Mostly the version that is there, sometimes none, sometimes an old one.
    private func heldVersion(of name: String, in zone: String, _ run: Run) -> Int? {
        let current = run.model.zones[zone]?.records[name].flatMap {
            $0.fields == nil ? nil : $0.number
        }
        if run.chance(75) { return current }
        return run.chance(50) ? nil : run.tags.keys.sorted().randomElement(using: &run.random)
    }

    // MARK: - Checks

    private func checkAll(_ run: Run) async throws {
        for name in run.zoneNames {
            guard let zone = run.model.zones[name] else { continue }
            let client = try run.client(name)
            let names = (0..<25).map { "r\($0)" }
            let fetched = try await run.open().fetchRecords(
                FetchRecordsRequest(names.map(client.id)),
                as: client.caller
            )
            for (name, answer) in zip(names, fetched) {
                #expect((try? answer.get()).map(values) == zone.records[name]?.fields)
            }
            guard run.hasDelta(name) else { continue }
            if run.compacts { try await checkStart(of: client, run) }
            // One that made nothing; what compaction has dropped tells nobody any more who made it.
            for reader in [client.client(on: "watch")] + (run.compacts ? [] : [client]) {
                try expect(
                    try await reader.changes().changes,
                    run.model.delta(
                        of: name,
                        after: 0,
                        quiet: run.model.lastNumber,
                        madeBy: reader.caller.device
                    )
                )
            }
        }
        for (token, name, epoch, number) in run.tokens {
            let client = try run.client(name)
            guard let zone = run.model.zones[name] else {
                guard name != "_defaultZone" else { continue }
                await #expect(throws: SyncError.zoneNotFound(client.zone)) {
                    try await client.changes(since: token)
                }
                continue
            }
            if zone.epoch != epoch, epoch != 0 || name != "_defaultZone" {
                do {
                    _ = try await client.changes(since: token)
                    Issue.record("a token of an earlier zone was answered")
                } catch let error as SyncError {
                    #expect(error.code == .changeTokenExpired)
                }
                continue
            }
            let position = try run.open().position(of: token).rawValue
            if position < run.horizons["\(name) \(zone.epoch)"] ?? 0 {
                run.expiredCount += 1
                #expect(
                    await refusal { try await client.changes(since: token) } == .changeTokenExpired
                )
                continue
            }
            let delta = try await client.changes(since: token, limit: run.chance(50) ? 3 : nil)
            try expect(delta.changes, run.model.delta(of: name, after: number))
        }
    }

    /// What a device is told that begins, where it may not be known any more what it made: all that lives,
    /// and no deletions of what others made.
    private func checkStart(of client: Client, _ run: Run) async throws {
        let (name, last) = (client.zone.zoneName, run.model.lastNumber)
        let changes = try await client.changes().changes
        let living = changes.filter { if case .changed = $0 { true } else { false } }
        try expect(living, run.model.delta(of: name, after: 0, quiet: last))
        let own = run.model.delta(of: name, after: 0, quiet: last, madeBy: client.caller.device)
        for case .deleted(let deleted) in changes {
            #expect(own.contains { $0.name == deleted.recordID.recordName })
        }
    }

    private func values(_ record: Record) -> [String: Int64] {
        var values: [String: Int64] = [:]
        for field in record.fields {
            if case .int64(let value) = field.value { values[field.name] = value }
        }
        return values
    }

    private func expect(
        _ changes: [RecordChange],
        _ expected: [(name: String, version: RulesModel.Version)]
    ) throws {
        let found = changes.map { change -> String in
            switch change {
            case .changed(let record):
                "\(record.recordID.recordName) \(values(record).sorted { $0.key < $1.key })"
            case .deleted(let deleted): "\(deleted.recordID.recordName) gone"
            }
        }
        let wanted = expected.map { name, version in
            version.fields.map { "\(name) \($0.sorted { $0.key < $1.key })" } ?? "\(name) gone"
        }
        #expect(inOrder(found) == inOrder(wanted))
    }

    /// Lines of a delta; deletions that follow each other come in any order, since those that a
    /// deletion takes along have none.
    private func inOrder(_ lines: [String]) -> [String] {
        var sorted = lines
        var start = 0
        while start < sorted.count {
            var end = start
            while end < sorted.count, sorted[end].hasSuffix(" gone") { end += 1 }
            sorted[start..<end].sort()
            start = end + 1
        }
        return sorted
    }

    /// The views on disk are what folding the log gives, and every delta is what replaying gives.
    private func checkViews(_ run: Run) throws {
        let reader = try LogReader(run.path, fileSystem: PosixFileSystem())
        let index = try LMDBViewIndex.open(
            run.path + "/views",
            access: .readingStill,
            store: reader.store
        )
        let found = try index.snapshot()
        #expect(found.checkpoint?.sequence == reader.durableSequence)
        let twin = MemoryViewIndex()
        let replay = Replay(
            source: reader,
            hash: StoreHash(store: reader.store, slotMask: run.environment.slotMask),
            form: .rebuild(heldCount: 97)
        )
        func take(_ generation: OverlayGeneration) throws(ReplayError) {
            do throws(ViewIndexError) {
                try twin.take(
                    generation,
                    of: reader.store,
                    reader.line,
                    compactedThrough: reader.compactedThrough
                )
            } catch {
                throw .views(error)
            }
        }
        let rest = try replay.run(
            after: .zero,
            through: reader.durableSequence,
            advance: { _ in },
            take: take
        )
        if rest.lastSequence > 0 { try take(rest) }
        let expected = twin.snapshot()
        for table in ViewTable.allCases {
            let (found, expected) = try (
                contents(of: table, in: found), contents(of: table, in: expected)
            )
            let differing = Set(found.keys).union(expected.keys).filter {
                found[$0] != expected[$0]
            }
            #expect(
                differing.isEmpty,
                "\(table): \(differing.sorted().map { ($0, found[$0], expected[$0]) })"
            )
        }
        try checkOracle(found, reader)
    }

    private func contents(
        of table: ViewTable,
        in snapshot: any ViewSnapshot
    ) throws -> [ViewKey: ViewValue] {
        var contents: [ViewKey: ViewValue] = [:]
        try snapshot.scan(table, from: ViewKey(0, 0), through: ViewKey(.max, .max)) { key, value in
            contents[key] = value
            return true
        }
        return contents
    }

    /// For every zone and position, what the sync index lists after it is what is left of the events
    /// after it when only each record's last one is kept.
    private func checkOracle(_ snapshot: any ViewSnapshot, _ reader: LogReader) throws {
        var events: [(zone: ZoneKey, sequence: UInt64, name: [UInt8])] = []
        try reader.scan(from: SequenceNumber(rawValue: 1), through: reader.durableSequence) {
            event in
            if let stored = try? StoredRecord(event.sequence, zone: event.zone, event.payload),
                let range = try? RecordEvent.nameRange(
                    in: event.payload.span.bytes,
                    state: stored.event.state,
                    bodyOffset: stored.bodyOffset
                )
            {
                let name = event.payload.dropFirst(range.lowerBound).prefix(range.count)
                events.append((event.zone, event.sequence.rawValue, Array(name)))
            }
            return true
        }
        for zone in Set(events.map(\.zone)) {
            var listed: [UInt64] = []
            let end = ViewKey(zone.rawValue, .max)
            try snapshot.scan(.sync, from: ViewKey(zone.rawValue, 0), through: end) { key, _ in
                listed.append(key.low)
                return true
            }
            let value = try #require(try snapshot.value(in: .zones, for: .zone(zone)))
            let entry = try ZoneEntry(value, key: zone)
            // What is forgotten is not told any more, whether or not the log still has it.
            if entry.end != nil, reader.compactedThrough > .zero { continue }
            let last = reader.durableSequence.rawValue
            for start in stride(from: entry.tombstoneHorizon.rawValue, through: last, by: 1) {
                var last: [[UInt8]: UInt64] = [:]
                for event in events where event.zone == zone && event.sequence > start {
                    last[event.name] = event.sequence
                }
                guard listed.filter({ $0 > start }) == last.values.sorted() else {
                    Issue.record("zone \(zone): the delta after \(start) differs from a replay")
                    return
                }
            }
        }
    }
}

extension Reference {
    /// The reference that a tie of the model stands for.
    fileprivate init(_ bond: RulesModel.Bond) {
        let action: Action =
            switch bond.kind {
            case .none, .parent: .none
            case .deleteSelf: .deleteSelf
            case .validate: .validate
            }
        self.init(recordName: bond.target, action: action)
    }
}
