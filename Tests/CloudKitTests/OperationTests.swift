// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing
import TidemarkModel
import TidemarkTesting

@Suite struct `Operations` {
    private func record(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    }

    @Test func `An operation calls its blocks serially, the completion block last`() async throws {
        let database = try await CloudFixture().database()
        let records = (0..<50).map { record("n\($0)") }
        let operation = CKModifyRecordsOperation(
            recordsToSave: records,
            recordIDsToDelete: [CKRecord.ID(recordName: "gone")]
        )
        let heard = Heard<String>()
        let running = Heard<Int>()
        let isInside = Inside()
        func tell(_ text: String) {
            running.add(isInside.enter())
            heard.add(text)
            Thread.sleep(forTimeInterval: 0.0005)
            isInside.leave()
        }
        operation.perRecordSaveBlock = { id, _ in tell(id.recordName) }
        operation.perRecordDeleteBlock = { id, _ in tell(id.recordName) }
        operation.modifyRecordsResultBlock = { _ in tell("result") }
        operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            tell("completion \(saved?.count ?? -1) \(deleted?.count ?? -1) \(error == nil)")
        }
        await operation.run { operation in
            let before = heard.items.count
            database.add(operation)
            // Nothing comes on the stack of whoever adds it.
            #expect(before == 0)
        }
        let expected =
            (0..<50).map { "n\($0)" } + ["gone", "result", "completion 50 1 true"]
        #expect(heard.items == expected)
        #expect(running.items.allSatisfy { $0 == 1 })
    }

    @Test func `An operation ends at once if it is cancelled while its service begins`()
        async throws
    {
        let isOver = Heard<Bool>()
        let calls = Heard<Bool>()
        // The service does not observe that nobody waits for it any more.
        let faulty = FaultyService { () async throws(SyncError) in
            calls.add(true)
            while isOver.items.isEmpty { try? await Task.sleep(for: .milliseconds(10)) }
            throw SyncError(.serviceUnavailable, "Too late.")
        }
        let cloud = TidemarkCloud(faulty)
        let database = TidemarkDevice(cloud, user: "anna").container().privateCloudDatabase
        for isCancelled in [true, false] {
            let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
            operation.configuration.timeoutIntervalForRequest = isCancelled ? 60 : 0.2
            let codes = Heard<CKError.Code?>()
            operation.fetchRecordsResultBlock = { codes.add(($0.error as? CKError)?.code) }
            let begin = ContinuousClock.now
            let count = calls.items.count
            database.add(operation)
            if isCancelled {
                try await calls.wait(for: count + 1)
                operation.cancel()
            }
            try await operation.hasFinished()
            #expect(codes.items == [isCancelled ? .operationCancelled : .networkFailure])
            #expect(begin.duration(to: .now) < .seconds(30))
        }
        isOver.add(true)
    }

    @Test func `A zone whose assets cannot be reached fails, and is fetched again`() async throws {
        let (faulty, database) = faultyDatabase()
        let zoneID = CKRecordZone.ID(zoneName: "Photos")
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let file = URL(filePath: NSTemporaryDirectory() + UUID().uuidString)
        try Data("bytes".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let photo = CKRecord(
            recordType: "Photo",
            recordID: CKRecord.ID(recordName: "p", zoneID: zoneID)
        )
        photo["file"] = CKAsset(fileURL: file)
        _ = try await database.save(photo)
        func fetch() async -> (records: Int, tokens: Int, code: CKError.Code?) {
            let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
            let records = Heard<CKRecord>()
            let ends = Heard<CKError.Code?>()
            operation.recordWasChangedBlock = { _, result in
                if case .success(let record) = result { records.add(record) }
            }
            let tokens = Heard<Bool>()
            operation.recordZoneFetchResultBlock = { _, result in
                if case .success = result { tokens.add(true) }
            }
            operation.fetchRecordZoneChangesResultBlock = {
                ends.add(($0.error as? CKError)?.code)
            }
            await operation.run { database.add($0) }
            return (records.items.count, tokens.items.count, ends.items.first ?? nil)
        }
        faulty.failNext(.download, with: SyncError(.networkUnavailable, "Nobody answers."))
        let failed = await fetch()
        #expect(failed == (0, 0, .networkUnavailable))
        let found = await fetch()
        #expect(found == (1, 1, nil))
    }

    @Test func `A query operation keeps the query that it was given`() async throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
        let operation = CKQueryOperation(query: query)
        query.sortDescriptors = nil
        #expect(operation.query?.sortDescriptors?.first?.key == "text")
        operation.query = nil
        #expect(operation.query == nil)
    }

    @Test func `An operation waits for its dependencies`() async throws {
        let (faulty, database) = faultyDatabase()
        let order = Heard<String>()
        let zoneID = CKRecordZone.ID(zoneName: "Notes")
        let zone = CKModifyRecordZonesOperation(recordZonesToSave: [CKRecordZone(zoneID: zoneID)])
        zone.modifyRecordZonesResultBlock = { _ in order.add("zone") }
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zoneID))
        let save = CKModifyRecordsOperation(recordsToSave: [note])
        save.addDependency(zone)
        save.modifyRecordsResultBlock = { result in
            order.add(result.error == nil ? "saved" : "failed")
        }
        let last = BlockOperation { order.add("last") }
        last.addDependency(save)
        faulty.hold()
        database.add(save)
        OperationQueue().addOperation(last)
        #expect(!save.isReady)
        database.add(zone)
        while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(order.items.isEmpty)
        #expect(zone.isExecuting)
        faulty.release()
        try await order.wait(for: 3)
        #expect(order.items == ["zone", "saved", "last"])
        #expect(zone.isFinished && save.isFinished)
    }

    @Test func `A cancelled operation reports it and saves nothing not yet begun`() async throws {
        let (faulty, database) = faultyDatabase()
        faulty.hold()
        let operation = CKModifyRecordsOperation(recordsToSave: [record("n")])
        let heard = Heard<CKError.Code?>()
        operation.perRecordSaveBlock = { _, _ in heard.add(nil) }
        operation.modifyRecordsResultBlock = { heard.add(($0.error as? CKError)?.code) }
        database.add(operation)
        while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        operation.cancel()
        try await heard.wait(for: 1)
        #expect(heard.items == [.operationCancelled])

        // One that was cancelled before it was added.
        let second = CKFetchRecordsOperation(recordIDs: [])
        let ends = Heard<CKError.Code?>()
        second.fetchRecordsResultBlock = { ends.add(($0.error as? CKError)?.code) }
        second.cancel()
        await second.run { database.add($0) }
        #expect(ends.items == [.operationCancelled])

        // A task that is cancelled cancels the operation it waits for.
        let task = Task { try await database.save(record("m")) }
        while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
        task.cancel()
        let error = await task.result.error as? CKError
        #expect(error?.code == .operationCancelled)
        faulty.release()
        try await Task.sleep(for: .milliseconds(50))
        #expect(
            await code { _ = try await database.record(for: record("m").recordID) } == .unknownItem
        )
    }

    @Test func `A test makes the save of one record fail, alone or with its atomic batch`()
        async throws
    {
        let (faulty, database) = faultyDatabase()
        let zone = CKRecordZone(zoneName: "notes")
        _ = try await database.save(zone)
        let records = ["a", "b"].map { name in
            CKRecord(
                recordType: "Note",
                recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID)
            )
        }
        func codes(atomically: Bool) async throws -> [CKError.Code?] {
            do {
                let results = try await database.modifyRecords(
                    saving: records,
                    deleting: [],
                    atomically: atomically
                ).saveResults
                return records.map { (results[$0.recordID]?.error as? CKError)?.code }
            } catch let error as CKError where error.code == .partialFailure {
                let errors = try #require(error.partialErrorsByItemID)
                return records.map { (errors[$0.recordID] as? CKError)?.code }
            }
        }
        faulty.failNextSave(ofRecordNamed: "b", with: .serverRecordChanged)
        #expect(try await codes(atomically: true) == [.batchRequestFailed, .serverRecordChanged])
        #expect(
            await code { _ = try await database.record(for: records[0].recordID) } == .unknownItem
        )
        faulty.failNextSave(ofRecordNamed: "b", with: .serverRecordChanged)
        #expect(try await codes(atomically: false) == [nil, .serverRecordChanged])
        #expect(try await codes(atomically: true) == [nil, nil])
    }

    @Test func `A partial failure names its causes`() async throws {
        let (_, database) = faultyDatabase()
        let nowhere = CKRecordZone.ID(zoneName: "nowhere")
        let records = (1...4).map { number in
            CKRecord(
                recordType: "Note",
                recordID: CKRecord.ID(recordName: "r\(number)", zoneID: nowhere)
            )
        }
        func text(_ count: Int) async -> String {
            let operation = CKModifyRecordsOperation(recordsToSave: Array(records.prefix(count)))
            return await withCheckedContinuation { continuation in
                operation.modifyRecordsCompletionBlock = { _, _, error in
                    continuation.resume(returning: error?.localizedDescription ?? "")
                }
                database.add(operation)
            }
        }
        #expect(
            await text(1) == "1 item of the request failed. record r1: zoneNotFound: "
                + "There is no zone nowhere."
        )
        let four = await text(4)
        #expect(four.hasPrefix("4 items of the request failed. record r1: zoneNotFound: "))
        #expect(four.hasSuffix("record r3: zoneNotFound: There is no zone nowhere. And 1 more."))
    }

    @Test func `Operations are retried only at utility quality of service or lower`() async throws {
        let (faulty, database) = faultyDatabase()
        faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.05)
        do {
            _ = try await database.save(record("n"))
            Issue.record("the save was repeated")
        } catch let error as CKError {
            #expect(error.code == .zoneBusy)
            #expect(error.retryAfterSeconds == 0.05)
        }
        faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.05, times: 3)
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        let began = ContinuousClock.now
        try await database.configuredWith(configuration: configuration) { database in
            _ = try await database.save(record("n"))
        }
        #expect(ContinuousClock.now - began >= .milliseconds(150))
        // What repeating does not help is not repeated.
        faulty.failNext(.save, with: .quotaExceeded)
        await #expect(throws: CKError.self) {
            try await database.configuredWith(configuration: configuration) { database in
                _ = try await database.save(record("m"))
            }
        }
        // However much time there is.
        for seconds in [TimeInterval.infinity, .greatestFiniteMagnitude] {
            configuration.timeoutIntervalForResource = seconds
            configuration.timeoutIntervalForRequest = seconds
            faulty.failNext(.save, with: .zoneBusy, retryAfter: 0.05)
            try await database.configuredWith(configuration: configuration) { database in
                _ = try await database.save(record("n\(seconds)"))
            }
        }
        configuration.timeoutIntervalForRequest = 60
        // Nothing is, when the time for it is up.
        configuration.timeoutIntervalForResource = 0.1
        faulty.failNext(.fetch, with: .serviceUnavailable, retryAfter: 60)
        let late = await code {
            try await database.configuredWith(configuration: configuration) { database in
                _ = try await database.allRecordZones()
            }
        }
        #expect(late == .serviceUnavailable)
    }

    @Test func `An operation fails if a request takes too long`() async throws {
        let (faulty, database) = faultyDatabase()
        faulty.hold()
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForRequest = 0.05
        await database.configuredWith(configuration: configuration) { database in
            #expect(await code { _ = try await database.allRecordZones() } == .networkFailure)
            #expect(await code { _ = try await database.save(record("n")) } == .serverResponseLost)
        }
        faulty.release()
    }

    @Test func `An operation inherits settings from its group, then its database`() async throws {
        let database = try await CloudFixture().database()
        let group = CKOperationGroup()
        group.name = "upload"
        group.defaultConfiguration.qualityOfService = .background
        group.defaultConfiguration.timeoutIntervalForRequest = 7
        let operation = CKModifyRecordsOperation()
        #expect(operation.qualityOfService == .default)
        #expect(operation.timeoutIntervalForRequest == 60)
        operation.group = group
        #expect(operation.qualityOfService == .background)
        operation.configuration.qualityOfService = .userInitiated
        #expect(operation.qualityOfService == .userInitiated)
        #expect(operation.timeoutIntervalForRequest == 7)
        let configuration = CKOperation.Configuration()
        configuration.timeoutIntervalForResource = 9
        database.configuredWith(configuration: configuration) { database in
            operation.database = database
        }
        #expect(operation.timeoutIntervalForResource == 9)
        #expect(operation.timeoutIntervalForRequest == 7)
        operation.configuration = nil
        #expect(operation.qualityOfService == .background)
    }

    @Test func `An operation runs on any queue, and without a queue`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database()
        let first = CKModifyRecordsOperation(recordsToSave: [record("a")])
        first.database = database
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        await first.run { queue.addOperation($0) }
        let second = CKFetchRecordsOperation(recordIDs: [record("a").recordID])
        second.database = database
        let found = Heard<CKRecord>()
        second.perRecordResultBlock = { _, result in
            if case .success(let record) = result { found.add(record) }
        }
        await second.run { $0.start() }
        #expect(found.items.count == 1)
        // One that was made while a device's code runs belongs to that device.
        let device = fixture.device("phone")
        let third = device.run { CKFetchRecordsOperation(recordIDs: [record("a").recordID]) }
        third.perRecordResultBlock = { _, result in
            if case .success(let record) = result { found.add(record) }
        }
        await third.run { $0.start() }
        #expect(found.items.count == 2)
    }

    @Test func `An unsupported operation fails with serverRejectedRequest`() async throws {
        let database = try await CloudFixture().database()
        let operation = CKFetchWebAuthTokenOperation(apiToken: "token")
        let heard = Heard<CKError?>()
        operation.fetchWebAuthTokenResultBlock = { heard.add($0.error as? CKError) }
        await operation.run { database.add($0) }
        #expect(heard.items.first??.code == .serverRejectedRequest)
    }

    @Test func `An operation detects a concurrent change by another device`() async throws {
        let fixture = CloudFixture()
        let faulty = FaultyService(fixture.cloud)
        let phone = TidemarkDevice(TidemarkCloud(faulty), user: "anna", name: "phone").container()
            .privateCloudDatabase
        let laptop = fixture.device("laptop").container("iCloud.tidemark").privateCloudDatabase
        let saved = try await phone.save(record("n"))
        faulty.beforeNextWrite {
            let other = try? await laptop.record(for: saved.recordID)
            other?["text"] = "first"
            if let other { _ = try? await laptop.save(other) }
        }
        saved["text"] = "second"
        #expect(await code { _ = try await phone.save(saved) } == .serverRecordChanged)
    }
}

/// How many threads are inside.
private final class Inside: @unchecked Sendable {
    // Behind the lock.
    private var count = 0
    private let lock = NSLock()

    func enter() -> Int {
        lock.withLock {
            count += 1
            return count
        }
    }

    func leave() { lock.withLock { count -= 1 } }
}
