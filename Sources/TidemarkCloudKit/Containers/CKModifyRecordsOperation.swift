// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Saves and deletes records.
///
/// Unchecked: see ``CKOperation``.
open class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The effect of a save on a record that others may have saved in the meantime.
    public enum RecordSavePolicy: Int, Sendable {
        /// Succeeds only if no other client has saved the record.
        case ifServerRecordUnchanged = 0
        /// Sets the fields that were changed.
        case changedKeys = 1
        /// Sets all fields that the record has.
        case allKeys = 2

        var model: SavePolicy {
            switch self {
            case .ifServerRecordUnchanged: .ifServerRecordUnchanged
            case .changedKeys: .changedKeys
            case .allKeys: .allKeys
            }
        }
    }

    /// Creates an operation without work.
    public override init() {}

    /// Saves and deletes records.
    public convenience init(
        recordsToSave: [CKRecord]? = nil,
        recordIDsToDelete: [CKRecord.ID]? = nil
    ) {
        self.init()
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    /// The records to save.
    open var recordsToSave: [CKRecord]?
    /// The records to delete.
    open var recordIDsToDelete: [CKRecord.ID]?
    /// The effect of a save on a record that others may have saved in the meantime.
    open var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    /// True if, in each custom zone, either all changes are applied or none.
    open var isAtomic = true
    /// The data that this device receives again when it fetches a zone with these changes.
    open var clientChangeTokenData: Data?

    /// Called for each record as it is sent, with how much of it is done: 0 to 1.
    open var perRecordProgressBlock: ((CKRecord, Double) -> Void)?
    /// Called for each record that was to be saved.
    open var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called for each record that was to be deleted.
    open var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each record that was to be saved.
    open var perRecordCompletionBlock: ((CKRecord, (any Error)?) -> Void)?
    /// Called at the end, with the records that were saved and deleted.
    open var modifyRecordsCompletionBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?

    private var saved: [CKRecord] = []
    private var deleted: [CKRecord.ID] = []

    override func perform(_ session: Session) async throws(CKError) {
        let records = recordsToSave ?? []
        let deletions = recordIDsToDelete ?? []
        var assets = SentAssets()
        var saves: [CKRecord.Saving] = []
        // A save may only name bytes that its database has, so all uploads come first
        // (Docs/semantics.md, "Assets").
        for record in records {
            // Also if a save is not sent: a later one uploads the assets again.
            defer { assets.forgetMissing() }
            try await assets.send(of: record, savePolicy.model, session) { part in
                self.tell { self.perRecordProgressBlock?(record, part) }
            }
            // The record is read after its uploads and before `forgetMissing()`: its assets have
            // their references only in between. A field that the program sets later stays a change.
            let caller = session.caller
            saves.append(
                try record.saving(
                    savePolicy.model,
                    as: caller.user,
                    in: caller.database.environment
                )
            )
        }
        let request = ModifyRecordsRequest(
            saves: saves.map(\.model),
            deletions: deletions.map { RecordDeletion($0.model) },
            isAtomic: isAtomic
        )
        let mark = clientChangeTokenData
        let result = try await session.change { (service, caller) async throws(SyncError) in
            try await service.modifyRecords(request, as: caller)
        }
        // Before the reports: a block may fetch the zone at once, and expects the mark.
        if let mark { session.device.marks.add(mark, of: request, result, session.caller) }
        try await report(records, saves, deletions, result, assets, session)
    }

    /// Reports each item, and throws the error of the whole operation.
    private func report(
        _ records: [CKRecord],
        _ saves: [CKRecord.Saving],
        _ deletions: [CKRecord.ID],
        _ result: ModifyRecordsResult,
        _ assets: SentAssets,
        _ session: Session
    ) async throws(CKError) {
        let user = session.caller.user
        var errors: [AnyHashable: any Error] = [:]
        for (index, record) in records.enumerated() {
            let outcome: Result<CKRecord, any Error>
            switch result.saves[index] {
            case .success(let model):
                // The program's object gets the new version, so that it can be changed and saved
                // again.
                record.wasSaved(saves[index], as: model, seenBy: user)
                let new = CKRecord.make(model, seenBy: user)
                // The service returns references. The files that were sent are there already, so
                // nothing is downloaded.
                new.takeFiles(from: record)
                outcome = .success(new)
            case .failure(let error):
                // The service received an unknown reference in place of the asset.
                let reason =
                    error.code == .assetFileNotFound ? assets.failures[record.recordID] : nil
                let final: CKError =
                    if let reason { reason } else { await failure(error, of: record, session) }
                errors[record.recordID] = final
                outcome = .failure(final)
            }
            tell(.saved(index, record.recordID, outcome))
        }
        for (id, result) in zip(deletions, result.deletions) {
            let error = result.error.map { CKError($0, seenBy: user) }
            errors[id] = error
            tell(.deleted(id, error))
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    /// Returns the error of a record that was not saved; with a conflict come the files of its
    /// records.
    private func failure(
        _ error: SyncError,
        of record: CKRecord,
        _ session: Session
    ) async -> CKError {
        let user = session.caller.user
        guard let conflict = error.conflict else {
            return CKError(error, client: record, seenBy: user)
        }
        do throws(CKError) {
            // If a file of the server's record cannot be fetched, that error replaces the conflict.
            // A merge without the file would lose it (Docs/cloudkit.md, "Containers, databases and
            // operations").
            let met = try await session.fetched(conflict)
            return CKError(error, client: record, met: met, seenBy: user)
        } catch {
            return error
        }
    }

    override func deliver(_ report: OperationReport) {
        switch report {
        case .saved(let index, let id, let outcome):
            let records = recordsToSave ?? []
            // The index may be from a stored answer, and `recordsToSave` is the program's to
            // change: the two need not agree.
            let record = records.indices.contains(index) ? records[index] : outcome.value
            if let value = outcome.value { saved.append(value) }
            if let record, outcome.error == nil { perRecordProgressBlock?(record, 1) }
            perRecordSaveBlock?(id, outcome)
            if let record = outcome.value ?? record {
                perRecordCompletionBlock?(record, outcome.error)
            }
        case .deleted(let id, let error):
            if error == nil { deleted.append(id) }
            perRecordDeleteBlock?(id, Result(failing: error))
        default: break
        }
    }

    override func keep(in request: inout KeptRequest) {
        request.records = (recordsToSave ?? []).compactMap(\.archivedData)
        request.recordIDs = (recordIDsToDelete ?? []).map(\.archived)
        request.numbers = ["policy": savePolicy.rawValue, "isAtomic": isAtomic ? 1 : 0]
        request.objects["mark"] = clientChangeTokenData
    }

    override func restore(from request: KeptRequest) {
        recordsToSave = request.records.compactMap { CKRecord.unarchived($0) }
        recordIDsToDelete = request.recordIDs.map { CKRecord.ID($0) }
        savePolicy =
            request.numbers["policy"].flatMap { RecordSavePolicy(rawValue: $0) }
            ?? .ifServerRecordUnchanged
        isAtomic = request.numbers["isAtomic"] != 0
        clientChangeTokenData = request.objects["mark"]
    }

    override func complete(_ error: (any Error)?) {
        modifyRecordsResultBlock?(Result(ofWhole: error))
        let isAnswered = hasItems(error)
        modifyRecordsCompletionBlock?(isAnswered ? saved : nil, isAnswered ? deleted : nil, error)
    }
}
