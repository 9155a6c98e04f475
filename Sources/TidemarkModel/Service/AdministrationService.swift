// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An operator's request to a service, as a value that another process can answer.
///
/// The names of a call and of its members are permanent. A client and a server may be of different
/// versions, so new members are optional. A path in a call is a path on the machine of the service.
public protocol AdministrationCall: Codable, Sendable {
    /// The parts of an answer that is sent part by part.
    associatedtype Piece: Codable & Sendable = Never
    /// The answer, after all of its parts.
    associatedtype Answer: Codable & Sendable = Nothing

    /// The name under which the call is sent.
    static var name: String { get }
    /// True if the call may not be repeated after a lost connection, and is refused if it cannot be
    /// recorded.
    var writes: Bool { get }
    /// The call as it may be recorded: without secrets.
    var recorded: Self { get }
}

extension AdministrationCall {
    /// False by default: a call that only reads.
    public var writes: Bool { false }

    /// The call itself.
    public var recorded: Self { self }
}

/// The requests of operators, in addition to those of apps to a ``DatabaseService``.
///
/// No permission of a user applies here.
///
/// A store in this process is one implementation. A server elsewhere, to which an operator has a
/// credential, is another. A call lasts as long as its task. Cancelling the task ends the call and
/// leaves nothing half done.
public protocol AdministrationService: Sendable {
    /// Answers a call.
    ///
    /// - Parameters:
    ///   - call: The request.
    ///   - report: Receives the completed part and the total of long work, on the thread that does
    ///     the work. Work of several steps begins each step at zero.
    ///   - receive: Receives one part of the answer. The next part waits until `receive` returns. An
    ///     error that it throws ends the call.
    ///
    /// - Returns: The answer after all parts.
    ///
    /// - Throws: The error of the call, the error that `receive` throws, and `CancellationError`.
    func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer
}

extension AdministrationService {
    /// Answers a call without reporting progress.
    public func answer<Call: AdministrationCall>(
        _ call: Call,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        try await answer(call, report: { _, _ in }, receive: receive)
    }

    /// Answers a call whose answer has no parts.
    public func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) async throws -> Call.Answer where Call.Piece == Never {
        try await answer(call, report: report, receive: { _ in })
    }
}

/// A service's implementation of a call, found by the type of the call.
package struct CallHandler<Context: Sendable, Call: AdministrationCall>: Sendable {
    /// Answers the call.
    package let answer:
        @Sendable (Call, Context, (Call.Piece) async throws -> Void) async throws -> Call.Answer

    package init(
        _ answer:
            @escaping @Sendable (Call, Context, (Call.Piece) async throws -> Void) async throws ->
            Call.Answer
    ) {
        self.answer = answer
    }
}

extension SyncError {
    /// Returns the error for a call that this service does not answer.
    package static func noCall(_ name: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "There is no call '\(name)'.",
            remedy: "Compare the versions of client and server."
        )
    }
}

/// No request, or no answer: an object without members.
public struct Nothing: Codable, Hashable, Sendable {
    /// Creates an empty value.
    public init() {}
}
