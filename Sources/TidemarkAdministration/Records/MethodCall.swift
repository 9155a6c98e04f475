// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkModel
import TidemarkWire

/// Performs a method of `DatabaseService`, for a user for whom the administrator vouches.
public struct MethodCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "method"
    /// See `AdministrationCall`.
    public var writes: Bool { DatabaseMethods.named(method)?.writes ?? true }
    /// See `AdministrationCall`: the answer of the method, in JSON.
    public typealias Answer = String

    /// The name of the method.
    public var method: String
    /// Its request, in JSON.
    public var request: String
    /// The user, and where.
    public var caller: Caller

    /// Describes the call.
    public init(_ method: String, _ request: String, as caller: Caller) {
        self.method = method
        self.request = request
        self.caller = caller
    }

    /// The call without the request, whose effects are in the log.
    public var recorded: MethodCall { MethodCall(method, "", as: caller) }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> String {
        guard let found = DatabaseMethods.named(method) else {
            throw SyncError(
                .invalidArguments,
                "There is no method '\(method)'.",
                remedy: "Compare the versions of client and server."
            )
        }
        let answer = try await found.answer(
            to: Array(request.utf8),
            by: try administration.store,
            as: administration.vouching(for: caller)
        )
        return String(decoding: answer, as: UTF8.self)
    }
}
