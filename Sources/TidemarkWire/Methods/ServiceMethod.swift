// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A method of a service as a value: its name, whether it writes, and how its requests and answers
/// are written as bytes.
///
/// One process sends the name and the request's bytes to another, which performs the method on the
/// service that it has and sends the answer's bytes back.
public struct ServiceMethod<Service, Request: Codable & Sendable, Answer: Codable & Sendable>:
    Sendable
{
    /// The name, which is lasting: clients and servers may be of different versions.
    public let name: String
    /// True if a call may be repeated only under a request id; see `DatabaseService`.
    public let writes: Bool
    /// True if an answer may take reading much: queries and deltas.
    public let scans: Bool
    private let records: RecordsForm<Request, Answer>?
    private let perform: @Sendable (Service, Request, Caller) async throws(SyncError) -> Answer

    init(
        _ name: String,
        writes: Bool = false,
        scans: Bool = false,
        records: RecordsForm<Request, Answer>? = nil,
        _ perform: @escaping @Sendable (Service, Request, Caller) async throws(SyncError) -> Answer
    ) {
        self.name = name
        self.writes = writes
        self.scans = scans
        self.records = records
        self.perform = perform
    }
}

/// A method of a service, with any types of request and answer.
public protocol AnyServiceMethod<Service>: Sendable {
    /// The service that has the method.
    associatedtype Service

    /// The name.
    var name: String { get }
    /// True if a call may be repeated only under a request id.
    var writes: Bool { get }
    /// True if an answer may take reading much: queries and deltas.
    var scans: Bool { get }

    /// Returns true if the method's requests and answers can have a form.
    func has(_ form: WireForm) -> Bool

    /// Reads a request, performs it on a service, and returns the answer in a form.
    ///
    /// If the answer cannot have the form, it is JSON. Throws the error of the service, and
    /// `invalidArguments` for bytes that are not a request of the method.
    func answer(
        to request: ReceivedMessage,
        in form: WireForm,
        by service: Service,
        as caller: Caller
    ) async throws(SyncError) -> WireMessage
}

extension AnyServiceMethod {
    /// Answers a request in JSON by the answer's bytes, in JSON too.
    public func answer(
        to request: [UInt8],
        by service: Service,
        as caller: Caller
    ) async throws(SyncError) -> [UInt8] {
        let request = ReceivedMessage(.json, request)
        return try await answer(to: request, in: .json, by: service, as: caller).bytes
    }
}

extension ServiceMethod: AnyServiceMethod {
    /// See `AnyServiceMethod`.
    public func has(_ form: WireForm) -> Bool { form == .json || records != nil }

    /// See `AnyServiceMethod`.
    public func answer(
        to request: ReceivedMessage,
        in form: WireForm,
        by service: Service,
        as caller: Caller
    ) async throws(SyncError) -> WireMessage {
        let value: Request
        switch read(request, json: Request.self, records?.readRequest) {
        case .success(let request): value = request
        case .failure(let problem):
            // The sender's fault. An answer that cannot be read is an internal error instead: the
            // versions of the two sides do not fit.
            throw SyncError(
                .invalidArguments,
                "The request of '\(name)' cannot be read: \(problem.summary)."
            )
        }
        let answer = try await perform(service, value, caller)
        // A `nil` is an answer that the binary form cannot hold, such as a page with lines of
        // several zones. The media type of the response then tells the client that it is JSON.
        if form == .records, let message = try records?.writeAnswer(answer) { return message }
        return WireMessage(.json, try WireCoding.bytes(of: answer))
    }

    /// Returns a request in a form, or in JSON if the method has no other.
    public func message(for request: Request, in form: WireForm) throws(SyncError) -> WireMessage {
        if form == .records, let records { return try records.writeRequest(request) }
        return WireMessage(.json, try WireCoding.bytes(of: request))
    }

    /// Reads an answer.
    ///
    /// Throws `internalError` for bytes that are not one: the other side is not a Tidemark that
    /// this version can speak to.
    public func answer(from message: ReceivedMessage) throws(SyncError) -> Answer {
        switch read(message, json: Answer.self, records?.readAnswer) {
        case .success(let answer): return answer
        case .failure(let problem):
            throw .unreadable("The answer to '\(name)' cannot be read: \(problem.summary).")
        }
    }

    private func read<Value: Decodable>(
        _ message: ReceivedMessage,
        json type: Value.Type,
        _ records: ((_ bytes: [UInt8]) throws(WireFormError) -> Value)?
    ) -> Result<Value, UnreadableMessage> {
        // The declared form decides, and the bytes are not guessed: a message of the binary form
        // that cannot be read is an error, never JSON.
        guard message.form == .records else {
            do throws(DecodingError) {
                return .success(try WireCoding.value(type, from: message.bytes))
            } catch {
                return .failure(UnreadableMessage(summary: error.summary))
            }
        }
        guard let records else {
            return .failure(UnreadableMessage(summary: "the method has no binary form"))
        }
        do throws(WireFormError) {
            return .success(try records(message.bytes))
        } catch {
            return .failure(UnreadableMessage(summary: error.summary))
        }
    }
}

/// The error in a message, with its offset.
private struct UnreadableMessage: Error {
    let summary: String
}
