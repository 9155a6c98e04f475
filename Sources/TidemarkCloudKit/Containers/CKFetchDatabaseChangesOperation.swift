// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches the zones of a database that changed.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation that fetches all changes.
    public override init() {}

    /// Fetches which zones changed after a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The token of the last fetch; `nil` fetches everything.
    open var previousServerChangeToken: CKServerChangeToken?
    /// The maximum number of zones in a page; zero leaves it to the service.
    open var resultsLimit = 0
    /// True if the operation fetches page after page until there are no more.
    open var fetchAllChanges = true

    /// Called for each zone that is new or in which something changed.
    open var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each zone that was deleted, and in place of the next two blocks if they are not
    /// set.
    open var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each zone that is gone because the user removed the app's data.
    open var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each zone that is gone because the account's encryption was reset.
    open var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock:
        ((CKRecordZone.ID) -> Void)?
    /// Called after each page: once the data before the token is stored, the token may be stored.
    open var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
    /// Called at the end.
    open var fetchDatabaseChangesResultBlock:
        (
            (Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void
        )?
    /// Called at the end.
    open var fetchDatabaseChangesCompletionBlock:
        ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?

    private var end: (token: CKServerChangeToken, moreComing: Bool)?

    override func perform(_ session: Session) async throws(CKError) {
        var request = DatabaseChangesRequest(
            since: try previousServerChangeToken?.model,
            limit: resultsLimit > 0 ? resultsLimit : nil
        )
        while true {
            let asked = request
            let page = try await session.call { (service, caller) async throws(SyncError) in
                try await service.databaseChanges(asked, as: caller)
            }
            for change in page.changes { tell(.zoneChange(change)) }
            // After the zones of its page: a program that stores this token has received all of
            // them.
            tell(.databaseEnd(CKServerChangeToken(page.token), moreComing: page.moreComing))
            guard page.moreComing, fetchAllChanges, !isCancelled else { return }
            request.since = page.token
        }
    }

    override func deliver(_ report: OperationReport) {
        switch report {
        case .zoneChange(let change): deliver(change)
        case .databaseEnd(let token, let moreComing):
            end = (token, moreComing)
            changeTokenUpdatedBlock?(token)
        default: break
        }
    }

    private func deliver(_ change: ZoneChange) {
        let id = CKRecordZone.ID(change.zone)
        switch change {
        case .changed:
            recordZoneWithIDChangedBlock?(id)
        case .deleted(_, .deleted):
            recordZoneWithIDWasDeletedBlock?(id)
        case .deleted(_, .purged):
            // A program without a block for this reason still learns that the zone is gone.
            (recordZoneWithIDWasPurgedBlock ?? recordZoneWithIDWasDeletedBlock)?(id)
        case .deleted(_, .encryptedDataReset):
            (recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock
                ?? recordZoneWithIDWasDeletedBlock)?(id)
        }
    }

    override func keep(in request: inout KeptRequest) {
        request.keep(previousServerChangeToken, as: "token")
        request.numbers = ["limit": resultsLimit, "all": fetchAllChanges ? 1 : 0]
    }

    override func restore(from request: KeptRequest) {
        previousServerChangeToken = request.object("token", of: CKServerChangeToken.self)
        resultsLimit = request.numbers["limit"] ?? 0
        fetchAllChanges = request.numbers["all"] == 1
    }

    override func complete(_ error: (any Error)?) {
        if let end, error == nil {
            fetchDatabaseChangesResultBlock?(.success((end.token, end.moreComing)))
            fetchDatabaseChangesCompletionBlock?(end.token, end.moreComing, nil)
        } else {
            let error = error ?? CKError(.internalError, "The database was not fetched.")
            fetchDatabaseChangesResultBlock?(.failure(error))
            fetchDatabaseChangesCompletionBlock?(nil, false, error)
        }
    }
}
