// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Dispatch
import Testing
import TidemarkTesting

/// Code that waits for a callback by a semaphore, on whatever thread it has.
@Suite struct `Code that waits on its thread` {
    /// What is waited for.
    enum Call: String, CaseIterable {
        case save, fetch, query, changes, accountStatus

        /// Waits until it has ended; whether it has, and in time.
        func wait(_ container: CKContainer, _ zone: CKRecordZone.ID, _ number: Int) -> Bool {
            let database = container.privateCloudDatabase
            let isOver = DispatchSemaphore(value: 0)
            let id = CKRecord.ID(recordName: "\(number)", zoneID: zone)
            switch self {
            case .save:
                let record = CKRecord(recordType: "Note", recordID: id)
                database.save(record) { saved, _ in if saved != nil { isOver.signal() } }
            case .fetch:
                database.fetch(withRecordID: id) { record, _ in
                    if record != nil { isOver.signal() }
                }
            case .query:
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                database.fetch(withQuery: query, inZoneWith: zone) { result in
                    if case .success(let found) = result, !found.matchResults.isEmpty {
                        isOver.signal()
                    }
                }
            case .changes:
                let operation = CKFetchRecordZoneChangesOperation(
                    recordZoneIDs: [zone],
                    configurationsByRecordZoneID: [:]
                )
                operation.completionBlock = { isOver.signal() }
                database.add(operation)
            case .accountStatus:
                container.accountStatus { status, _ in
                    if status == .available { isOver.signal() }
                }
            }
            return isOver.wait(timeout: .now() + 60) == .success
        }
    }

    @Test(arguments: Call.allCases)
    func `Requests complete while every thread of tasks and queues is blocked`(
        _ call: Call
    ) async throws {
        let container = CloudFixture().container(on: "phone")
        let zone = CKRecordZone.ID(zoneName: "Notes")
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount
        for number in 0..<2 * count where call != .save {
            let record = CKRecord("Note", "\(number)", in: zone)
            try await container.privateCloudDatabase.save(record)
        }
        await holdUpEveryThread(count: count) { number in call.wait(container, zone, number) }
    }

    @Test func `Timeouts and retries work while every thread is blocked`() async throws {
        let (faulty, database) = faultyDatabase()
        faulty.hold()
        await holdUpEveryThread(count: 80) { _ in
            let isOver = DispatchSemaphore(value: 0)
            let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            operation.timeoutIntervalForRequest = 0.05
            operation.fetchRecordZonesResultBlock = { result in
                if (result.error as? CKError)?.code == .networkFailure { isOver.signal() }
            }
            database.add(operation)
            return isOver.wait(timeout: .now() + 60) == .success
        }
        faulty.release()
        faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.05, times: 3)
        await holdUpEveryThread(count: 80) { number in
            let isOver = DispatchSemaphore(value: 0)
            let operation = CKModifyRecordsOperation(recordsToSave: [
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\(number)"))
            ])
            operation.qualityOfService = .utility
            operation.modifyRecordsResultBlock = { result in
                if result.error == nil { isOver.signal() }
            }
            database.add(operation)
            return isOver.wait(timeout: .now() + 60) == .success
        }
    }
}

/// Calls a closure on every thread of tasks and of the global queue at once, and expects that each of
/// the calls is true.
///
/// It is called `count` times in tasks, and as often by the queue. On Linux, a queue whose threads are
/// all held up is given another one each second, behind what it was asked for before.
private func holdUpEveryThread(
    count: Int,
    _ wait: @escaping @Sendable (Int) -> Bool
) async {
    let answers = Heard<Bool>()
    let waiting = DispatchGroup()
    for number in 0..<count {
        waiting.enter()
        Task.detached {
            answers.add(wait(number))
            waiting.leave()
        }
        DispatchQueue.global().async(group: waiting) { answers.add(wait(count + number)) }
    }
    await withCheckedContinuation { continuation in
        waiting.notify(queue: .global()) { continuation.resume() }
    }
    #expect(answers.items == Array(repeating: true, count: 2 * count))
}
