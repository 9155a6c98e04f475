// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Requests a token with which a web page acts for the signed-in user.
///
/// An embedded store has no web services: the operation ends with `serverRejectedRequest`.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that requests a token with an API token.
    public convenience init(apiToken APIToken: String) {
        self.init()
        apiToken = APIToken
    }

    /// The token of the API.
    open var apiToken: String?

    /// Called at the end.
    open var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)?
    /// Called at the end.
    open var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        throw CKError(
            .serverRejectedRequest,
            "This service has no web services, so it cannot make tokens for them."
        )
    }

    override func complete(_ error: (any Error)?) {
        let error = error ?? CKError(.internalError, "The operation returned no token.")
        fetchWebAuthTokenResultBlock?(.failure(error))
        fetchWebAuthTokenCompletionBlock?(nil, error)
    }
}
