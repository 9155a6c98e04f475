// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// The newer block of a whole operation fails if the request failed, not if items of it did.
@Suite(.needsCloud) struct `Result blocks` {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private let nowhere = CKRecordZone.ID(zoneName: "Nowhere")
    private let link = URL(filePath: "/share/unknown")

    /// The codes that the blocks of the items, of the whole operation and the older one received.
    private struct Codes {
        let item = Heard<CKError.Code?>()
        let whole = Heard<CKError.Code?>()
        let older = Heard<CKError.Code?>()

        func expect(_ item: CKError.Code) {
            #expect(self.item.items == [item])
            #expect(whole.items == [nil])
            #expect(older.items == [.partialFailure])
        }
    }

    private func code(_ error: (any Error)?) -> CKError.Code? { (error as? CKError)?.code }

    @Test func `Records that were not fetched are no failure of the fetch`() async throws {
        let database = try await CloudFixture().database()
        let codes = Codes()
        let operation = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "missing")])
        operation.perRecordResultBlock = { codes.item.add(code($1.error)) }
        operation.fetchRecordsResultBlock = { codes.whole.add(code($0.error)) }
        operation.fetchRecordsCompletionBlock = { codes.older.add(code($1)) }
        await operation.run { database.add($0) }
        codes.expect(.unknownItem)
    }

    @Test func `A record in conflict is no failure of the save`() async throws {
        let database = try await CloudFixture().database(zone: zoneID)
        let id = CKRecord.ID(recordName: "a", zoneID: zoneID)
        _ = try await database.save(CKRecord(recordType: "Note", recordID: id))
        let codes = Codes()
        let again = CKRecord(recordType: "Note", recordID: id)
        let operation = CKModifyRecordsOperation(recordsToSave: [again])
        operation.perRecordSaveBlock = { codes.item.add(code($1.error)) }
        operation.modifyRecordsResultBlock = { codes.whole.add(code($0.error)) }
        operation.modifyRecordsCompletionBlock = { codes.older.add(code($2)) }
        await operation.run { database.add($0) }
        codes.expect(.serverRecordChanged)
    }

    @Test func `A record whose asset is gone fails in the older blocks of queries and changes`()
        async throws
    {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = URL(filePath: folder + "/file")
        try Data("bytes".utf8).write(to: file)
        let path = folder + "/store.tide"
        let device = TidemarkDevice(TidemarkCloud(storeAt: path), user: "anna")
        let database = device.container().privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let photo = CKRecord(
            recordType: "Photo",
            recordID: CKRecord.ID(recordName: "p", zoneID: zoneID)
        )
        photo["file"] = CKAsset(fileURL: file)
        _ = try await database.save(photo)
        try FileManager.default.removeItem(atPath: path + "/assets")

        let found = Codes()
        let query = CKQueryOperation(
            query: CKQuery(recordType: "Photo", predicate: NSPredicate(value: true))
        )
        query.zoneID = zoneID
        query.recordMatchedBlock = { found.item.add(code($1.error)) }
        query.queryResultBlock = { found.whole.add(code($0.error)) }
        query.queryCompletionBlock = { found.older.add(code($1)) }
        await query.run { database.add($0) }
        found.expect(.assetNotAvailable)

        let changes = Codes()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zoneID])
        fetch.recordWasChangedBlock = { changes.item.add(code($1.error)) }
        fetch.fetchRecordZoneChangesResultBlock = { changes.whole.add(code($0.error)) }
        fetch.fetchRecordZoneChangesCompletionBlock = { changes.older.add(code($0)) }
        await fetch.run { database.add($0) }
        changes.expect(.assetNotAvailable)
    }

    @Test func `A zone that was not fetched is no failure of the fetch`() async throws {
        let database = try await CloudFixture().database()
        let zones = Codes()
        let list = CKFetchRecordZonesOperation(recordZoneIDs: [nowhere])
        list.perRecordZoneResultBlock = { zones.item.add(code($1.error)) }
        list.fetchRecordZonesResultBlock = { zones.whole.add(code($0.error)) }
        list.fetchRecordZonesCompletionBlock = { zones.older.add(code($1)) }
        await list.run { database.add($0) }
        zones.expect(.zoneNotFound)

        let changes = Codes()
        let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [nowhere])
        fetch.recordZoneFetchResultBlock = { changes.item.add(code($1.error)) }
        fetch.fetchRecordZoneChangesResultBlock = { changes.whole.add(code($0.error)) }
        fetch.fetchRecordZoneChangesCompletionBlock = { changes.older.add(code($0)) }
        await fetch.run { database.add($0) }
        changes.expect(.zoneNotFound)
    }

    @Test func `A subscription to no zone is no failure of the request`() async throws {
        let database = try await CloudFixture().database()
        let codes = Codes()
        let subscription = CKRecordZoneSubscription(zoneID: nowhere, subscriptionID: "s")
        let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription])
        operation.perSubscriptionSaveBlock = { codes.item.add(code($1.error)) }
        operation.modifySubscriptionsResultBlock = { codes.whole.add(code($0.error)) }
        operation.modifySubscriptionsCompletionBlock = { codes.older.add(code($2)) }
        await operation.run { database.add($0) }
        codes.expect(.zoneNotFound)
    }

    @Test func `An unknown link is no failure of the request`() async throws {
        let container = CloudFixture().container(on: "phone")
        let fetched = Codes()
        let fetch = CKFetchShareMetadataOperation(shareURLs: [link])
        fetch.perShareMetadataResultBlock = { fetched.item.add(code($1.error)) }
        fetch.fetchShareMetadataResultBlock = { fetched.whole.add(code($0.error)) }
        fetch.fetchShareMetadataCompletionBlock = { fetched.older.add(code($0)) }
        await fetch.run { container.add($0) }
        fetched.expect(.unknownItem)
    }

    @Test func `An unknown participant is no failure of the request`() async throws {
        let container = CloudFixture().container(on: "phone")
        let codes = Codes()
        // No zone but the default one has records of users.
        let nobody = CKUserIdentity.LookupInfo(
            userRecordID: CKRecord.ID(recordName: "_nobody", zoneID: nowhere)
        )
        let operation = CKFetchShareParticipantsOperation(userIdentityLookupInfos: [nobody])
        operation.perShareParticipantResultBlock = { codes.item.add(code($1.error)) }
        operation.fetchShareParticipantsResultBlock = { codes.whole.add(code($0.error)) }
        operation.fetchShareParticipantsCompletionBlock = { codes.older.add(code($0)) }
        await operation.run { container.add($0) }
        codes.expect(.unknownItem)
    }

    @Test func `A request for access by an unknown link is no failure of all`() async throws {
        let container = CloudFixture().container(on: "phone")
        let item = Heard<CKError.Code?>()
        let whole = Heard<CKError.Code?>()
        let operation = CKShareRequestAccessOperation(shareURLs: [link])
        operation.perShareAccessRequestResultBlock = { item.add(code($1.error)) }
        operation.shareAccessRequestResultBlock = { whole.add(code($0.error)) }
        await operation.run { container.add($0) }
        #expect(item.items == [.unknownItem])
        #expect(whole.items == [nil])
    }

    @Test func `A share that is gone is no failure of the acceptance`() async throws {
        let fixture = CloudFixture()
        let database = try await fixture.database(zone: zoneID)
        let ben = fixture.container(on: "tablet", of: "ben")
        let share = CKShare(recordZoneID: zoneID)
        share.publicPermission = .readOnly
        let saved = try #require(try await database.save(share) as? CKShare)
        let metadata = try await ben.shareMetadata(for: #require(saved.url))
        _ = try await database.deleteRecord(withID: saved.recordID)
        let codes = Codes()
        let operation = CKAcceptSharesOperation(shareMetadatas: [metadata])
        operation.perShareResultBlock = { codes.item.add(code($1.error)) }
        operation.acceptSharesResultBlock = { codes.whole.add(code($0.error)) }
        operation.acceptSharesCompletionBlock = { codes.older.add(code($0)) }
        await operation.run { ben.add($0) }
        codes.expect(.unknownItem)
    }

    @Test func `A request that failed as a whole is a failure`() async throws {
        let database = try await CloudFixture().database()
        let heard = Heard<CKError.Code?>()
        let records = (0..<401).map { number in
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\(number)"))
        }
        let operation = CKModifyRecordsOperation(recordsToSave: records)
        operation.modifyRecordsResultBlock = { heard.add(code($0.error)) }
        await operation.run { database.add($0) }
        #expect(heard.items == [.limitExceeded])
    }
}
