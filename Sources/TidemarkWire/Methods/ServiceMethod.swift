// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A method of a service as a value: its name, whether it writes, and how its requests and answers are written as
/// bytes.
///
/// One process sends the name and the request's bytes to another, which performs the method on the service that
/// it has and sends the answer's bytes back.
public struct ServiceMethod<Service, Request: Codable & Sendable, Answer: Codable & Sendable>:
    Sendable
{
    /// The name, which is lasting: clients and servers may be of different versions.
    public let name: String
    /// True if a call may be repeated only under a request id; see `DatabaseService`.
    public let writes: Bool
    private let perform: @Sendable (Service, Request, Caller) async throws(SyncError) -> Answer

    init(
        _ name: String,
        writes: Bool = false,
        _ perform: @escaping @Sendable (Service, Request, Caller) async throws(SyncError) -> Answer
    ) {
        self.name = name
        self.writes = writes
        self.perform = perform
    }
}

/// A method of a service, whatever its request and answer are.
public protocol AnyServiceMethod<Service>: Sendable {
    /// The service that has the method.
    associatedtype Service

    /// The name.
    var name: String { get }
    /// True if a call may be repeated only under a request id.
    var writes: Bool { get }

    /// Reads a request, performs it on a service, and returns the answer's bytes.
    ///
    /// Throws what the service throws, and `invalidArguments` for bytes that are not a request of the method.
    func answer(
        to request: [UInt8],
        by service: Service,
        as caller: Caller
    ) async throws(SyncError) -> [UInt8]
}

extension ServiceMethod: AnyServiceMethod {
    /// See `AnyServiceMethod`.
    public func answer(
        to request: [UInt8],
        by service: Service,
        as caller: Caller
    ) async throws(SyncError) -> [UInt8] {
        let value: Request
        do throws(DecodingError) {
            value = try WireCoding.value(Request.self, from: request)
        } catch {
            throw SyncError(
                .invalidArguments,
                "The request of '\(name)' cannot be read: \(error.summary)."
            )
        }
        return try WireCoding.bytes(of: await perform(service, value, caller))
    }

    /// The bytes of a request.
    public func bytes(of request: Request) throws(SyncError) -> [UInt8] {
        try WireCoding.bytes(of: request)
    }

    /// Reads an answer.
    ///
    /// Throws `internalError` for bytes that are not one: the other side is not a Tidemark that this version can
    /// speak to.
    public func answer(from bytes: [UInt8]) throws(SyncError) -> Answer {
        do throws(DecodingError) {
            return try WireCoding.value(Answer.self, from: bytes)
        } catch {
            throw SyncError(
                .internalError,
                "The answer to '\(name)' cannot be read: \(error.summary).",
                remedy: "Compare the versions of client and server."
            )
        }
    }
}
