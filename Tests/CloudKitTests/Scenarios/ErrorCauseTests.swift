// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkTesting

/// Every error code, as a program of CloudKit meets it: by a real cause, through the module and the store;
/// where the cause is a network, through a service that has one.
@Suite struct `An error code` {
    typealias Code = CKError.Code

    /// Codes without a cause in this suite, and why; `Docs/cloudkit.md` says so too.
    static let withoutCause: [Code: String] = [
        .missingEntitlement: "of programs without the client: ConsumerPackageTests",
        .resultsTruncated: "obsolete: answers come in pages",
        .constraintViolation: "no field of a record is unique; operators meet it, programs do not",
        .managedAccountRestricted: "accounts have a status here, and no policies",
    ]

    static let causes: [Code: @Sendable () async throws -> CKError?] = [
        .internalError: internalError, .partialFailure: partialFailure,
        .networkUnavailable: networkUnavailable, .networkFailure: networkFailure,
        .badContainer: badContainer, .serviceUnavailable: serviceUnavailable,
        .requestRateLimited: requestRateLimited, .notAuthenticated: notAuthenticated,
        .permissionFailure: permissionFailure, .unknownItem: unknownItem,
        .invalidArguments: invalidArguments, .serverRecordChanged: serverRecordChanged,
        .serverRejectedRequest: serverRejectedRequest, .assetFileNotFound: assetFileNotFound,
        .assetFileModified: assetFileModified, .incompatibleVersion: incompatibleVersion,
        .operationCancelled: operationCancelled, .changeTokenExpired: changeTokenExpired,
        .batchRequestFailed: batchRequestFailed, .zoneBusy: zoneBusy, .badDatabase: badDatabase,
        .quotaExceeded: quotaExceeded, .zoneNotFound: zoneNotFound,
        .limitExceeded: limitExceeded, .userDeletedZone: userDeletedZone,
        .tooManyParticipants: tooManyParticipants, .alreadyShared: alreadyShared,
        .referenceViolation: referenceViolation,
        .participantMayNeedVerification: participantMayNeedVerification,
        .serverResponseLost: serverResponseLost, .assetNotAvailable: assetNotAvailable,
        .accountTemporarilyUnavailable: accountTemporarilyUnavailable,
        .participantAlreadyInvited: participantAlreadyInvited,
    ]

    @Test func `Every code has a test that causes it, or a reason why it has none`() {
        let all = (1...37).compactMap { Code(rawValue: $0) }
        #expect(all.count == 37)
        #expect(Set(Self.causes.keys).union(Self.withoutCause.keys) == Set(all))
        #expect(Set(Self.causes.keys).isDisjoint(with: Self.withoutCause.keys))
    }

    @Test(arguments: causes.keys.sorted { $0.rawValue < $1.rawValue })
    func `The cause of a code leads to an error with that code`(code: Code) async throws {
        let cause = try #require(Self.causes[code])
        let error = try #require(try await cause())
        #expect(error.code == code, "\(error)")
        // As programs look at it that know nothing but NSError.
        let object = error as NSError
        #expect(object.domain == CKErrorDomain)
        #expect(object.code == code.rawValue)
        let text = object.userInfo[NSLocalizedDescriptionKey] as? String
        #expect(text?.isEmpty == false)
        #expect(object.localizedDescription == text)
        #expect(object.userInfo["CKErrorDescription"] as? String == text)
        // What comes with some codes, and with no others.
        let waits: Set<Code> = [.serviceUnavailable, .requestRateLimited, .zoneBusy]
        #expect((error.retryAfterSeconds != nil) == waits.contains(code))
        #expect((object.userInfo[CKErrorRetryAfterKey] as? Double) == error.retryAfterSeconds)
        let records = [error.serverRecord, error.clientRecord, error.ancestorRecord]
        #expect(records.allSatisfy { ($0 != nil) == (code == .serverRecordChanged) })
        #expect((error.partialErrorsByItemID != nil) == (code == .partialFailure))
        #expect(object.userInfo[CKErrorUserDidResetEncryptedDataKey] == nil)
    }

    // MARK: Helpers

