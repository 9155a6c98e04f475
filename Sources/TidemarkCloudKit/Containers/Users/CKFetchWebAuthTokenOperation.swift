// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Requests a token with which a web page acts for the signed-in user.
///
/// The operation always ends with `serverRejectedRequest`: a store in this process has no web
/// services, and a server hands out tokens when a user signs in on its page.
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
            "This operation gives no web auth tokens. A server gives them at its sign-in page."
        )
    }

    override func complete(_ error: (any Error)?) {
        let error = error ?? CKError(.internalError, "The operation gave no token.")
        fetchWebAuthTokenResultBlock?(.failure(error))
        fetchWebAuthTokenCompletionBlock?(nil, error)
    }
}
