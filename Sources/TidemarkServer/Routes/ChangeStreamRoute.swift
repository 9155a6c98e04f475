// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import Tidemark
import TidemarkModel
import TidemarkWire

/// `GET …/changes/stream`: notifications as Server-Sent Events.
extension Server {
    func stream(
        _ incoming: Incoming,
        _ found: Callers.Found,
        _ connection: (any Channel)?
    ) async throws(WebError) -> Response {
        guard let collection = found.caller.notificationCollection else {
            throw .authenticationRequired
        }
        do {
            // Checked here too, because the body cannot change the status of the response any more.
            try push.hub.check(collection)
        } catch {
            throw error.webError
        }
        // An empty id is that of a client which has had no event.
        let text = [incoming.header(.lastEventID), incoming.query["since"]]
            .compactMap(\.self).first { !$0.isEmpty }
        var start = text.flatMap { ChangeToken($0) }
        if start == nil, let text {
            throw .badRequest("\"\(text)\" is not the id of an event of a stream.")
        }
        var isComplete = true
        do throws(SyncError) {
            if let start {
                // This only validates the token, while the response can still have the status of an
                // error.
                _ = try await store.pushes(since: start, limit: 1, as: found.caller)
            } else {
                start = try await store.notificationToken(as: found.caller)
            }
        } catch {
            guard error.code == .changeTokenExpired else { throw WebError(error) }
            start = nil
            isComplete = false
        }
        let stream = ChangeStream(
            server: self,
            found: found,
            collection: collection,
            start: start,
            isComplete: isComplete
        )
        return Response(
            status: .ok,
            headers: Self.streamHeaders,
            body: ResponseBody { writer in try await stream.write(to: &writer, connection) }
        )
    }

    private static let streamHeaders: HTTPFields = {
        var headers: HTTPFields = [
            .contentType: "text/event-stream", .cacheControl: "no-store",
            .xContentTypeOptions: "nosniff",
        ]
        // Proxies must not buffer the stream.
        headers[.accelBuffering] = "no"
        return headers
    }()
}

/// One client's stream of notifications.
private struct ChangeStream: Sendable {
    let server: Server
    let found: Callers.Found
    let collection: DatabaseID
    /// The position of the client; `nil` if it must start again.
    let start: ChangeToken?
    /// True unless the client has missed something.
    let isComplete: Bool

    /// Writes events until the client or the server ends the stream.
    @concurrent
    func write(to writer: inout any ResponseBodyWriter, _ connection: (any Channel)?) async throws {
        let listener: Listener
        do {
            // Before the first read: a notification that is made between a read and the wait leaves
            // a mark, and the wait returns at once.
            listener = try server.push.hub.add(for: collection)
        } catch {
            // The status is 200 already, so the reason is only in the time to wait: a stopping
            // server is back soon, a user with too many streams has to close some first.
            return try await finish(writer, .retry(error == .ended ? 1000 : 30_000))
        }
        defer { server.push.hub.remove(listener) }
        if let connection {
            ConnectionWatch.begin(on: connection)
            listener.end(with: connection)
        }
        do {
            var token = try await begin(to: &writer)
            // `told` is the position that the client has, `token` the one that was read up to. They
            // differ after changes of the client itself, which make no event; the next beat then
            // sends the id alone.
            var told = token
            // The first round reads without waiting: notifications after `start` may exist already.
            var marks: Listener.Marks = .news
            var credentials = HeldCredentials(found)
            // After signing out, a client receives no later notification.
            while !marks.contains(.end) {
                do {
                    // The check before each round stops the stream of a session that ends within
                    // one beat, and keeps a session alive.
                    guard try await credentials.areGood(in: server.directory) else { break }
                    if marks.contains(.news) { try await send(to: &writer, &token, &told) }
                    if marks.contains(.beat) {
                        try await writer.write(token == told ? .beat : .position(token))
                        told = token
                    }
                } catch let error as SyncError
                    where error.code == .serviceUnavailable && error.retryAfter != nil
                {
                    // Something is erased from the store. The store marks all listeners when that
                    // is over. A page would not connect again to a server that answers with 503.
                    try await writer.write(.beat)
                }
                marks = await listener.takeMarks()
            }
        } catch is SyncError {
            // The store is closed, or cannot be read: the client retries.
        }
        try await finish(writer, .retry(1000))
    }

    /// Writes the position at which the stream begins.
    @concurrent
    private func begin(to writer: inout any ResponseBodyWriter) async throws -> ChangeToken {
        guard let start, isComplete else { return try await reset(to: &writer) }
        try await writer.write(.event("ready", Array("{}".utf8), start))
        return start
    }

    /// Notifies the client that it has missed notifications, and continues after all existing ones.
    @concurrent
    private func reset(to writer: inout any ResponseBodyWriter) async throws -> ChangeToken {
        let token = try await server.store.notificationToken(as: found.caller)
        try await writer.write(.event("reset", Array("{}".utf8), token))
        return token
    }

    /// Writes the notifications after a token, a page at a time.
    @concurrent
    private func send(
        to writer: inout any ResponseBodyWriter,
        _ token: inout ChangeToken,
        _ told: inout ChangeToken
    ) async throws {
        let caller = found.caller
        while true {
            let shared: SharedPages.SharedPage
            do throws(SyncError) {
                shared = try await server.push.hub.pages.page(since: token, of: collection) {
                    [token] () throws(SyncError) in
                    try await server.store.sharedPushes(since: token, as: caller)
                }
            } catch {
                guard error.code == .changeTokenExpired else { throw error }
                token = try await reset(to: &writer)
                told = token
                return
            }
            let news = shared.events(for: caller)
            try server.store.notePushes(
                news?.count ?? 0,
                of: shared.page,
                since: token,
                to: caller
            )
            if let news {
                try await writer.write(news.events)
                told = news.token
            }
            token = shared.page.token
            guard shared.page.moreComing else { return }
        }
    }

    @concurrent
    private func finish(_ writer: any ResponseBodyWriter, _ last: ByteBuffer) async throws {
        var writer = writer
        try await writer.write(last)
        try await writer.finish(nil)
    }
}

/// Lines of Server-Sent Events.
extension ByteBuffer {
    /// A comment that keeps the connection open.
    fileprivate static let beat = ByteBuffer(string: ":\n\n")

    /// Returns an id alone, for a client whose position changed without an event.
    ///
    /// A client gets no event of its own changes.
    fileprivate static func position(_ token: ChangeToken) -> ByteBuffer {
        ByteBuffer(string: "id: \(token)\n\n")
    }

    /// Returns the time after which a client connects again, in milliseconds.
    fileprivate static func retry(_ milliseconds: Int) -> ByteBuffer {
        ByteBuffer(string: "retry: \(milliseconds)\n\n")
    }
}
#endif
