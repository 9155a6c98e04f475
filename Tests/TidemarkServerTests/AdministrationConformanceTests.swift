// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkReplay

@testable import TidemarkServer

/// The promises of an `AdministrationService`, on every way to a store.
@Suite struct AdministrationConformanceTests {
    private typealias Filled = AdministeredStore

    /// The pieces of an answer and the answer, as JSON.
    private func told<Call: AdministrationCall>(
        _ call: Call,
        by service: any AdministrationService
    ) async throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        var told: [String] = []
        let answer = try await service.answer(call) { piece in
            told.append(String(decoding: try encoder.encode(piece), as: UTF8.self))
        }
        return told + [String(decoding: try encoder.encode(answer), as: UTF8.self)]
    }

    /// Questions about the store, none of which changes what another one is answered.
    private func questions(about store: AdministeredStore) -> [any AdministrationCall] {
        let (database, zone) = (Filled.database, Filled.zone)
        let caller = Filled.caller("pad")
        var events = EventsCall()
        events.filter.record = "milk"
        let note = Query(recordType: "Note", predicate: .always)
        return [
            HistoryCall(of: Filled.id("milk"), in: database),
            HistoryCall(of: Filled.id("bread"), in: database, limit: 1),
            BlameCall(of: Filled.id("milk"), in: database, asOf: nil),
            BlameCall(of: Filled.id("milk"), in: database, asOf: store.position(8)),
            AbsenceCall(
                of: Filled.id("milk"),
                in: database,
                asOf: nil,
                from: "phone",
                of: "anna"
            ),
            AbsenceCall(of: Filled.id("no"), in: database, asOf: nil, from: "phone", of: nil),
            CaseCall(of: [Filled.id("milk")], in: database),
            DifferencesCall(after: store.position(0), through: store.position(8), of: database),
            DifferencesCall(
                after: store.position(2),
                through: nil,
                of: database,
                in: zone,
                record: "milk"
            ),
            BisectionCall(
                for: .always,
                type: "Note",
                in: database,
                after: store.position(0),
                through: store.position(600)
            ),
            JournalCall(), JournalCall(refusals: true, device: "phone", user: "anna"),
            RecordCall(Filled.id("milk"), in: database, asOf: store.position(8)),
            RecordsCall(of: database, in: zone, asOf: nil),
            RecordsCall(of: database, in: nil, asOf: store.position(20)),
            CommitsCall(in: zone, through: store.position(40)),
            QueryCall(QueryRequest(note, in: zone, limit: 5), as: caller, asOf: store.position(30)),
            ChangesCall(ZoneChangesRequest(zone: zone), as: caller, asOf: store.position(30)),
            ZonesCall(of: database), ZonesCall(of: database, asOf: store.position(1)),
            UsersCall(of: .standard, in: .development),
            SchemaCall(of: .standard, in: .development),
            SchemaDriftCall(of: .standard, since: store.position(1)), events,
            CommitCall(at: store.position(3)),
            StepCall(to: store.position(3), from: store.position(1), through: nil),
            StepCall(
                to: store.position(9),
                goesBack: true,
                from: store.position(1),
                through: store.position(4)
            ),
        ]
    }

    @Test(arguments: AdministrationHost.allCases)
    func `Every query has the same result as at the store`(
        host: AdministrationHost
    ) async throws {
        try await host.run { hosted in
            for question in questions(about: hosted) {
                let expected = try await told(question, by: hosted.files)
                let answered = try await told(question, by: hosted.service)
                #expect(answered == expected, "\(question)")
                #expect(expected != ["{}"], "\(question)")
            }
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `Responses contain the expected results`(host: AdministrationHost) async throws {
        try await host.run { hosted in
            let service = hosted.service
            var happened: [String] = []
            var positions: [SequenceNumber] = []
            let history = HistoryCall(of: Filled.id("milk"), in: Filled.database)
            _ = try await service.answer(history) { entry in
                guard case .change(let change) = entry else { return }
                positions.append(change.origin.sequence)
                let count = change.fields.first { $0.name == "count" }
                happened.append(
                    "\(change.happening) \(change.origin.device ?? "") \(count?.after ?? "none")"
                )
            }
            #expect(happened == ["changed pad int64(2)", "created phone int64(1)"])
            let blame = try await service.answer(
                BlameCall(of: Filled.id("milk"), in: Filled.database, asOf: nil)
            )
            #expect(blame.fields.map(\.name) == ["count", "title"])
            #expect(blame.fields.map(\.origin?.device) == ["pad", "pad"])
            #expect(blame.fields[1].value == "Oat milk")
            var differing: [String] = []
            let differences = DifferencesCall(
                after: positions[1],
                through: positions[0],
                of: Filled.database
            )
            _ = try await service.answer(differences) { difference in
                guard case .record(let record) = difference else { return }
                differing.append("\(record.kind) \(record.id.recordName) \(record.fields.count)")
            }
            #expect(differing == ["changed milk 2"])
            let usage = try await service.answer(UsageCall())
            let own = usage.first { $0.database == Filled.database }
            #expect(own?.total.recordCount == 301)
            var refusals = 0
            let standing = try await service.answer(JournalCall(refusals: true)) { entry in
                if case .refused = entry.content { refusals += 1 }
            }
            #expect(refusals == 1)
            #expect(standing.damage.isEmpty)
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `Users, schemas and roles are changed`(host: AdministrationHost) async throws {
        try await host.run { hosted in
            let service = hosted.service
            var anna = UserAccount("anna")
            anna.emails = ["anna@example.org"]
            anna.isDiscoverable = true
            _ = try await service.answer(SetUserCall(anna, of: .standard, in: .development))
            let found = try await service.answer(
                UsersCall(of: .standard, in: .development, user: "anna")
            )
            #expect(found == [anna])
            let caller = Caller(
                database: DatabaseID(scope: .public),
                user: "ben",
                authentication: .administrator(id: "test")
            )
            let lookup = LookUpUsersCall([UserLookup("anna@example.org")], as: caller)
            #expect(try await service.answer(lookup).map { $0?.user } == ["anna"])
            #expect(try await service.answer(AccountStatusCall(of: caller)) == .available)
            var schema = try await service.answer(SchemaCall(of: .standard, in: .development))
            schema.set(Schema.Role("Editor"))
            let imported = try await service.answer(ImportSchemaCall(schema, into: .standard))
            #expect(imported == ["add role Editor"])
            let indexed = try await service.answer(
                ChangeIndexesCall(
                    of: "title",
                    in: "Note",
                    adding: [],
                    removing: .searchable,
                    of: .standard,
                    in: .development
                )
            )
            #expect(indexed.count == 1)
            let promoted = try await service.answer(PromoteSchemaCall(of: .standard))
            #expect(promoted.contains { $0.hasPrefix("add record type Note") })
            _ = try await service.answer(
                SetRolesCall(["Editor"], of: "anna", of: .standard, in: .production)
            )
            let roles = RolesCall(of: "anna", of: .standard, in: .production)
            #expect(try await service.answer(roles) == ["Editor"])
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `An open store is compacted, verified, backed up and erased from`(
        host: AdministrationHost
    ) async throws {
        try await host.run { hosted in
            let (service, folder) = (hosted.service, try ScratchFolder())
            var policy = CompactionPolicy()
            policy.history = .none
            let estimate = try await service.answer(CompactionCall(policy, isDryRun: true))
            #expect(estimate.eventCount == 0 || estimate.droppedCount <= estimate.eventCount)
            _ = try await service.answer(CompactionCall(policy))
            let backup = try await service.answer(BackupCall(to: folder.path("b.tide")))
            #expect(backup.lastSequence > 600)
            #expect(FileManager.default.fileExists(atPath: folder.path("b.tide/CURRENT")))
            let segments = try await service.answer(SegmentsCall()).segments
            let figures = try await service.answer(StatisticsCall())
            #expect(figures.segmentCount == segments.count)
            #expect(figures.liveRecordCount ?? 0 >= 301)
            let verified = try await service.answer(VerificationCall())
            #expect(verified.findings.isEmpty)
            #expect(verified.eventCount > 301)

            let subject = ErasureSubject.zone(Filled.zone, in: Filled.database)
            let wanted = try await service.answer(ErasureCall(subject, isDryRun: true))
            #expect(wanted.zoneCount == 1)
            #expect(
                try hosted.store.record(Filled.id("milk"), of: Filled.database).recordType == "Note"
            )
            // The store stays open, and has nothing of the zone.
            let receipt = try await service.answer(ErasureCall(subject))
            #expect(receipt.zoneCount == 1)
            #expect(receipt.removedCount >= wanted.removedCount)
            let error = try #require(throws: SyncError.self) {
                try hosted.store.record(Filled.id("milk"), of: Filled.database)
            }
            #expect(error.code == .zoneNotFound)
            #expect(try await service.answer(ErasureCall(subject, isDryRun: true)).zoneCount == 0)
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `Errors equal those of the store, and a receiver can end a call`(
        host: AdministrationHost
    ) async throws {
        struct Enough: Error {}
        try await host.run { hosted in
            let missing = BlameCall(of: Filled.id("no"), in: Filled.database, asOf: nil)
            let expected = try await #require(throws: SyncError.self) {
                try await hosted.files.answer(missing)
            }
            let error = try await #require(throws: SyncError.self) {
                try await hosted.service.answer(missing)
            }
            #expect(error == expected)
            var count = 0
            await #expect(throws: Enough.self) {
                let all = RecordsCall(of: Filled.database, in: nil, asOf: nil)
                _ = try await hosted.service.answer(all) { _ in
                    count += 1
                    if count == 7 { throw Enough() }
                }
            }
            #expect(count == 7)
            await #expect(throws: SyncError.self) {
                try await hosted.service.answer(UnknownCall())
            }
        }
    }

    private struct UnknownCall: AdministrationCall {
        static let name = "unknown"
    }

    @Test func `New events are sent until the call is cancelled`() async throws {
        try await AdministrationHost.bytes.run { hosted in
            let service = hosted.service
            let (stream, continuation) = AsyncStream<LoggedEvent>.makeStream()
            let following = Task {
                var call = EventsCall()
                call.newest = 1
                call.follows = true
                _ = try await service.answer(call) { continuation.yield($0) }
            }
            var events = stream.makeAsyncIterator()
            let last = try #require(await events.next())
            #expect(last.sequence == hosted.store.lastSequence)
            let zones = ModifyZonesRequest(saves: [ZoneID(zoneName: "More")])
            _ = try await hosted.store.modifyZones(zones, as: AdministeredStore.caller("pad"))
            let next = try #require(await events.next())
            #expect(next.event == "zoneCreated")
            #expect(next.zoneName == "More")
            following.cancel()
            _ = await following.result
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A call that follows ends after its last event or time`() async throws {
        try await AdministrationHost.bytes.run { hosted in
            var call = EventsCall()
            call.newest = 2
            call.last = hosted.store.lastSequence
            call.follows = true
            var found: [LoggedEvent] = []
            _ = try await hosted.service.answer(call) { found.append($0) }
            #expect(found.last?.sequence == call.last)
            // The next commit is later than the last one.
            try await Task.sleep(for: .milliseconds(5))
            let zones = ModifyZonesRequest(saves: [ZoneID(zoneName: "More")])
            _ = try await hosted.store.modifyZones(zones, as: AdministeredStore.caller("pad"))
            call.last = nil
            call.until = try #require(found.last).commit.time
            var times: [Int64] = []
            _ = try await hosted.service.answer(call) { times.append($0.commit.time) }
            #expect(times.last == call.until)
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `A replay of the log has the zones of the store`(host: AdministrationHost) async throws {
        try await host.run { hosted in
            for comparesViews in [false, true] {
                let call = ReplayCall(comparesViews: comparesViews)
                let replay = try await hosted.service.answer(call)
                #expect(replay.failure == nil)
                #expect(replay.damage.isEmpty && replay.findings.isEmpty)
                #expect((replay.views != nil) == comparesViews)
                // The views on disk may be older than the log.
                if comparesViews { continue }
                let zone = replay.zones.first { $0.zoneName == "Notes" }
                #expect(zone?.recordCount == 301)
                #expect(zone?.tombstoneCount == 1)
            }
            let beyond = ReplayCall(through: SequenceNumber(rawValue: .max))
            await #expect(throws: SyncError.self) { try await hosted.service.answer(beyond) }
        }
    }

    @Test(arguments: AdministrationHost.allCases)
    func `Apps' methods and assets pass through calls`(host: AdministrationHost) async throws {
        try await host.run { hosted in
            let service = hosted.service
            let bytes = [UInt8](repeating: 7, count: 300_000)
            let asset = try await service.answer(UploadAssetCall(bytes, in: Filled.database))
            #expect(asset.byteCount == 300_000)
            let held = try await service.answer(AssetsCall(of: Filled.database))
            #expect(held.map(\.asset) == [asset])
            var pieces: [UInt8] = []
            let download = AssetBytesCall(of: asset, in: Filled.database)
            _ = try await service.answer(download) { pieces += $0.bytes }
            #expect(pieces == bytes)
            let own = try await service.answer(
                UploadAssetCall(
                    [1, 2, 3],
                    UploadAssetRequest(zone: Filled.zone),
                    as: Caller(database: Filled.database, user: "anna")
                )
            )
            #expect(own.byteCount == 3)
            #expect(try await service.answer(CollectAssetsCall()) == [])
            let zones = try await service.answer(
                MethodCall("zones", "{}", as: Caller(database: Filled.database, user: "anna"))
            )
            #expect(zones.contains("\"Notes\""))
            let none = MethodCall("none", "{}", as: Filled.caller("pad"))
            await #expect(throws: SyncError.self) { try await service.answer(none) }
            _ = try await service.answer(MakeNotificationsCall())
        }
    }

    @Test func `Calls have unique names, which the OpenAPI document lists`() throws {
        let names = StoreCalls.all.map { $0.name } + DirectoryCalls.all.map { $0.name }
        #expect(Set(names).count == names.count)
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Docs/openapi.yaml").standardizedFileURL
        let text = try String(contentsOf: path, encoding: .utf8)
        let told =
            "{name: call, in: path, required: true, schema: {enum: [\(names.sorted().joined(separator: ", "))]}}"
        #expect(text.contains(told))
    }
}
#endif
