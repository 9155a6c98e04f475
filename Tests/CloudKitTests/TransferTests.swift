// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkModel
import TidemarkTesting

@testable import CloudKit
@testable import TidemarkCloudKit

/// The time limits of requests, and as whom they are made.
@Suite struct TransferTests {
    private let late = SyncError(.networkFailure, "Late.")

    @Test func `A transfer continues as long as pieces come`() async throws {
        let pulse = Pulse()
        let sent = try await FirstOutcome.of(seconds: 0.5, pulse, late: late) {
            () async throws(SyncError) -> Int in
            for _ in 0..<20 {
                await pause(seconds: 0.1)
                pulse.beat()
            }
            return pulse.beats
        }
        #expect(sent == 20)
        let error = await #expect(throws: SyncError.self) {
            try await FirstOutcome.of(seconds: 0.2, pulse, late: late) {
                () async throws(SyncError) in await pause(seconds: 60)
            }
        }
        #expect(error == late)
    }

    @Test func `Each piece of a file beats`() async throws {
        let folder = try ScratchFolder()
        let url = URL(filePath: folder.path("file"))
        try Data(0..<10).write(to: url)
        let pulse = Pulse()
        for try await _ in FilePieces(url: url, byteCount: 4, pulse: pulse) {}
        // The end of the file is found by one more read.
        #expect(pulse.beats == 4)
    }

    @Test func `A request timeout of zero is no limit of its own`() async throws {
        let faulty = FaultyService(.temporary())
        let device = TidemarkDevice(TidemarkCloud(faulty), user: "anna")
        let database = device.container().privateCloudDatabase
        _ = try await database.allRecordZones()
        faulty.hold()
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        operation.configuration.timeoutIntervalForRequest = 0
        let zones = try await withCheckedThrowingContinuation { continuation in
            operation.fetchRecordZonesCompletionBlock = { zones, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success(zones?.count))
            }
            database.add(operation)
            Task {
                try await Task.sleep(for: .milliseconds(300))
                faulty.release()
            }
        }
        #expect(zones == 1)
    }

    @Test func `An operation of a sync engine is made as the user whose account was checked`()
        async throws
    {
        let cloud = TidemarkCloud.temporary(userNames: .same)
        let device = TidemarkDevice(cloud, user: "anna", name: "phone")
        var defaults = OperationDefaults()
        defaults.account = CheckedAccount(user: device.userID)
        device.signIn("bert")
        let container = device.container()
        let annas = CKDatabase(.private, of: container.model, device, defaults)
        _ = try await annas.save(CKRecord(recordType: "Note", recordID: .init(recordName: "n")))
        let error = await #expect(throws: CKError.self) {
            try await container.privateCloudDatabase.record(for: .init(recordName: "n"))
        }
        #expect(error?.code == .unknownItem)
        device.signIn("anna")
        _ = try await container.privateCloudDatabase.record(for: .init(recordName: "n"))
    }

    @Test func `Kept files of an earlier answer are not those of a later one`() throws {
        let folder = try ScratchFolder()
        let files = KeptFiles(folder: URL(filePath: folder.path("kept")))
        for name in ["old", "new"] {
            try Data(name.utf8).write(to: URL(filePath: folder.path(name)))
        }
        files.keep(URL(filePath: folder.path("old")), as: 0)
        let reference = AssetReference(checksum: [UInt8](repeating: 1, count: 32), byteCount: 3)
        let file = TemporaryFile(at: URL(filePath: folder.path("new")))
        let asset = CKAsset(.fetched(reference, file))
        let record = CKRecord(recordType: "Note")
        record["file"] = asset
        let answer = KeptAnswer(
            reports: [.fetched(record.recordID, .success(record))],
            error: nil
        )
        _ = answer.archived(at: Date(), files)
        let kept = try #require(files.take(0))
        #expect(try Data(contentsOf: kept.url) == Data("new".utf8))
    }
}