    /// The error of a call; `nil` if it succeeds.
    private static func error<Answer>(_ call: () async throws -> Answer) async throws -> CKError? {
        do {
            _ = try await call()
            return nil
        } catch let error as CKError {
            return error
        }
    }

    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private static func cloud(_ set: (inout StoreOptions) -> Void = { _ in }) -> TidemarkCloud {
        var options = StoreOptions()
        options.durability = .none
        set(&options)
        return .temporary(options: options)
    }

    private static func anna(
        _ set: (inout StoreOptions) -> Void = { _ in }
    ) -> CKDatabase {
        TidemarkDevice(cloud(set), user: "anna").container().privateCloudDatabase
    }

    /// A database with a zone.
    private static func notes(
        _ set: (inout StoreOptions) -> Void = { _ in }
    ) async throws -> CKDatabase {
        let database = anna(set)
        try await database.save(CKRecordZone(zoneID: zoneID))
        return database
    }

    private static func note(_ name: String, in zone: CKRecordZone.ID = zoneID) -> CKRecord {
        let record = CKRecord("Note", name, in: zone)
        record["text"] = "Text of \(name)"
        return record
    }

    /// A store on disk, which goes with the test.
    private static func withStore<Answer>(
        _ body: (String) async throws -> Answer
    ) async throws -> Answer {
        let folder = try ScratchFolder()
        return try await body(folder.path())
    }

    // MARK: The service

    @Sendable private static func internalError() async throws -> CKError? {
        try await withStore { path in
            try Data("no store".utf8).write(to: URL(fileURLWithPath: path))
            let device = TidemarkDevice(TidemarkCloud(storeAt: path), user: "anna")
            let database = device.container().privateCloudDatabase
            return try await error { try await database.allRecordZones() }
        }
    }

