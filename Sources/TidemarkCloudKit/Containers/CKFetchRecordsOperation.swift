// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches records by their identities.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Fetches records.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init()
        self.recordIDs = recordIDs
    }

    /// Fetches the signed-in user's record.
    open class func fetchCurrentUserRecordOperation() -> Self {
        let operation = CKFetchRecordsOperation()
        operation.fetchesCurrentUser = true
        return Self.own(operation)
    }

    var fetchesCurrentUser = false

    /// The records to fetch.
    open var recordIDs: [CKRecord.ID]?
    /// The fields to fetch; `nil` for all of them.
    open var desiredKeys: [CKRecord.FieldKey]?

    /// Called while a record is fetched, with the part of it that has come: 0 to 1.
    open var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?
    /// Called for each record.
    open var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each record.
    open var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    /// Called at the end, with the records that were found.
    open var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?

    private var found: [CKRecord.ID: CKRecord] = [:]

    override func perform(_ session: Session) async throws(CKError) {
        var ids = recordIDs ?? []
        var models = ids.map(\.model)
        if fetchesCurrentUser {
            ids = [try await currentUser(session)]
            models = ids.map(\.model)
        } else if models.contains(Self.standIn) {
            do throws(CKError) {
                let user = try await currentUser(session).model
                models = models.map { $0 == Self.standIn ? user : $0 }
            } catch {
                // Without a user, only this record is not found.
                guard error.code == .notAuthenticated else { throw error }
            }
        }
        let request = FetchRecordsRequest(models, desiredKeys: desiredKeys)
        let answers = try await session.call { (service, caller) async throws(SyncError) in
            try await service.fetchRecords(request, as: caller)
        }
        var errors: [AnyHashable: any Error] = [:]
        for (id, answer) in zip(ids, answers) {
            let outcome: Result<CKRecord, any Error>
            do throws(CKError) {
                outcome = .success(try await fetch(answer, id, session))
            } catch {
                // One request has returned all records. An error here is this record's own or from
                // the download of its assets. The other records are still delivered.
                guard !isCancelled else { throw error }
                errors[id] = error
                outcome = .failure(error)
            }
            tell(.fetched(id, outcome))
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    /// The name of the current user as the creator of own records.
    private static let standIn = RecordID(recordName: CKCurrentUserDefaultName)

    private func currentUser(_ session: Session) async throws(CKError) -> CKRecord.ID {
        CKRecord.ID(
            try await session.call { (service, caller) async throws(SyncError) in
                try await service.currentUser(as: caller)
            }
        )
    }

    private func fetch(
        _ answer: Result<Record, SyncError>,
        _ id: CKRecord.ID,
        _ session: Session
    ) async throws(CKError) -> CKRecord {
        switch answer {
        case .failure(let error): throw CKError(error, seenBy: session.caller.user)
        case .success(let model):
            return try await session.fetched(model) { part in
                self.tell { self.perRecordProgressBlock?(id, part) }
            }
        }
    }

    override func deliver(_ report: OperationReport) {
        guard case .fetched(let id, let outcome) = report else { return }
        // `found` is used on the queue of the callbacks only, here and in `complete`.
        found[id] = outcome.value
        if outcome.error == nil { perRecordProgressBlock?(id, 1) }
        perRecordResultBlock?(id, outcome)
        perRecordCompletionBlock?(outcome.value, id, outcome.error)
    }

    override func keep(in request: inout KeptRequest) {
        request.recordIDs = (recordIDs ?? []).map(\.archived)
        request.desiredKeys = desiredKeys
        request.numbers = ["currentUser": fetchesCurrentUser ? 1 : 0]
    }

    override func restore(from request: KeptRequest) {
        recordIDs = request.recordIDs.map { CKRecord.ID($0) }
        desiredKeys = request.desiredKeys
        fetchesCurrentUser = request.numbers["currentUser"] == 1
    }

    override func complete(_ error: (any Error)?) {
        fetchRecordsResultBlock?(Result(ofWhole: error))
        fetchRecordsCompletionBlock?(hasItems(error) ? found : nil, error)
    }
}
