// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// `/tidemark/1/CONTAINER/ENVIRONMENT/DATABASE/METHOD`: the methods of `DatabaseService`, for
/// Tidemark's own clients.
extension Server {
    func answerService(
        _ request: Request,
        from address: SocketAddress?,
        over connection: (any Channel)?
    ) async -> Response {
        let span = RequestSpan(request.head, tracer)
        let incoming = Incoming(request, options, from: address, trace: span.trace)
        var call = ServiceCall(incoming, connection, span)
        metrics.begins()
        do throws(SyncError) {
            try await prepare(&call)
            let isPreflight = request.method == .options
            call.response =
                isPreflight ? .preflight(incoming, call.origin) : try await answer(&call)
        } catch {
            var failure = error
            // The user of an issuer's token has no use for the server's own page.
            if error.code == .notAuthenticated, let token = call.token, incoming.bearer == nil {
                failure = error.signingIn(at: signInURL(token, incoming))
            }
            call.line.code = failure.code.serverErrorCode
            call.line.cause = WebError(failure).cause
            call.response = Response(failure, incoming)
        }
        if let session = call.found?.session {
            call.response.add(webToken: directory.webToken(of: session))
        }
        if let origin = call.origin { call.response.allow(origin) }
        call.line.end(metrics, requestLog, status: call.response.status.code)
        return call.response
    }

    /// A request on its way to its answer.
    struct ServiceCall {
        let incoming: Incoming
        let connection: (any Channel)?
        var origin: String?
        var line: RequestLine
        var token: APIToken?
        /// The sender, once it is known.
        var found: Callers.Found?
        var response = Response(status: .ok)

        init(_ incoming: Incoming, _ connection: (any Channel)?, _ span: RequestSpan) {
            self.connection = connection
            self.incoming = incoming
            origin = incoming.origin
            line = RequestLine(incoming, span)
        }
    }

    /// Identifies the calling app, and applies its limits to the request.
    private func prepare(_ call: inout ServiceCall) async throws(SyncError) {
        try await SyncError.wrapping { () async throws(WebError) -> Void in
            call.token = try await callers.token(call.incoming)
            if let known = call.token, let asking = call.origin, !known.allows(asking) {
                call.origin = nil
            }
            guard call.incoming.head.method != .options else {
                call.line.endpoint = "preflight"
                return
            }
            try limits.take(.address, of: call.incoming.address)
            try limits.take(.token, of: call.token?.id.text)
        }
    }

    private func answer(_ call: inout ServiceCall) async throws(SyncError) -> Response {
        let incoming = call.incoming
        let place = try place(incoming)
        let name = place.endpoint
        if let stream = ServiceStream(rawValue: name) {
            call.line.endpoint = "tidemark/\(name)"
            try check(incoming.head.method)
            switch stream {
            case .uploadAsset: return try await upload(&call, place)
            case .downloadAsset: return try await download(&call, place)
            case .notifications: return try await notifications(&call, place)
            case .accountStatuses: return try await accountStatuses(&call, place)
            }
        }
        guard let method = DatabaseMethods.named(name) else {
            throw SyncError(.invalidArguments, "There is no method '\(name)'.")
        }
        call.line.endpoint = "tidemark/\(name)"
        try check(incoming.head.method)
        let type = incoming.header(.contentType) ?? ""
        guard let form = WireForm(mediaType: type), method.has(form) else {
            return .unknownForm(type, incoming)
        }
        // The body before the caller: the signature of a key covers it.
        let body = try await collected(incoming)
        let caller = try await caller(&call, body, place)
        let answer = try await perform(
            in: place.container,
            scans: method.scans,
            isLong: method.name == "query" || body.count > Self.longRequest
        ) { () async throws(SyncError) in
            try await method.answer(
                to: ReceivedMessage(form, body),
                in: incoming.takenForm,
                by: store,
                as: caller
            )
        }
        return try await offLoop(if: incoming.takesGzip && answer.byteCount > Self.longAnswer) {
            () async throws(SyncError) in Response(answer, incoming)
        }
    }

    /// Performs a call whose sender is known, within the limits of its container.
    private func perform<Answer>(
        in container: ContainerID,
        scans: Bool,
        isLong: Bool,
        _ work: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let result = try await SyncError.wrapping { () async throws(WebError) in
            try await pass(container, scans: scans, isLong: isLong) {
                () async throws(WebError) -> Result<Answer, SyncError> in
                do throws(SyncError) {
                    return .success(try await work())
                } catch {
                    return .failure(error)
                }
            }
        }
        return try result.get()
    }

    private func check(_ method: HTTPRequest.Method) throws(SyncError) {
        guard method == .post else {
            throw SyncError(
                .invalidArguments,
                "A method is called with POST, not \(method.rawValue)."
            )
        }
    }

    func collected(_ incoming: Incoming) async throws(SyncError) -> [UInt8] {
        try await SyncError.wrapping { () async throws(WebError) in
            try await incoming.body(upTo: options.bodyByteLimit)
        }
    }

    /// Reads a request in JSON, and identifies its sender.
    func read<Value: Decodable>(
        _ type: Value.Type,
        _ call: inout ServiceCall,
        _ place: Callers.Place
    ) async throws(SyncError) -> (value: Value, caller: Caller) {
        let body = try await collected(call.incoming)
        let caller = try await caller(&call, body, place)
        do throws(DecodingError) {
            return (try WireCoding.value(type, from: body), caller)
        } catch {
            throw SyncError(
                .invalidArguments,
                "The request of '\(place.endpoint)' cannot be read: \(error.summary)."
            )
        }
    }

