// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ServiceConformance
import TestSupport
import Testing
import Tidemark
import TidemarkDatabase
import TidemarkModel

@testable import TidemarkWire

@Suite struct RemoteServiceTests {
    @Test func `No caller can impersonate a user who has not signed in`() async throws {
        let hosted = try ServiceHost.bytes.open()
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        // Ben's connection, Anna's name.
        let stolen = HostedDevice(service: hosted.service(of: "ben"), caller: anna.caller)
        let error = try await #require(throws: SyncError.self) { try await stolen.fetch("r") }
        #expect(error.code == .notAuthenticated)
        // The store itself was told to refuse whom nobody has vouched for.
        let direct = try await #require(throws: SyncError.self) {
            try await hosted.store.zones(as: anna.caller)
        }
        #expect(direct.code == .notAuthenticated)
    }

    @Test(arguments: [ServiceHost.bytes, .records])
    func `Records beyond the limit of an answer are fetched with further calls`(
        _ host: ServiceHost
    ) async throws {
        let hosted = try host.open()
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        let text = String(repeating: "x", count: 900_000)
        let ids = (0..<50).map { RecordID(recordName: "r\($0)", zone: anna.zone) }
        for id in ids {
            let save = RecordSave(id, type: "Note", fields: try Fields(["text": .string(text)]))
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await hosted.store.modifyRecords(request, as: hosted.trusted(anna.caller))
        }
        let missing = RecordID(recordName: "missing", zone: anna.zone)
        let asked = FetchRecordsRequest(ids + [missing] + ids)
        let answers = try await anna.service.fetchRecords(asked, as: anna.caller)
        #expect(answers.count == asked.recordIDs.count)
        for (id, answer) in zip(asked.recordIDs, answers) where id != missing {
            #expect(try answer.get().recordID == id)
        }
        #expect(throws: SyncError.self) { try answers[50].get() }
        // One answer has no more than that.
        let method = DatabaseMethods.fetchRecords
        let bytes = try await method.answer(
            to: try WireCoding.bytes(of: asked),
            by: hosted.store,
            as: hosted.trusted(anna.caller)
        )
        #expect(bytes.count < 80 << 20)
    }

    @Test func `An unreadable request is rejected with its member and position`() async throws {
        let hosted = try ServiceHost.bytes.open()
        let method = try #require(DatabaseMethods.named("fetchRecords"))
        for text in ["", "{", "[]", #"{"recordIDs":[{"recordName":3}]}"#, #"{"recordIDs":1}"#] {
            let error = try await #require(throws: SyncError.self) {
                try await method.answer(
                    to: Array(text.utf8),
                    by: hosted.store,
                    as: hosted.trusted(Caller(user: "anna"))
                )
            }
            #expect(error.code == .invalidArguments)
            #expect(error.message.hasPrefix("The request of 'fetchRecords' cannot be read: at "))
            #expect(!error.message.hasSuffix(".."), "\(error.message)")
        }
    }

    @Test func `Fields from a client are validated completely`() async throws {
        let hosted = try ServiceHost.bytes.open()
        let method = DatabaseMethods.modifyRecords
        let save = RecordSave(
            RecordID(recordName: "r"),
            type: "Note",
            fields: try Fields(["a": 1, "text": "some text"])
        )
        let bytes = try WireCoding.bytes(of: ModifyRecordsRequest(saves: [save]))
        var random = SeededGenerator(seed: 7)
        var refused = 0
        for _ in 0..<2_000 {
            var damaged = bytes
            let index = Int.random(in: damaged.indices, using: &random)
            damaged[index] = UInt8.random(in: 32..<127, using: &random)
            do {
                _ = try await method.answer(
                    to: damaged,
                    by: hosted.store,
                    as: hosted.trusted(Caller(user: "anna"))
                )
            } catch {
                refused += 1
                #expect(error.code != .internalError, "\(error)")
            }
        }
        #expect(refused > 500)
    }

    @Test func `Only lost connections and requested retries are repeated, up to the limit`()
        async throws
    {
        let counter = Counter()
        let patience = Patience(repetitions: 3, wait: { _ in })
        for (error, count) in [
            (SyncError(.networkFailure, ""), 4), (SyncError(.zoneNotFound, ""), 1),
            (SyncError(.zoneBusy, ""), 1),
            // A service that says when to come back is asked again then, unless that is long.
            (SyncError(.zoneBusy, "", retryAfter: .seconds(10)), 4),
            (SyncError(.zoneBusy, "", retryAfter: .seconds(11)), 1),
            (SyncError(.invalidArguments, "", retryAfter: .seconds(1)), 1),
        ] {
            await counter.reset()
            await #expect(throws: SyncError.self) {
                try await patience.repeating { () throws(SyncError) in
                    await counter.add()
                    throw error
                }
            }
            #expect(await counter.count == count)
        }
        let waits = Waits()
        let asked = Patience(repetitions: 2, wait: { await waits.add($0) })
        await #expect(throws: SyncError.self) {
            try await asked.repeating { () throws(SyncError) in
                throw SyncError(.requestRateLimited, "", retryAfter: .seconds(3))
            }
        }
        #expect(await waits.all == [.seconds(3), .seconds(3)])
        #expect((0..<12).map { patience.wait(before: $0) }.max() == .seconds(30))
    }

    @Test func `A call that waits to be repeated ends as cancelled`() async throws {
        let (waits, continuation) = AsyncStream.makeStream(of: Void.self)
        let patience = Patience(wait: { _ in
            continuation.yield()
            try await Task.sleep(for: .seconds(600))
        })
        let call = Task {
            try await patience.repeating { () throws(SyncError) in
                throw SyncError(.networkFailure, "")
            }
        }
        for await _ in waits { break }
        call.cancel()
        let error = try await #require(throws: SyncError.self) { try await call.value }
        #expect(error.code == .operationCancelled)
    }

    @Test func `Handles work on a remote service`() async throws {
        let hosted = try ServiceHost.lossy.open()
        let database = Database(hosted.service(of: "anna"), as: Caller(user: "anna"))
        let zone = try await database.createZone("garden")
        for number in 0..<20 {
            try await zone.save("c\(number)", type: "Chore", fields: ["n": Int64(number)])
        }
        var names: [String] = []
        for try await change in zone.changes(limit: 6) {
            if case .changed(let record) = change.event { names.append(record.recordID.recordName) }
        }
        #expect(names == (0..<20).map { "c\($0)" })
        #expect(await hosted.losses.count > 5)
    }

    @Test(arguments: 1...(runsLongTests ? 40 : 4))
    func `Devices with lost connections converge, and each save exists once`(
        seed: Int
    ) async throws {
        let hosted = try ServiceHost.lossy.open()
        let first = try await hosted.device("anna")
        try await first.createZone()
        let acknowledged = try await withThrowingTaskGroup(of: [String: Int].self) { group in
            for number in 0..<4 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(seed * 10 + number))
                    let device = try await hosted.device("anna", "d\(number)")
                    var saved: [String: Int] = [:]
                    for step in 0..<25 {
                        let name = "d\(number)-\(Int.random(in: 0..<6, using: &random))"
                        try await device.save(name, ["n": .int64(Int64(step))], policy: .allKeys)
                        saved[name] = step
                    }
                    return saved
                }
            }
            return try await group.reduce(into: [:]) { $0.merge($1) { _, new in new } }
        }
        let delta = try await first.changes(limit: 5)
        var seen: [String: Int] = [:]
        for case .changed(let record) in delta.changes {
            if let value: Int64 = record.fields["n"] {
                seen[record.recordID.recordName] = Int(value)
            }
        }
        #expect(seen == acknowledged)
        // One commit for the zone and one for each save, however often it was sent.
        var count = 0
        try hosted.store.visitCommits { line in
            if line.requestID != nil { count += 1 }
            return true
        }
        #expect(count == 101)
    }
}

private actor Waits {
    private(set) var all: [Duration] = []

    func add(_ wait: Duration) { all.append(wait) }
}

private actor Counter {
    private(set) var count = 0

    func add() { count += 1 }

    func reset() { count = 0 }
}
