// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncAlgorithms
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import TidemarkModel
import TidemarkWire

/// The methods of `DatabaseService` that send bit by bit: streams, uploads and downloads.
extension Server {
    func notifications(
        _ call: inout ServiceCall,
        _ place: Callers.Place
    ) async throws(SyncError) -> Response {
        let (request, caller) = try await read(NotificationChangesRequest.self, &call, place)
        let token: ChangeToken
        if let since = request.since {
            token = since
        } else {
            token = try await store.notificationToken(as: caller)
        }
        let listening = try listening(call)
        let stream = try await store.notifications(since: token, as: caller)
        return .lines(stream, listening, call.incoming)
    }

    func accountStatuses(
        _ call: inout ServiceCall,
        _ place: Callers.Place
    ) async throws(SyncError) -> Response {
        let (_, caller) = try await read(Nothing.self, &call, place)
        let listening = try listening(call)
        let stream = try await store.accountStatuses(as: caller)
        return .lines(stream, listening, call.incoming)
    }

    /// Returns the sender of a call that is about to listen; throws if its user has too many
    /// streams.
    private func listening(_ call: ServiceCall) throws(SyncError) -> ServiceListening {
        guard let found = call.found else {
            throw SyncError(.notAuthenticated, "The sender of the request is not known.")
        }
        let listening = ServiceListening(server: self, found: found, connection: call.connection)
        // Checked here too, because a stream that has begun cannot change the status of the
        // response any more.
        try listening.check()
        return listening
    }

    func upload(
        _ call: inout ServiceCall,
        _ place: Callers.Place
    ) async throws(SyncError) -> Response {
        let incoming = call.incoming
        let request = incoming.header(.tidemarkRequest)
            .flatMap { HeaderValue.value(UploadAssetRequest.self, from: $0) }
        guard let request else {
            throw SyncError(
                .invalidArguments,
                "An upload needs the header \(HeaderValue.request), which says what it is for."
            )
        }
        // A key signs the JSON of the header, because the body is not known in advance
        // (Docs/formats/wire.md, "Assets"). The server needs the caller before it reads the first
        // byte.
        let caller = try await caller(&call, request.json, place)
        let asset = try await store.uploadAsset(
            incoming.parts.map { Array($0.readableBytesView) },
            request.value,
            as: caller
        )
        return Response(WireMessage(.json, try WireCoding.bytes(of: asset)), incoming)
    }

    func download(
        _ call: inout ServiceCall,
        _ place: Callers.Place
    ) async throws(SyncError) -> Response {
        let (request, caller) = try await read(DownloadAssetRequest.self, &call, place)
        let download = try await store.downloadAsset(request, as: caller)
        var response = Response.streaming(PieceFrames.mediaType, call.incoming) { writer in
            // The status is sent before the first piece, so a later error is sent as the last
            // frame.
            var end = PieceFrames.end
            do {
                // A length of zero ends the stream of pieces, so an empty piece must not be sent.
                for try await piece in download where !piece.isEmpty {
                    let head = PieceFrames.head(ofPiece: piece.count)
                    try await writer.write(ByteBuffer(joining: head, piece))
                }
            } catch let error as SyncError {
                end = try PieceFrames.end(error)
            }
            try await writer.write(ByteBuffer(bytes: end))
        }
        response.headers[.tidemarkAnswer] = try HeaderValue.text(of: DownloadHead(download)).text
        return response
    }
}

/// The client of one stream: its credentials, its connection, and its place among the listeners of
/// its user.
private struct ServiceListening: Sendable {
    let server: Server
    let found: Callers.Found
    let connection: (any Channel)?

    /// The time after which an idle stream writes an empty line.
    ///
    /// A client counts a stream as lost after 60 seconds of silence
    /// (`ConnectionOptions.streamTimeout`), so two of three beats may be late.
    var beat: Duration { min(.seconds(20), server.options.heartbeat) }

    /// The place of its user's notifications, by which streams are counted; those without a user count
    /// together, by their container.
    private var collection: DatabaseID {
        found.caller.notificationCollection ?? found.caller.database.sibling(.public, of: .current)
    }

