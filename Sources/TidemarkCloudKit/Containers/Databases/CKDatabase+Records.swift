// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKDatabase {
    /// The results of records to save and to delete.
    public typealias ModifiedRecords = (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )

    // MARK: One record

    /// Returns a record by its identity.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await answer { fetching(recordID, $0) }
    }

    /// Saves a record, unless another client has saved it since it was fetched; returns the saved
    /// record.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        try await answer { saving(record, $0) }
    }

    /// Deletes a record.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await answer { deleting(recordID, $0) }
    }

    @discardableResult
    func fetching(
        _ recordID: CKRecord.ID,
        _ handler: @escaping ResultHandler<CKRecord>
    ) -> CKOperation {
        fetching([recordID], nil) { handler($0.item(recordID)) }
    }

    @discardableResult
    func saving(
        _ record: CKRecord,
        _ handler: @escaping ResultHandler<CKRecord>
    ) -> CKOperation {
        let recordID = record.recordID
        return modifying(saving: [record]) { handler($0.map(\.saveResults).item(recordID)) }
    }

    @discardableResult
    func deleting(
        _ recordID: CKRecord.ID,
        _ handler: @escaping ResultHandler<CKRecord.ID>
    ) -> CKOperation {
        modifying(deleting: [recordID]) { result in
            handler(result.map(\.deleteResults).item(recordID).map { recordID })
        }
    }

    // MARK: Several records

    /// Fetches records by their identities.
    @preconcurrency
    public func fetch(
        withRecordIDs recordIDs: [CKRecord.ID],
        desiredKeys: [CKRecord.FieldKey]? = nil,
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>
            ) -> Void
    ) {
        fetching(recordIDs, desiredKeys, completionHandler)
    }

    /// Returns records by their identities: each, or its error.
    public func records(
        for ids: [CKRecord.ID],
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        try await answer { fetching(ids, desiredKeys, $0) }
    }

    @discardableResult
    private func fetching(
        _ recordIDs: [CKRecord.ID],
        _ desiredKeys: [CKRecord.FieldKey]?,
        _ handler: @escaping ResultHandler<[CKRecord.ID: Result<CKRecord, any Error>]>
    ) -> CKOperation {
        let operation = CKFetchRecordsOperation(recordIDs: recordIDs)
        operation.desiredKeys = desiredKeys
        let items = Collected<[CKRecord.ID: Result<CKRecord, any Error>]>([:])
        operation.perRecordResultBlock = { id, result in items.add { $0[id] = result } }
        operation.fetchRecordsResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    /// Saves and deletes records.
    @preconcurrency
    public func modifyRecords(
        saving recordsToSave: [CKRecord],
        deleting recordIDsToDelete: [CKRecord.ID] = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        completionHandler: @escaping @Sendable (Result<ModifiedRecords, any Error>) -> Void
    ) {
        modifying(
            saving: recordsToSave,
            deleting: recordIDsToDelete,
            savePolicy,
            atomically: atomically
        ) { completionHandler($0.refusing(atomically)) }
    }

    /// Saves and deletes records, and returns the result of each.
    ///
    /// Throws `partialFailure` if an item of an atomic request failed.
    public func modifyRecords(
        saving recordsToSave: [CKRecord],
        deleting recordIDsToDelete: [CKRecord.ID] = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws -> ModifiedRecords {
        try await answer { handler in
            modifying(
                saving: recordsToSave,
                deleting: recordIDsToDelete,
                savePolicy,
                atomically: atomically
            ) { handler($0.refusing(atomically)) }
        }
    }

    /// Saves and deletes records, and returns the result of each, for an atomic request too.
    func outcomes(
        saving saves: [CKRecord],
        deleting deletions: [CKRecord.ID],
        atomically: Bool
    ) async throws -> ModifiedRecords {
        try await answer {
            modifying(saving: saves, deleting: deletions, atomically: atomically, $0)
        }
    }

    @discardableResult
    private func modifying(
        saving saves: [CKRecord] = [],
        deleting deletions: [CKRecord.ID] = [],
        _ policy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        _ handler: @escaping ResultHandler<ModifiedRecords>
    ) -> CKOperation {
        let operation = CKModifyRecordsOperation(
            recordsToSave: saves,
            recordIDsToDelete: deletions
        )
        operation.savePolicy = policy
        operation.isAtomic = atomically
        let items = Collected<ModifiedRecords>(([:], [:]))
        operation.perRecordSaveBlock = { id, result in
            items.add { $0.saveResults[id] = result }
        }
        operation.perRecordDeleteBlock = { id, result in
            items.add { $0.deleteResults[id] = result }
        }
        operation.modifyRecordsResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }
}

extension Result<CKDatabase.ModifiedRecords, any Error> {
    /// Returns the failure of the whole request if it was atomic and an item failed.
    fileprivate func refusing(_ atomically: Bool) -> Self {
        guard atomically, case .success(let items) = self else { return self }
        var errors: [AnyHashable: any Error] = [:]
        for (id, result) in items.saveResults { errors[id] = result.error }
        for (id, result) in items.deleteResults { errors[id] = result.error }
        return CKError.ofItems(errors).map { .failure($0) } ?? self
    }
}