    @Sendable private static func incompatibleVersion() async throws -> CKError? {
        try await withStore { path in
            let cloud = TidemarkCloud(storeAt: path)
            _ = try await cloud.service()
            await cloud.close()
            // A version from the future, and the header's checksum over it.
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            let name = try #require(names.first { $0.hasPrefix("manifest") })
            let file = URL(fileURLWithPath: path + "/" + name)
            var bytes = Array(try Data(contentsOf: file))
            for offset in [8, 10] { bytes.replaceSubrange(offset..<offset + 2, with: [9, 0]) }
            let checksum = xxh3(Array(bytes[0..<248]).span.bytes, seed: 0)
            for index in 0..<8 {
                bytes[248 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * index))
            }
            try Data(bytes).write(to: file)
            let device = TidemarkDevice(TidemarkCloud(storeAt: path), user: "anna")
            let database = device.container().privateCloudDatabase
            return try await error { try await database.allRecordZones() }
        }
    }

    @Sendable private static func serviceUnavailable() async throws -> CKError? {
        let database = anna { $0.throttling.writesPerStore = 0 }
        return try await error { try await database.save(note("a", in: .default)) }
    }

    @Sendable private static func requestRateLimited() async throws -> CKError? {
        let database = anna { $0.throttling.requestsPerDevice = .init(1, per: .seconds(3_600)) }
        _ = try? await database.allRecordZones()
        return try await error { try await database.allRecordZones() }
    }

    @Sendable private static func zoneBusy() async throws -> CKError? {
        let database = anna { $0.throttling.writesPerZone = 0 }
        return try await error { try await database.save(note("a", in: .default)) }
    }

    @Sendable private static func networkUnavailable() async throws -> CKError? {
        let (faulty, database) = faultyDatabase()
        faulty.failNext(.fetch, with: .networkUnavailable)
        let found = try await error { try await database.allRecordZones() }
        _ = try await database.allRecordZones()
        return found
    }

    /// A call that the service does not answer in time.
    private static func late(
        _ operation: CKDatabaseOperation,
        _ hear: (@escaping @Sendable ((any Error)?) -> Void) -> Void
    ) async throws -> CKError? {
        let (faulty, database) = faultyDatabase()
        faulty.hold()
        defer { faulty.release() }
        // Long enough for a busy machine to come to the call.
        operation.configuration.timeoutIntervalForRequest = 1
        let heard = Heard<(any Error)?>()
        hear { heard.add($0) }
        database.add(operation)
        try await heard.wait(for: 1)
        return heard.items.first.flatMap { $0 } as? CKError
    }

    @Sendable private static func networkFailure() async throws -> CKError? {
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a")])
        return try await late(operation) { hear in
            operation.fetchRecordsResultBlock = { hear($0.error) }
        }
    }

    @Sendable private static func serverResponseLost() async throws -> CKError? {
        let operation = CKModifyRecordsOperation(recordsToSave: [note("a", in: .default)])
        return try await late(operation) { hear in
            operation.modifyRecordsResultBlock = { hear($0.error) }
        }
    }

    @Sendable private static func operationCancelled() async throws -> CKError? {
        let (faulty, database) = faultyDatabase()
        faulty.hold()
        defer { faulty.release() }
        let task = Task { try await error { try await database.allRecordZones() } }
        while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(2)) }
        task.cancel()
        return try await task.value
    }

    @Sendable private static func serverRejectedRequest() async throws -> CKError? {
        let operation = CKFetchWebAuthTokenOperation(apiToken: "token")
        let heard = Heard<(any Error)?>()
        operation.fetchWebAuthTokenResultBlock = { heard.add($0.error) }
        let database = anna()
        await operation.run { database.add($0) }
        return heard.items.first.flatMap { $0 } as? CKError
    }

    // MARK: Who and where

    @Sendable private static func badContainer() async throws -> CKError? {
        let cloud = cloud { $0.containers = [ContainerID("iCloud.one")] }
        let device = TidemarkDevice(cloud, user: "anna")
        _ = try await device.container("iCloud.one").privateCloudDatabase.allRecordZones()
        let database = device.container("iCloud.two").privateCloudDatabase
        return try await error { try await database.allRecordZones() }
    }

    @Sendable private static func notAuthenticated() async throws -> CKError? {
        let database = TidemarkDevice(cloud(), user: nil).container().privateCloudDatabase
        return try await error { try await database.allRecordZones() }
    }

    @Sendable private static func accountTemporarilyUnavailable() async throws -> CKError? {
        let cloud = cloud()
        let store = try #require(try await cloud.service() as? Store)
        var account = UserAccount(UserID("anna"))
        account.status = .temporarilyUnavailable
        let container = TidemarkDevice(cloud, user: "anna").container("iCloud.one")
        try await store.setUser(account, of: ContainerID("iCloud.one"))
        #expect(try await container.accountStatus() == .temporarilyUnavailable)
        return try await error { try await container.privateCloudDatabase.allRecordZones() }
    }

    @Sendable private static func permissionFailure() async throws -> CKError? {
        let cloud = cloud()
        let mine = TidemarkDevice(cloud, user: "anna").container().publicCloudDatabase
        try await mine.save(note("a", in: .default))
        let theirs = TidemarkDevice(cloud, user: "ben").container().publicCloudDatabase
        let record = try await theirs.record(for: CKRecord.ID(recordName: "a"))
        record["text"] = "Mine"
        return try await error { try await theirs.save(record) }
    }

    @Sendable private static func badDatabase() async throws -> CKError? {
        let database = TidemarkDevice(cloud(), user: "anna").container().publicCloudDatabase
        return try await error { try await database.save(CKRecordZone(zoneID: zoneID)) }
    }

    // MARK: Records

    @Sendable private static func partialFailure() async throws -> CKError? {
        let database = anna()
        let id = CKRecord.ID(recordName: "missing")
        let operation = CKFetchRecordsOperation(recordIDs: [id])
        let heard = Heard<(any Error)?>()
        operation.fetchRecordsCompletionBlock = { heard.add($1) }
        await operation.run { database.add($0) }
        let error = heard.items.first.flatMap { $0 } as? CKError
        #expect((error?.partialErrorsByItemID?[id] as? CKError)?.code == .unknownItem)
        let byID = error?.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: NSError]
        #expect(byID?[id]?.code == CKError.unknownItem.rawValue)
        return error
    }

    @Sendable private static func unknownItem() async throws -> CKError? {
        let database = anna()
        return try await error {
            try await database.record(for: CKRecord.ID(recordName: "missing"))
        }
    }

    @Sendable private static func invalidArguments() async throws -> CKError? {
        let query = CKQuery(
            recordType: "Note",
            predicate: NSPredicate(format: "text LIKE %@", "T*")
        )
        let database = anna()
        return try await error { try await database.records(matching: query) }
    }

    @Sendable private static func serverRecordChanged() async throws -> CKError? {
        let cloud = cloud()
        let phone = TidemarkDevice(cloud, user: "anna", name: "phone").container()
        let laptop = TidemarkDevice(cloud, user: "anna", name: "laptop").container()
        let mine = try await phone.privateCloudDatabase.save(note("a", in: .default))
        let theirs = try await laptop.privateCloudDatabase.record(for: mine.recordID)
        theirs["text"] = "Theirs"
        try await laptop.privateCloudDatabase.save(theirs)
        mine["text"] = "Mine"
        let error = try await error { try await phone.privateCloudDatabase.save(mine) }
        #expect(error?.serverRecord?["text"] == "Theirs")
        #expect(error?.clientRecord?["text"] == "Mine")
        #expect(error?.ancestorRecord?["text"] == "Text of a")
        return error
    }

    @Sendable private static func batchRequestFailed() async throws -> CKError? {
        let database = try await notes()
        try await database.save(note("taken"))
        let batch = [note("innocent"), note("taken")]
        let whole = try await error {
            try await database.modifyRecords(saving: batch, deleting: [])
        }
        return whole?.partialErrorsByItemID?[batch[0].recordID] as? CKError
    }

    @Sendable private static func referenceViolation() async throws -> CKError? {
        let database = try await notes()
        let child = note("child")
        child.setParent(note("nobody"))
        return try await error { try await database.save(child) }
    }

    @Sendable private static func limitExceeded() async throws -> CKError? {
        let database = try await notes()
        let batch = (0...400).map { note("n\($0)") }
        return try await error { try await database.modifyRecords(saving: batch, deleting: []) }
    }

    @Sendable private static func quotaExceeded() async throws -> CKError? {
        let database = anna { $0.limits.bytesPerPrivateDatabase = 10 }
        return try await error { try await database.save(note("a", in: .default)) }
    }

    // MARK: Zones and tokens

    @Sendable private static func zoneNotFound() async throws -> CKError? {
        let database = anna()
        return try await error { try await database.save(note("a")) }
    }

    @Sendable private static func userDeletedZone() async throws -> CKError? {
        let cloud = cloud()
        let database = TidemarkDevice(cloud, user: "anna").container("iCloud.one")
            .privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        // What the system's settings do, and no program.
        let user = UserID(try await cloud.userRecordName(of: "anna", in: "iCloud.one"))
        let place = DatabaseID(container: ContainerID("iCloud.one"), owner: user)
        let purge = ModifyZonesRequest(
            deletions: [ZoneID(zoneName: "Notes")],
            deletionReason: .purged
        )
        _ = try await cloud.service()
            .modifyZones(purge, as: Caller(database: place, user: user))
        return try await error { try await database.save(note("a")) }
    }

    @Sendable private static func changeTokenExpired() async throws -> CKError? {
        let database = try await notes()
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
            .changeToken
        try await database.deleteRecordZone(withID: zoneID)
        try await database.save(CKRecordZone(zoneID: zoneID))
        return try await error {
            try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
        }
    }

    // MARK: Assets

    private static func photo(_ file: URL) -> CKRecord {
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "sea"))
        record["image"] = CKAsset(fileURL: file)
        return record
    }

    private static func withFile<Answer>(
        _ body: (URL) async throws -> Answer
    ) async throws -> Answer {
        let folder = try ScratchFolder()
        let file = folder.url.appending(path: "asset")
        try Data("bytes".utf8).write(to: file)
        return try await body(file)
    }

    @Sendable private static func assetFileNotFound() async throws -> CKError? {
        let database = anna()
        let nowhere = URL(fileURLWithPath: "/nowhere/\(UUID().uuidString)")
        return try await error { try await database.save(photo(nowhere)) }
    }

    @Sendable private static func assetFileModified() async throws -> CKError? {
        try await withFile { file in
            let (faulty, database) = faultyDatabase()
            faulty.hold()
            let save = Task { try await error { try await database.save(photo(file)) } }
            while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(2)) }
            try Data("other bytes".utf8).write(to: file)
            faulty.release()
            let found = try await save.value
            // Saved again, it is what it is now.
            try await database.save(photo(file))
            return found
        }
    }

    @Sendable private static func assetNotAvailable() async throws -> CKError? {
        try await withStore { path in
            let device = TidemarkDevice(TidemarkCloud(storeAt: path), user: "anna")
            let database = device.container().privateCloudDatabase
            try await withFile { file in _ = try await database.save(photo(file)) }
            try FileManager.default.removeItem(atPath: path + "/assets")
            return try await error {
                try await database.record(for: CKRecord.ID(recordName: "sea"))
            }
        }
    }

    // MARK: Sharing

    /// A list that is shared with others, the link, and why it could not be.
    private static func shared(
        participants limit: Int = 100,
        _ edit: (CKShare, CKContainer) async throws -> Void = { _, _ in }
    ) async throws -> (cloud: TidemarkCloud, list: CKRecord, url: URL?, error: CKError?) {
        let cloud = cloud { $0.limits.participantsPerShare = limit }
        let store = try #require(try await cloud.service() as? Store)
        for name in ["ben", "cleo"] {
            var account = UserAccount(UserID(name))
            account.emails = ["\(name)@example.org"]
            try await store.setUser(account)
        }
        let container = TidemarkDevice(cloud, user: "anna").container()
        let database = container.privateCloudDatabase
        try await database.save(CKRecordZone(zoneID: zoneID))
        let list = try await database.save(note("list"))
        let share = CKShare(rootRecord: list)
        try await edit(share, container)
        let operation = CKModifyRecordsOperation(recordsToSave: [list, share])
        let heard = Heard<Result<CKShare?, any Error>>()
        operation.perRecordSaveBlock = { id, result in
            if id == share.recordID { heard.add(result.map { $0 as? CKShare }) }
        }
        await operation.run { database.add($0) }
        let outcome = try #require(heard.items.first)
        return (cloud, list, try? outcome.get()?.url, outcome.error as? CKError)
    }

    @Sendable private static func tooManyParticipants() async throws -> CKError? {
        try await shared(participants: 2) { share, container in
            for name in ["ben", "cleo"] {
                let email = "\(name)@example.org"
                share.addParticipant(
                    try await container.shareParticipant(forEmailAddress: email)
                )
            }
        }.error
    }

    @Sendable private static func alreadyShared() async throws -> CKError? {
        let (cloud, list, _, refused) = try await shared()
        #expect(refused == nil)
        let database = TidemarkDevice(cloud, user: "anna").container().privateCloudDatabase
        let root = try await database.record(for: list.recordID)
        let second = CKShare(rootRecord: root)
        let result = try await database.modifyRecords(
            saving: [root, second],
            deleting: [],
            atomically: false
        )
        return result.saveResults[second.recordID]?.error as? CKError
    }

    @Sendable private static func participantMayNeedVerification() async throws -> CKError? {
        let (cloud, _, link, refused) = try await shared { share, container in
            let email = "nobody@example.org"
            share.addParticipant(try await container.shareParticipant(forEmailAddress: email))
        }
        #expect(refused == nil)
        let url = try #require(link)
        let ben = TidemarkDevice(cloud, user: "ben").container()
        return try await error { try await ben.shareMetadata(for: url) }
    }

    @Sendable private static func participantAlreadyInvited() async throws -> CKError? {
        let (cloud, _, link, refused) = try await shared { share, container in
            let email = "ben@example.org"
            share.addParticipant(try await container.shareParticipant(forEmailAddress: email))
            share.allowsAccessRequests = true
        }
        #expect(refused == nil)
        let operation = CKShareRequestAccessOperation(shareURLs: [try #require(link)])
        let heard = Heard<(any Error)?>()
        operation.perShareAccessRequestResultBlock = { _, result in heard.add(result.error) }
        let ben = TidemarkDevice(cloud, user: "ben").container()
        await operation.run { ben.add($0) }
        return heard.items.first.flatMap { $0 } as? CKError
    }
}
