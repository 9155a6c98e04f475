// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
public import TidemarkModel
public import TidemarkWire

/// The way over HTTP to a `DatabaseService` that a server answers for, below `/tidemark/1/`.
public struct HTTPTransport: ServiceTransport {
    let connection: ServerConnection

    init(_ connection: ServerConnection) {
        self.connection = connection
    }

    /// See `ServiceTransport`.
    public var form: WireForm { connection.form }

    /// See `ServiceTransport`.
    public var isClosed: Bool { connection.isClosed }

    /// See `ServiceTransport`.
    public func send(
        _ request: WireMessage,
        to method: String,
        as caller: Caller
    ) async throws(SyncError) -> ReceivedMessage {
        var call = ServerCall(method, .message(request), as: caller)
        call.accept(request.form)
        return try await connection.send(call).message()
    }

    /// Sends a JSON request whose answer is a stream.
    func open(
        _ method: String,
        _ request: some Encodable,
        as caller: Caller
    ) async throws(SyncError) -> ServerAnswer {
        // These methods have no binary form.
        let message = WireMessage(.json, try WireCoding.bytes(of: request))
        var call = ServerCall(method, .message(message), as: caller)
        call.takesLong = true
        return try await connection.send(call)
    }
}

extension ServerConnection {
    /// The service that the server answers for.
    public var service: RemoteService<HTTPTransport> {
        RemoteService(over: HTTPTransport(self), patience: options.patience)
    }
}

extension ServerCall {
    /// Creates a call of a method of the database service.
    init(_ method: String, _ body: Body, as caller: Caller) {
        let place = caller.database
        let parts = [
            place.container.identifier, place.environment.rawValue, place.scope.name, method,
        ]
        self.init("/tidemark/1/" + parts.map(PercentCoding.encoded).joined(separator: "/"), body)
        isAnonymous = caller.user == nil
        if let device = caller.device { query.append(("clientId", device)) }
        // Without the header, the server takes the database of the signed-in user, whose name the
        // client need not know.
        let isOwned = place.scope != .public && place.owner != .current
        for (name, text) in [
            (HeaderValue.requestID, caller.requestID), (HeaderValue.build, caller.build),
            // A client that names its user gets an error if the connection has become another's.
            // Otherwise the data of two users would mix.
            (HeaderValue.user, caller.user == .current ? nil : caller.user?.userRecordName),
            (HeaderValue.owner, isOwned ? place.owner.userRecordName : nil),
        ] {
            if let text { headers.append((name, PercentCoding.encoded(text))) }
        }
        if let trace = caller.trace { headers.append(("traceparent", trace.traceparent)) }
    }

    /// Sets the form in which the answer may come.
    mutating func accept(_ form: WireForm) {
        // JSON is always accepted: an answer that the binary form cannot hold is JSON.
        let forms = form == .json ? [form] : [form, .json]
        headers.append(("Accept", forms.map(\.mediaType).joined(separator: ", ")))
    }
}
#endif
