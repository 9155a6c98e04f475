// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Fetches one page of the changes in one zone, the predecessor of
/// ``CKFetchRecordZoneChangesOperation``.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, message: "Use CKFetchRecordZoneChangesOperation")
open class CKFetchRecordChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that fetches the changes in a zone after a token.
    public convenience init(
        recordZoneID: CKRecordZone.ID,
        previousServerChangeToken: CKServerChangeToken?
    ) {
        self.init()
        self.recordZoneID = recordZoneID
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The zone.
    open var recordZoneID: CKRecordZone.ID?
    /// The token of the last fetch; `nil` fetches everything.
    open var previousServerChangeToken: CKServerChangeToken?
    /// The maximum number of records to fetch; zero leaves it to the service.
    open var resultsLimit = 0
    /// The fields to fetch; `nil` for all of them.
    open var desiredKeys: [String]?

    /// Called for each record that is new or has changed.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// Called for each record that is gone.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID) -> Void)?
    /// Called at the end, with how far the program has come.
    open var fetchRecordChangesCompletionBlock:
        ((CKServerChangeToken?, Data?, (any Error)?) -> Void)?

    /// True if there are more changes; set when the operation has ended.
    open var moreComing: Bool { end?.moreComing ?? false }

    private var end: ZoneEnd?
    /// The errors of records.
    private var failures: [AnyHashable: any Error] = [:]

    override func perform(_ session: Session) async throws(CKError) {
        guard let recordZoneID else {
            throw CKError(.invalidArguments, "The operation has no zone; set recordZoneID.")
        }
        let request = ZoneChangesRequest(
            zone: recordZoneID.model,
            since: try previousServerChangeToken?.model,
            limit: resultsLimit > 0 ? resultsLimit : nil,
            desiredKeys: desiredKeys
        )
        end = try await session.changes(request, all: false) { step in
            self.tell {
                switch step {
                case .changed(let id, let outcome):
                    self.failures[id] = outcome.error
                    if let record = outcome.value { self.recordChangedBlock?(record) }
                case .deleted(let record, _): self.recordWithIDWasDeletedBlock?(record)
                case .page: break
                }
            }
        }
    }

    override func complete(_ error: (any Error)?) {
        let end = error == nil ? end : nil
        let failure = error ?? CKError.ofItems(failures)
        fetchRecordChangesCompletionBlock?(end?.token, end?.mark, failure)
    }
}
