// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
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
                    // It works only once it is known, and can be cancelled.
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
}
#endif
