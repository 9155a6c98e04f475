// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Requests access to shares.
///
/// Unchecked: see ``CKOperation``.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that requests access to shares.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The links of the shares.
    open var shareURLs: [URL]?

    /// Called for each link.
    open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        var errors: [AnyHashable: any Error] = [:]
        for (index, url) in (shareURLs ?? []).enumerated() {
            let link = url.absoluteString
            var failure: CKError?
            do throws(CKError) {
                // Each link is a change with its own id: after a lost answer, a retry repeats none
                // of the others.
                try await session.change("/\(index)") { (service, caller) async throws(SyncError) in
                    try await service.requestShareAccess(link, as: caller)
                }
            } catch {
                guard !isCancelled, !error.isOfWholeRequest else { throw error }
                failure = error
                errors[url] = error
            }
            tell { [failure] in
                self.perShareAccessRequestResultBlock?(url, Result(failing: failure))
            }
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func complete(_ error: (any Error)?) {
        shareAccessRequestResultBlock?(Result(ofWhole: error))
    }
}
