// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// `/database/1/…`: CloudKit Web Services.
extension Server {
    /// Answers a request to a path below `/database/1/`.
    func answerWebServices(_ request: Request, _ context: some RequestContext) async -> Response {
        if let endpoint = PushEndpoint(request.head) {
            return await answerPush(endpoint, request, context).fitting(request)
        }
        return await answerDatabase(request.head, .parts(request.body), from: context.address)
            .fitting(request)
    }

    func answerDatabase(
        _ head: HTTPRequest,
        _ body: ReceivedBody,
        from address: SocketAddress?
    ) async -> Response {
        let span = RequestSpan(head, tracer)
        let incoming = Incoming(head, body, options, from: address, trace: span.trace)
        return await answer(AppCall(incoming, span)) { (call) async throws(WebError) in
            try await answer(&call)
        }
    }

    private func answer(_ call: inout AppCall) async throws(WebError) -> Response {
        let incoming = call.incoming
        let place = try place(incoming)
        guard let endpoint = WebEndpoint(path: place.endpoint) else {
            throw .noHandler(place.endpoint)
        }
        call.line.endpoint = endpoint.path
        let method = incoming.head.method
        guard method == .post || method == .get && endpoint.allowsGET else {
            return .wrongMethod(endpoint.allowsGET ? "GET, POST" : "POST", incoming)
        }
        // The body before the caller: the signature of a key covers it.
        let body = try await incoming.body(upTo: options.bodyByteLimit)
        let found = try await findSender(&call, body, for: place)
        let answer = try await self.answer(
            WebRequest(
                endpoint.path,
                body: body,
                as: found.caller,
                isExtended: incoming.isExtended,
                // Clients in Python send `True`.
                wantsSyncToken: incoming.query["getCurrentSyncToken"]?.lowercased() == "true"
            ),
            endpoint,
            RequestHost(server: self, incoming: incoming, token: call.token)
        )
        return try await offLoop(if: incoming.takesGzip && answer.count > Self.longAnswer) {
            () async throws(WebError) in Response(json: answer, incoming)
        }
    }

    /// Answers a request whose sender is known, once its container has room for it.
    private func answer(
        _ request: WebRequest,
        _ endpoint: WebEndpoint,
        _ host: RequestHost
    ) async throws(WebError) -> [UInt8] {
        try await pass(
            request.caller.database.container,
            scans: endpoint.scans,
            // Each asset in an answer takes a signature: a short request may name thousands.
            isLong: endpoint.path == "records/query" || request.body.count > Self.longRequest
                || store.hasHeldAssets
        ) { () async throws(WebError) in
            try await WebServices(store, host: host).answer(request)
        }
    }

    /// Performs the work of a request whose sender is known, within the limits of its container.
    ///
    /// Work that is long does not run on the event loop. Throws `THROTTLED` if the container has
    /// the maximum number of open requests.
    func pass<Answer>(
        _ container: ContainerID,
        scans: Bool,
        isLong: Bool,
        _ work: () async throws(WebError) -> Answer
    ) async throws(WebError) -> Answer {
        let own = directory.limits(of: container)
        // The body was read, and the sender found, outside of the gate. A slow client does not
        // occupy one of the container's places.
        return try await gates.pass(
            container,
            requests: own?.requests ?? options.requestsPerContainer,
            scans: scans ? own?.scans ?? options.scansPerContainer : nil
        ) { () async throws(WebError) -> Answer in try await offLoop(if: isLong, work) }
    }

    /// The bytes of a request above which its work may be long.
    ///
    /// A request of this size names some fifty records of a megabyte, or changes a few.
    static let longRequest = 1 << 10
    /// The bytes of an answer above which its compression may take milliseconds.
    static let longAnswer = 64 << 10

    /// Performs work on Swift's threads, and not on that of the event loop, if it may be long.
    ///
    /// Work on the loop delays all other connections of the loop, those of health checks too. Short
    /// work stays there, because a change of threads takes longer than the work.
    func offLoop<Answer, Failure: Error>(
        if isLong: Bool,
        _ work: () async throws(Failure) -> Answer
    ) async throws(Failure) -> Answer {
        guard isLong else { return try await work() }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            () async throws(Failure) -> Answer in
            // A call alone stays on its thread. The task resumes where its preference says.
            await Task.yield()
            return try await work()
        }
    }

    /// Reads the database of a path: `database/1/CONTAINER/ENVIRONMENT/DATABASE/…`.
    private func place(_ incoming: Incoming) throws(WebError) -> Callers.Place {
        let parts = incoming.path
        guard parts.count > 5 else { throw .noHandler(incoming.path.joined(separator: "/")) }
        guard let environment = TidemarkModel.Environment(rawValue: parts[3]) else {
            throw .badRequest(
                "There is no environment '\(parts[3])'; the environments are development and "
                    + "production."
            )
        }
        guard let scope = DatabaseScope(name: parts[4]) else {
            throw .badRequest(
                "There is no database '\(parts[4])'; the databases are public, private and shared."
            )
        }
        return Callers.Place(
            container: ContainerID(parts[2]),
            environment: environment,
            scope: scope,
            // An endpoint may have several parts, such as `users/lookup/email`.
            endpoint: parts[5...].joined(separator: "/")
        )
    }
}
#endif
