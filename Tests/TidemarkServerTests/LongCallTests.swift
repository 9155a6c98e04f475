// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkReplay
import TidemarkWire

@testable import TidemarkServer

/// Calls that read much of a log report their progress through bytes, and end when they are
/// cancelled.
@Suite struct LongCallTests {
    private typealias Filled = AdministeredStore

    /// Calls that read much of the log.
    ///
    /// Those of the past have points far from each other, since the store remembers the records of a
    /// point.
    private func calls(about store: AdministeredStore) -> [any AdministrationCall] {
        let (database, zone) = (Filled.database, Filled.zone)
        let caller = Filled.caller("pad")
        let note = Query(recordType: "Note", predicate: .always)
        return [
            ReplayCall(),
            CompactionCall(CompactionPolicy(), isDryRun: true),
            ErasureCall(.zone(zone, in: database), isDryRun: true),
            BisectionCall(
                for: .always,
                type: "Note",
                in: database,
                after: store.position(0),
                through: store.position(600)
            ),
            DifferencesCall(after: store.position(0), through: store.position(600), of: database),
            CommitsCall(in: zone, through: store.position(600)),
            SchemaDriftCall(of: .standard, since: store.position(1)),
            RecordsCall(of: database, in: zone, asOf: store.position(80)),
            QueryCall(QueryRequest(note, in: zone), as: caller, asOf: store.position(180)),
            ChangesCall(ZoneChangesRequest(zone: zone), as: caller, asOf: store.position(280)),
        ]
    }

    private func finish<Call: AdministrationCall>(
        _ call: Call,
        by service: any AdministrationService,
        report: @escaping @Sendable (UInt64, UInt64) -> Void = { _, _ in }
    ) async throws {
        _ = try await service.answer(call, report: report, receive: { _ in })
    }

    @Test func `A client receives the progress of long calls`() async throws {
        try await AdministrationHost.bytes.run { hosted in
            // These report segments, of which this store has one.
            let ofSegments: [any AdministrationCall] = [
                VerificationCall(), BackupCall(to: hosted.path + "-backup"),
            ]
            for call in calls(about: hosted) + ofSegments {
                let count = Mutex(0)
                try await finish(call, by: hosted.service) { done, total in
                    #expect(done <= total)
                    count.withLock { $0 += 1 }
                }
                #expect(count.withLock { $0 } > 0, "\(call)")
            }
        }
    }

    @Test func `An export of many live records reports its progress`() async throws {
        try await AdministrationHost.bytes.run { hosted in
            let caller = Filled.caller("pad")
            for start in stride(from: 0, to: 6_000, by: 400) {
                let saves = try (start..<start + 400).map { number in
                    RecordSave(Filled.id("many-\(number)"), type: "Note", fields: try Fields([:]))
                }
                let request = ModifyRecordsRequest(saves: saves)
                let result = try await hosted.store.modifyRecords(request, as: caller)
                for save in result.saves { _ = try save.get() }
            }
            let count = Mutex(0)
            let call = RecordsCall(of: Filled.database, in: Filled.zone, asOf: nil)
            try await finish(call, by: hosted.service) { done, total in
                #expect(done <= total && total > 6_000)
                count.withLock { $0 += 1 }
            }
            #expect(count.withLock { $0 } > 1)
        }
    }

    @Test func `A long call ends soon after it was cancelled`() async throws {
        try await AdministrationHost.store.run { hosted in
            for call in calls(about: hosted) {
                let task = Mutex<Task<Void, any Error>?>(nil)
                let reportCount = Mutex(0)
                let transport = BytesTransport(service: hosted.files) {
                    reportCount.withLock { $0 += 1 }
                    task.withLock { $0?.cancel() }
                }
                let service = RemoteAdministration(over: transport)
                let started = Task {
                    // The call begins only once its task is known and can be cancelled.
                    while task.withLock({ $0 == nil }) { await Task.yield() }
                    try await finish(call, by: service)
                }
                task.withLock { $0 = started }
                switch await started.result {
                case .success: Issue.record("\(call) came to its end")
                case .failure(let error as SyncError): #expect(error.code == .operationCancelled)
                case .failure(let error as LogError): #expect(error.code == .cancelled)
                case .failure(let error): #expect(error is CancellationError, "\(call)")
                }
                // A call may have several threads, each of which reports once more.
                #expect(reportCount.withLock { $0 } < 5, "\(call)")
                // It can be made again.
                try await finish(call, by: hosted.files)
            }
        }
    }

    @Test func `A server sends progress to a slow client, and ends the call of a lost one`()
        async throws
    {
        let lines = Lines()
        try await ServerUnderTest.run(.live, logger: lines.logger) { server in
            let caller = Filled.caller("pad")
            let zones = ModifyZonesRequest(saves: [Filled.zone])
            _ = try await server.store.modifyZones(zones, as: caller)
            var position = SequenceNumber.zero
            // Together more than the buffers of the system hold on both sides. The last one is later
            // than what is asked for.
            for number in 0..<60 {
                position = server.store.lastSequence
                let bytes = [UInt8](repeating: UInt8(number), count: 500_000)
                let fields = try Fields(["bytes": .bytes(bytes)])
                try await server.store.saveNote(Filled.id("r\(number)"), fields, as: caller)
            }
            let secret = try await server.server.directory.addAdministrator(name: "ops")
            let call = RecordsCall(of: Filled.database, in: Filled.zone, asOf: position)
            let body = String(decoding: try JSONEncoder().encode(call), as: UTF8.self)
            let request =
                "POST /tidemark/1/administration/\(RecordsCall.name) HTTP/1.1\r\nHost: localhost\r\n"
                + "Authorization: Bearer \(secret)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body
            let port = try #require(server.client.port)

            let slow = try RawSocket(port: port)
            try slow.send(request)
            // Progress is sent twice a second, if there is any.
            try await Task.sleep(for: .seconds(3))
            var kinds: Set<String> = []
            var tail = Data()
            while !kinds.contains("answer") {
                let piece = try await slow.receive(within: 120_000)
                if piece.isEmpty { break }
                let window = tail + Data(piece)
                for kind in ["progress", "piece", "answer", "error"]
                where window.range(of: Data("{\"\(kind)\":".utf8)) != nil { kinds.insert(kind) }
                tail = Data(window.suffix(16))
            }
            #expect(kinds == ["progress", "piece", "answer"])

            do {
                let lost = try RawSocket(port: port)
                try lost.send(request)
                #expect(try await !lost.receive(within: 120_000).isEmpty)
            }
            try await waitUntil {
                lines.all.contains { line in
                    line["code"] as? String == "CONNECTION_LOST"
                        && line["endpoint"] as? String == "administration/\(RecordsCall.name)"
                }
            }
        }
    }
}
#endif