    /// Identifies the sender of a request, and adds the details that only Tidemark's own clients
    /// send.
    func caller(
        _ call: inout ServiceCall,
        _ body: [UInt8],
        _ place: Callers.Place
    ) async throws(SyncError) -> Caller {
        let incoming = call.incoming
        let found = try await SyncError.wrapping { () async throws(WebError) -> Callers.Found in
            let found = try await callers.find(incoming, body, call.token, for: place)
            call.line.caller = found.caller
            try limits.take(found.caller)
            return found
        }
        call.found = found
        var caller = found.caller
        let text = { (name: HTTPField.Name) in
            incoming.header(name).map { PercentCoding.decoded($0[...]) }
        }
        caller.requestID = text(.tidemarkRequestID)
        caller.build = text(.tidemarkBuild)
        if let user = text(.tidemarkUser), user != caller.user?.userRecordName {
            throw SyncError(
                .notAuthenticated,
                "The request is for the user \(user), who has not signed in on this connection."
            )
        }
        // `__defaultOwner__` is the caller, whose database is known. The store has a database of this
        // owner too, which is open to all of its own callers (semantics.md, "Who asks").
        if let owner = text(.tidemarkOwner), UserID(owner) != .current {
            // The store checks the access to the database.
            caller.database = DatabaseID(
                container: place.container,
                environment: place.environment,
                scope: place.scope,
                owner: UserID(owner)
            )
        }
        return caller
    }

    /// Reads the database of a path.
    private func place(_ incoming: Incoming) throws(SyncError) -> Callers.Place {
        let parts = incoming.path
        guard parts.count == 6, let environment = TidemarkModel.Environment(rawValue: parts[3]),
            let scope = DatabaseScope(name: parts[4])
        else {
            throw SyncError(
                .invalidArguments,
                "The path is not /tidemark/1/CONTAINER/ENVIRONMENT/DATABASE/METHOD, with the environment"
                    + " development or production and the database public, private or shared."
            )
        }
        return Callers.Place(
            container: ContainerID(parts[2]),
            environment: environment,
            scope: scope,
            endpoint: parts[5]
        )
    }
}

/// The methods whose request or answer is a stream.
enum ServiceStream: String, CaseIterable {
    case uploadAsset, downloadAsset, notifications, accountStatuses
}

extension SyncError {
    /// Returns the result of a closure; rethrows its error as an error of the service.
    fileprivate static func wrapping<Result>(
        _ body: () async throws(WebError) -> Result
    ) async throws(SyncError) -> Result {
        do throws(WebError) {
            return try await body()
        } catch {
            throw SyncError(error)
        }
    }

    /// Translates the error of a request that did not reach the service.
    init(_ error: WebError) {
        let code = error.status == 413 ? .limitExceeded : Code(serverErrorCode: error.code)
        self.init(
            code ?? .internalError,
            error.reason,
            retryAfter: error.retryAfter.map { .seconds($0) }
        )
    }

    /// Returns the same error with the address at which the user signs in.
    fileprivate func signingIn(at address: String) -> SyncError {
        SyncError(code, message, remedy: "Sign in at \(address), then repeat the request.")
    }
}

extension Incoming {
    /// The form in which the client accepts an answer: JSON by default.
    fileprivate var takenForm: WireForm {
        let types = (header(.accept) ?? "").split(separator: ",")
        return types.contains { WireForm(mediaType: String($0)) == .records } ? .records : .json
    }
}

extension Response {
    /// Creates an answer of a service.
    init(_ message: WireMessage, _ incoming: Incoming) {
        let isCoded = message.byteCount >= Gzip.least && incoming.takesGzip
        if isCoded, let coded = Gzip.compressed(message.bytes) {
            self.init(message.form.mediaType, ByteBuffer(bytes: coded), incoming)
            headers[.contentEncoding] = "gzip"
            return
        }
        // The bytes of the answer are written once, directly to the buffer that is sent.
        var buffer = ByteBuffer()
        buffer.reserveCapacity(message.byteCount)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: message.byteCount) { room in
            message.write(to: room)
            return message.byteCount
        }
        self.init(message.form.mediaType, buffer, incoming)
    }

    /// Creates an answer with the whole error of a service.
    init(_ error: SyncError, status: Int? = nil, _ incoming: Incoming) {
        let message = WireMessage(.json, error.wireBytes)
        self.init(message, incoming)
        self.status = HTTPResponse.Status(code: status ?? error.code.httpStatus)
        if let wait = error.retryAfter {
            headers[.retryAfter] = String(max(1, wait.components.seconds))
        }
    }

    private init(_ type: String, _ body: ByteBuffer, _ incoming: Incoming) {
        self.init(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
                .vary: "Accept-Encoding",
            ],
            body: ResponseBody(byteBuffer: body)
        )
        headers[.requestUUID] = incoming.uuid
    }

    /// Returns the answer to a request in a form that its method does not support; nothing was
    /// done.
    fileprivate static func unknownForm(_ type: String, _ incoming: Incoming) -> Response {
        Response(
            SyncError(
                .incompatibleVersion,
                "A request of the media type '\(type)' cannot be read; every method accepts "
                    + "\(WireForm.json.mediaType)."
            ),
            status: 415,
            incoming
        )
    }
}
#endif
