// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Dispatch
import Testing

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
                database.perform(query, inZoneWith: zone) { records, _ in
                    if records?.isEmpty == false { isOver.signal() }
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
    func `is answered while it holds up every thread of tasks and queues`(
        _ call: Call
    ) async throws {
        let container = CloudFixture().container(on: "phone")
        let zone = CKRecordZone.ID(zoneName: "Notes")
        try await container.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        let count = 2 * ProcessInfo.processInfo.activeProcessorCount
        for number in 0..<2 * count {
            let record = CKRecord(
                recordType: "Note",
                recordID: CKRecord.ID(recordName: "\(number)", zoneID: zone)
            )
            if call != .save { try await container.privateCloudDatabase.save(record) }
        }
        let answers = Heard<Bool>()
        let waiting = DispatchGroup()
        for number in 0..<count {
            waiting.enter()
            Task.detached {
                answers.add(call.wait(container, zone, number))
                waiting.leave()
            }
            DispatchQueue.global().async(group: waiting) {
                answers.add(call.wait(container, zone, count + number))
            }
        }
        await withCheckedContinuation { continuation in
            waiting.notify(queue: .global()) { continuation.resume() }
        }
        #expect(answers.items == Array(repeating: true, count: 2 * count))
    }
}
