// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The reason for which a request of CloudKit Web Services failed as a whole, or one of its items.
public struct WebError: Error, Hashable, Sendable {
    /// The `serverErrorCode`.
    public var code: String
    /// The status of an answer that is nothing but this error.
    public var status: Int
    /// The reason, for people.
    public var reason: String
    /// The seconds after which the request may be repeated; `nil` if that does not help.
    public var retryAfter: Int?
    /// The address at which the user signs in; only with `AUTHENTICATION_REQUIRED`.
    public var redirectURL: String?
    /// The cause of a server's failure with its place, for the operator's log; clients do not get it.
    public var cause: String?
    /// The three records of a conflict, for clients that asked for extensions.
    public var conflict: ConflictRecords?

    /// Creates an error.
    public init(
        _ code: String,
        status: Int,
        _ reason: String,
        retryAfter: Int? = nil,
        redirectURL: String? = nil
    ) {
        self.code = code
        self.status = status
        self.reason = reason.boundedForErrors
        self.retryAfter = retryAfter
        self.redirectURL = redirectURL
    }

    /// Returns the error for an invalid request.
    public static func badRequest(_ reason: String) -> WebError {
        WebError("BAD_REQUEST", status: 400, reason)
    }

    /// The error for a request that needs a user.
    public static let authenticationRequired = WebError(
        "AUTHENTICATION_REQUIRED",
        status: 421,
        "request needs authorization"
    )

    /// The error for an invalid credential, without the cause.
    public static let authenticationFailed = WebError(
        "AUTHENTICATION_FAILED",
        status: 401,
        "Authentication failed"
    )

    /// The error for a record that no longer fits in the answer.
    static let answerIsFull = WebError(
        "TRY_AGAIN_LATER",
        status: 503,
        "The answer is full. Look up this record in another request.",
        retryAfter: 1
    )

    /// Returns the error for a path without an endpoint.
    public static func noHandler(_ path: String) -> WebError {
        .notFound("could not find handler for endpoint \(path)")
    }

    /// Returns the error for something that does not exist, or not any more.
    package static func notFound(_ reason: String) -> WebError {
        WebError("NOT_FOUND", status: 404, reason)
    }

    /// Returns the error for something that the sender may not do.
    package static func accessDenied(_ reason: String) -> WebError {
        WebError("ACCESS_DENIED", status: 403, reason)
    }

    /// Returns the error for a credential that is not accepted, with the cause.
    package static func refusedCredential(_ reason: String) -> WebError {
        WebError("AUTHENTICATION_FAILED", status: 401, reason)
    }

    /// Returns the error for too many requests; `retryAfter` is in seconds.
    package static func throttled(_ reason: String, retryAfter: Int) -> WebError {
        WebError("THROTTLED", status: 429, reason, retryAfter: retryAfter)
    }

    /// Returns the error for a body that is longer than a limit.
    package static func tooLong(limit: Int) -> WebError {
        WebError(
            "BAD_REQUEST",
            status: 413,
            "The body has more than \(limit) bytes, which is the limit."
        )
    }
}

extension WebError {
    /// Translates a service's error into one of CloudKit Web Services.
    ///
    /// The reason is CloudKit's own text, if that is known.
    public init(_ error: SyncError) {
        var code = error.code.serverErrorCode
        var status = error.code.httpStatus
        var reason = error.messageForClients
        var retryAfter = error.retryAfter.map { max(1, Int($0.components.seconds)) }
        switch error.code {
        case .serverRecordChanged:
            reason =
                error.conflict?.client.changeTag == nil
                ? "record to insert already exists" : "client oplock error updating record"
        case .batchRequestFailed: reason = "Atomic failure"
        case .changeTokenExpired: reason = "Change token expired: \(reason)"
        case .notAuthenticated: reason = "request needs authorization"
        case .quotaExceeded where error.isDiskFull:
            // Clients take the code of a quota for one of their user, who cannot free the disk.
            (code, status) = ("TRY_AGAIN_LATER", 503)
            reason = "The server's disk is full."
            retryAfter = 60
        case .partialFailure:
            // The request failed as a whole because of its items.
            code = "BAD_REQUEST"
            status = 400
        default: break
        }
        self.init(code, status: status, reason)
        if status >= 500 {
            cause = error.message
            // The message may name files of the server, or a statement of SQLite's. Only that of a busy
            // zone quotes a client's name.
            if error.code != .zoneBusy, reason.contains("/") || reason.contains("SQLite") {
                self.reason = "The server cannot use its files at present."
            }
        }
        // In Apple's documentation, an error without `retryAfter` cannot be retried.
        if retryAfter == nil, ["THROTTLED", "TRY_AGAIN_LATER"].contains(code) { retryAfter = 1 }
        self.retryAfter = retryAfter
        conflict = error.conflict
    }

    /// Returns the error with the code that a request with Tidemark's extensions gets.
    func inForm(of request: WebRequest) -> WebError {
        var error = self
        // Apple's list of codes has none for this.
        if request.isExtended, reason.hasPrefix("Change token expired") {
            error.code = "CHANGE_TOKEN_EXPIRED"
        }
        return error
    }

    /// Creates the error for a body that cannot be read.
    init(_ error: JSONError) {
        self = .badRequest("\(error)")
    }
}

extension SyncError {
    /// The message without the file that an error of the log names at its end: where a server keeps
    /// its files is no business of its clients.
    var messageForClients: String {
        // Only for codes that errors of the log become. Messages of other codes quote names of
        // clients, which may look like a file in parentheses.
        let ending = message.hasSuffix(").") ? "." : ""
        guard message.hasSuffix(")" + ending), let start = message.lastIndex(of: "("),
            message[start...].contains("/"),
            [
                .quotaExceeded, .limitExceeded, .incompatibleVersion, .serviceUnavailable,
                .internalError, .assetNotAvailable,
            ]
            .contains(code)
        else { return message }
        return message[..<start].dropLast() + ending
    }
}

extension WebError {
    /// Returns the whole answer to a request that failed.
    public func body(uuid: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(literal: "{")
        bytes.append(member: "uuid", jsonString: uuid)
        appendMembers(to: &bytes)
        bytes.append(literal: "}")
        return bytes
    }

    /// Appends the members that describe the failure.
    func appendMembers(to bytes: inout [UInt8]) {
        bytes.append(member: "serverErrorCode", jsonString: code)
        bytes.append(member: "reason", jsonString: reason)
        bytes.append(member: "retryAfter", jsonNumber: retryAfter)
        bytes.append(member: "redirectURL", jsonString: redirectURL)
    }
}
