// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Accepts shares.
///
/// Unchecked: see ``CKOperation``.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that accepts shares.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    /// The metadata of the shares to accept.
    open var shareMetadatas: [CKShare.Metadata]?

    /// Called for each share.
    open var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each share.
    open var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
    /// Called at the end.
    open var acceptSharesCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        var errors: [AnyHashable: any Error] = [:]
        for (index, metadata) in (shareMetadatas ?? []).enumerated() {
            let outcome: Result<CKShare, any Error>
            do throws(CKError) {
                // One change for each share, since the service accepts one at a time. Its index in
                // the request distinguishes its id from that of the others.
                outcome = .success(try await accept(metadata, "/\(index)", session))
            } catch {
                guard !isCancelled, !error.isOfWholeRequest else { throw error }
                errors[metadata.key] = error
                outcome = .failure(error)
            }
            tell {
                self.perShareResultBlock?(metadata, outcome)
                self.perShareCompletionBlock?(metadata, outcome.value, outcome.error)
            }
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    private func accept(
        _ metadata: CKShare.Metadata,
        _ part: String,
        _ session: Session
    ) async throws(CKError) -> CKShare {
        let link = metadata.link
        let record = try await session.change(part) { (service, caller) async throws(SyncError) in
            try await service.acceptShare(link, as: caller)
        }
        return try session.share(record)
    }

    override func complete(_ error: (any Error)?) {
        acceptSharesResultBlock?(Result(ofWhole: error))
        acceptSharesCompletionBlock?(error)
    }
}

extension CKShare.Metadata {
    /// The key of the share among the errors of an operation: its link, or else its record ID.
    fileprivate var key: AnyHashable {
        if let url = share.url { url } else { share.recordID }
    }
}

extension Session {
    /// Returns a share's record for a program.
    func share(_ record: Record) throws(CKError) -> CKShare {
        guard let share = CKRecord.make(record, seenBy: caller.user) as? CKShare else {
            throw CKError(.internalError, "The record \(record.recordID) is not a share.")
        }
        return share
    }
}
