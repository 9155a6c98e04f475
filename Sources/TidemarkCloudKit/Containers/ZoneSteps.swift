// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// A report to a program during the fetch of a zone, in the order of the cases.
enum ZoneStep: Sendable {
    /// A record is new or has changed.
    case changed(CKRecord.ID, Result<CKRecord, any Error>)
    /// A record is gone.
    case deleted(CKRecord.ID, CKRecord.RecordType)
    /// A page has come, and there are more.
    case page(CKServerChangeToken, mark: Data?)
}

/// The end of the fetch of a zone.
struct ZoneEnd: Sendable {
    var token: CKServerChangeToken
    /// The last client change token data that this device sent with changes in this fetch.
    var mark: Data?
    var moreComing: Bool
}

extension Session {
    /// Fetches the changes in a zone, one page or all.
    func changes(
        _ request: ZoneChangesRequest,
        all: Bool,
        _ tell: (ZoneStep) -> Void
    ) async throws(CKError) -> ZoneEnd {
        var request = request
        while true {
            // A mark that was set before the request is on this page, or on an earlier one if this
            // is the last.
            let said = device.marks.mark(of: request.zone, caller)
            let asked = request
            let page = try await call { (service, caller) async throws(SyncError) in
                try await service.zoneChanges(asked, as: caller)
            }
            for change in page.changes { tell(try await step(change)) }
            let end = ZoneEnd(
                token: CKServerChangeToken(page.token),
                // With an earlier page the mark would claim changes that are still to be fetched.
                mark: page.moreComing ? nil : said,
                moreComing: page.moreComing
            )
            guard page.moreComing, all else { return end }
            guard !Task.isCancelled else {
                throw CKError(.operationCancelled, "The operation was cancelled.")
            }
            tell(.page(end.token, mark: end.mark))
            request.since = page.token
        }
    }

    private func step(_ change: RecordChange) async throws(CKError) -> ZoneStep {
        switch change {
        case .deleted(let gone):
            return .deleted(CKRecord.ID(gone.recordID), gone.recordType)
        case .changed(let model):
            let id = CKRecord.ID(model.recordID)
            do throws(CKError) {
                return .changed(id, .success(try await fetched(model)))
            } catch {
                // An asset that cannot be fetched fails its record, not the zone. The token still
                // moves past the record, so the program has to fetch it again itself. Without a
                // connection, the zone fails, and its next fetch returns the record again.
                guard !error.isOfWholeRequest else { throw error }
                return .changed(id, .failure(error))
            }
        }
    }
}

extension CKError {
    /// True if the error is not about an item, so that requesting the next item does not help.
    var isOfWholeRequest: Bool {
        switch code {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited,
            .notAuthenticated, .accountTemporarilyUnavailable, .badContainer, .operationCancelled:
            true
        default: false
        }
    }
}
