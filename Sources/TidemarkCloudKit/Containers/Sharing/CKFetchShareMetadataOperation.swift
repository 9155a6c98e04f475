// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Fetches the metadata of shares by their links.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that fetches the metadata of shares by their links.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The links.
    open var shareURLs: [URL]?
    /// True if the operation fetches the root record of the share.
    open var shouldFetchRootRecord = false
    /// The fields of that record to fetch; `nil` for all of them.
    open var rootRecordDesiredKeys: [CKRecord.FieldKey]?

    /// Called for each link.
    open var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each link.
    open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
    /// Called at the end.
    open var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        var errors: [AnyHashable: any Error] = [:]
        for url in shareURLs ?? [] {
            let outcome: Result<CKShare.Metadata, any Error>
            do throws(CKError) {
                outcome = .success(try await fetch(url, session))
            } catch {
                guard !isCancelled, !error.isOfWholeRequest else { throw error }
                errors[url] = error
                outcome = .failure(error)
            }
            tell {
                self.perShareMetadataResultBlock?(url, outcome)
                self.perShareMetadataBlock?(url, outcome.value, outcome.error)
            }
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    private func fetch(
        _ url: URL,
        _ session: Session
    ) async throws(CKError) -> CKShare.Metadata {
        let link = url.absoluteString
        let withRoot = shouldFetchRootRecord
        var found: ShareMetadata
        do throws(CKError) {
            found = try await session.call { (service, caller) async throws(SyncError) in
                try await service.shareMetadata(of: link, withRootRecord: withRoot, as: caller)
            }
        } catch {
            // As with Apple's service, a share that the user may not see is one that is not there.
            guard error.code == .permissionFailure else { throw error }
            throw CKError(.unknownItem, userInfo: error.userInfo)
        }
        // The service returns the whole root record. The program still gets only the fields it
        // wants.
        if let keys = rootRecordDesiredKeys, let root = found.rootRecord {
            found.rootRecord = Record(
                zone: root.zone,
                changeTag: root.changeTag,
                body: FieldSelection(keys).narrow(root.body)
            )
        }
        guard let metadata = CKShare.Metadata(found, link: link, seenBy: session.caller.user) else {
            throw CKError(.internalError, "The link \(link) leads to a record that is not a share.")
        }
        return metadata
    }

    override func complete(_ error: (any Error)?) {
        fetchShareMetadataResultBlock?(Result(ofWhole: error))
        fetchShareMetadataCompletionBlock?(error)
    }
}