    /// Throws if the user has too many streams for another one.
    func check() throws(SyncError) {
        do throws(ListenerHub.Refusal) {
            try server.push.hub.check(collection)
        } catch {
            // A stopping server ends the stream without a last line, and the client reconnects.
            if error == .tooMany { throw SyncError(error.webError) }
        }
    }

    /// Adds the stream to the listeners of its user.
    ///
    /// Throws a `SyncError` for the client if the user has too many streams, and another error if
    /// the server is stopping.
    func begin() throws -> Listener {
        if let connection { ConnectionWatch.begin(on: connection) }
        do throws(ListenerHub.Refusal) {
            return try server.push.hub.add(for: collection)
        } catch {
            if error == .tooMany { throw SyncError(error.webError) }
            throw error
        }
    }

    /// Removes the stream from the listeners.
    func end(_ listener: Listener) {
        server.push.hub.remove(listener)
    }

    /// Throws a `SyncError` if the credentials with which the stream began are no longer valid, and
    /// another error if that cannot be read.
    func checkCredentials() async throws {
        let isGood: Bool
        do {
            isGood = try await server.directory.isGood(found)
        } catch {
            // As if the server stopped: the connection breaks, and the client opens the stream again.
            // An error for the client would end its stream for good.
            throw ListenerHub.Refusal.ended
        }
        guard isGood else {
            throw SyncError(
                .notAuthenticated,
                "The session, key or API token with which the stream began has ended.",
                remedy: "Sign in, then open the stream again."
            )
        }
    }
}

extension Response {
    /// Returns an answer whose body is a stream, until the connection or the server is closed.
    fileprivate static func streaming(
        _ type: String,
        _ incoming: Incoming,
        _ write:
            @escaping @concurrent @Sendable (inout any ResponseBodyWriter) async throws -> Void
    ) -> Response {
        var response = Response(
            status: .ok,
            headers: [
                .contentType: type, .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody { writer in
                // If this throws, the body is not finished. The client then sees a lost connection
                // and not a clean end.
                try await write(&writer)
                try await writer.finish(nil)
            }
        )
        response.headers[.requestUUID] = incoming.uuid
        // A proxy that buffers the answer would delay the stream.
        response.headers[.accelBuffering] = "no"
        return response
    }

    private enum Told<Element: Codable & Sendable> {
        case line(StreamLine<Element>)
        case beat
    }

    /// Returns a stream as lines, with an empty one after some time without an element.
    ///
    /// It ends without a last line when the store or the server does, so that clients reconnect. It ends
    /// with an error when the client's credentials do, at the latest at the next empty line.
    fileprivate static func lines<Element: Codable & Sendable>(
        _ stream: AsyncThrowingStream<Element, any Error>,
        _ client: ServiceListening,
        _ incoming: Incoming
    ) -> Response {
        let lines = chain(stream.map { StreamLine.element($0) }, [StreamLine<Element>.end].async)
        let beats = AsyncTimerSequence(interval: client.beat, clock: .continuous)
        let told = merge(
            lines.map { Told.line($0) },
            beats.map { _ in Told<Element>.beat }
        ).cancelOnGracefulShutdown()
        return streaming("application/x-ndjson", incoming) { writer in
            // The head is sent with the first bytes.
            try await writer.write(ByteBuffer(string: "\n"))
            do {
                let listener = try client.begin()
                defer { client.end(listener) }
                for try await event in told {
                    // Before each line: after signing out, a client receives no later element. It
                    // also counts as a use, so a stream keeps its session alive.
                    try await client.checkCredentials()
                    guard case .line(let line) = event else {
                        try await writer.write(ByteBuffer(string: "\n"))
                        continue
                    }
                    // The beats never end, so the merged stream does not end by itself. It ends with
                    // the store, and a server may open that again, as after a reset.
                    if case .end = line { return }
                    try await writer.write(ByteBuffer(bytes: line.bytes()))
                }
            } catch let error as SyncError {
                let line = try StreamLine<Element>.failure(error).bytes()
                try await writer.write(ByteBuffer(bytes: line))
            }
        }
    }
}

extension ByteBuffer {
    fileprivate init(joining parts: [UInt8]...) {
        self.init()
        reserveCapacity(parts.reduce(0) { $0 + $1.count })
        for part in parts { writeBytes(part) }
    }
}
#endif
