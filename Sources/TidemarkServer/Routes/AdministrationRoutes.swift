// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncAlgorithms
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import Tidemark
import TidemarkAdministration
import TidemarkDatabase
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// `/tidemark/1/administration/…`: the calls of operators, in lines of JSON.
extension Server {
    /// The administrator of a request.
    struct Operator: Sendable {
        /// The id of the credential.
        let id: String
        let name: String
        /// The address of the client; `nil` on the socket in the store's folder.
        let address: String?

        /// The operator with access to the socket in the store's folder.
        static let local = Operator(id: "local", name: "local", address: nil)
    }

    /// The calls by name.
    private static let calls: [String: any AdministrationCall.Type] = {
        let all: [any AdministrationCall.Type] = StoreCalls.all + DirectoryCalls.all
        return Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    }()

    /// Bytes that the body of a call may have: a schema is the longest.
    private static let callByteLimit = 32 << 20

    /// Answers a call from the network.
    func administer(
        _ request: Request,
        _ name: String,
        from address: SocketAddress?
    ) async -> Response {
        let incoming = Incoming(request, options, from: address)
        metrics.begins()
        do {
            try limits.take(.address, of: incoming.address)
            let found = try await authenticated(incoming)
            return await answer(incoming, name, by: found)
        } catch {
            var line = RequestLine(incoming, RequestSpan(incoming.head, tracer))
            line.endpoint = "administration"
            let failure = WebError(any: error)
            line.fails(failure)
            line.end(metrics, requestLog, status: failure.status)
            var response = Response(administration: failure.reason, status: failure.status)
            if failure.status == 401 { response.headers[.wwwAuthenticate] = "Bearer" }
            if let seconds = failure.retryAfter { response.headers[.retryAfter] = String(seconds) }
            return response
        }
    }

    /// Answers a call from the socket in the store's folder.
    func administerLocally(_ request: Request, _ name: String) async -> Response {
        metrics.begins()
        return await answer(Incoming(request, options), name, by: .local)
    }

    /// Returns the administrator whose secret a request carries.
    private func authenticated(_ incoming: Incoming) async throws -> Operator {
        guard let secret = incoming.bearer,
            let found = try await directory.administrator(secret)
        else { throw WebError.refusedCredential("The secret is that of no administrator.") }
        return Operator(id: found.id.text, name: found.name, address: incoming.address)
    }

    private func answer(
        _ incoming: Incoming,
        _ name: String,
        by administrator: Operator
    ) async -> Response {
        var line = RequestLine(incoming, RequestSpan(incoming.head, tracer))
        line.endpoint = "administration"
        line.administrator = administrator.name
        do {
            guard let type = Self.calls[name] else { throw WebError.noHandler(name) }
            line.endpoint = "administration/" + name
            let body = try await incoming.body(upTo: Self.callByteLimit)
            return try await answer(type, body, by: administrator, line)
        } catch {
            let failure = WebError(any: error)
            line.fails(failure)
            line.end(metrics, requestLog, status: failure.status)
            return Response(administration: failure.reason, status: failure.status)
        }
    }

    private func answer<Call: AdministrationCall>(
        _ type: Call.Type,
        _ body: [UInt8],
        by administrator: Operator,
        _ line: RequestLine
    ) async throws -> Response {
        let call = try AdministrationLines.call(type, from: body)
        // Before the head of the answer is sent: a call that is rejected, because it cannot be
        // recorded, still gets the status of an error.
        try await keep(call, by: administrator)
        let line = SentLine(line, metrics, requestLog)
        let service = ServerAdministration(
            of: StoreAdministration(of: store, at: folder, by: administrator.id) {
                Task.isShuttingDownGracefully
            },
            directory,
            endWebhooks: push.webhooks.reload
        )
        return Response(
            status: .ok,
            headers: Self.lineHeaders,
            body: ResponseBody { writer in
                do {
                    let code: String?
                    do {
                        code = try await CallAnswer(call, by: service).write(to: &writer)
                    } catch {
                        // The client is gone, but the call may have been made.
                        try? await self.reloadWebhooks(after: Call.self)
                        throw error
                    }
                    try await self.reloadWebhooks(after: Call.self)
                    line.end(status: 200, code: code)
                    try await writer.finish(nil)
                } catch {
                    // The client has a head with status 200 already.
                    line.endLost()
                    throw error
                }
            }
        )
    }

    /// Starts and stops webhooks after a call that may have added or removed one.
    private func reloadWebhooks<Call: AdministrationCall>(after call: Call.Type) async throws {
        let isErasure = Call.self == ErasureCall.self
        guard isErasure || Call.self == AdministrationRequest.self else { return }
        do {
            // In a task of its own: the task of a request whose client is gone may be cancelled.
            try await Task { try await push.webhooks.reload() }.value
        } catch {
            // The store may have stayed closed after an erasure. The client has been told so.
            if !isErasure { throw error }
        }
    }

    fileprivate static let lineHeaders: HTTPFields = [
        .contentType: "application/x-ndjson", .cacheControl: "no-store",
        .xContentTypeOptions: "nosniff",
    ]

    /// Records a call before it is answered.
    ///
    /// A store that cannot write still answers calls that only read.
    private func keep<Call: AdministrationCall>(
        _ call: Call,
        by administrator: Operator
    ) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let content = String(decoding: try encoder.encode(await recorded(call)), as: UTF8.self)
        do {
            try await directory.keep(
                AdministrationRecord(
                    id: RecordName("\(Clock.now())-\([UInt8].random(8).hexadecimal)"),
                    administrator: administrator.id,
                    name: administrator.name,
                    call: Call.name,
                    // A schema can have megabytes; its beginning shows what the call was.
                    content: String(content.prefix(10_000)),
                    address: administrator.address ?? ""
                )
            )
        } catch {
            if call.writes { throw error }
            logger.error(
                "a call of an administrator could not be recorded",
                metadata: ["call": "\(Call.name)", "administrator": "\(administrator.name)"]
            )
        }
    }

    /// Returns a call as it is recorded: without secrets, and with the names of records as they are.
    private func recorded<Call: AdministrationCall>(_ call: Call) async -> Call {
        // The text of a token and the name of its record look alike; only the name is in the store.
        guard case .revokeToken(let id)? = call as? AdministrationRequest,
            (try? await directory.tokenName(id))?.text == id
        else { return call.recorded }
        return call
    }
}

/// The line of a call whose answer is being sent; it ends once.
private final class SentLine: Sendable {
    private let line: Lock<RequestLine?>
    private let metrics: Metrics
    private let log: RequestLog

    init(_ line: RequestLine, _ metrics: Metrics, _ log: RequestLog) {
        self.line = Lock(line)
        self.metrics = metrics
        self.log = log
    }

    func end(status: Int, code: String?) {
        guard var line = line.withLock({ $0.take() }) else { return }
        line.code = code
        line.end(metrics, log, status: status)
    }

    /// Ends the line of a call whose client has gone; 499 is the usual number in logs for that.
    func endLost() { end(status: 499, code: "CONNECTION_LOST") }

    // The body of the response has the last reference. If its head cannot be written, the body never runs.
    deinit { endLost() }
}

/// The answer to a call while it is sent to a client.
///
/// It has the lines of the answer. Between them are lines with the progress, or empty lines, so
/// that both sides detect a lost connection.
private struct CallAnswer<Call: AdministrationCall>: Sendable {
    let call: Call
    let service: any AdministrationService
    /// The lines for the client; an empty one has no content.
    private let lines = AsyncChannel<[UInt8]>()

    /// The pause between two reports of progress to the client.
    private static var reportPause: Duration { .milliseconds(500) }
    /// The number of these pauses after which the client gets a line in any case.
    private static var silentPauseCount: Int { 20 }

    init(_ call: Call, by service: any AdministrationService) {
        self.call = call
        self.service = service
    }

    /// Writes all lines; returns the code of the error if the last one was an error.
    ///
    /// Throws if the client is gone; the call is then cancelled.
    func write(to writer: inout any ResponseBodyWriter) async throws -> String? {
        let progress = LatestProgress()
        return try await withThrowingTaskGroup(of: String?.self) { group in
            // Both tasks send into the channel, which holds no elements: `send` waits until the
            // loop below has taken the line. A slow client therefore slows the call's reading of
            // the log.
            group.addTask { await answered(progress) }
            group.addTask { await tick(progress) }
            for await line in lines {
                try await writer.write(ByteBuffer(bytes: line + [UInt8(ascii: "\n")]))
            }
            // `tick` ends only when it is cancelled, so the first result is that of `answered`.
            let code = try await group.next() ?? nil
            group.cancelAll()
            return code
        }
    }

    /// Sends the lines of the answer, and ends the channel.
    private func answered(_ progress: LatestProgress) async -> String? {
        defer { lines.finish() }
        do {
            try await AdministrationLines.answer(call, by: service) { done, total in
                progress.set(done, total)
            } write: { line in
                await lines.send(line)
                // A cancelled `send` returns without an error.
                try Task.checkCancellation()
            }
            return nil
        } catch {
            let failure = SyncError(ofCall: error)
            await lines.send(AdministrationLines.failure(failure))
            return "\(failure.code)"
        }
    }

    private func tick(_ progress: LatestProgress) async -> String? {
        var silence = 0
        while (try? await Task.sleep(for: Self.reportPause)) != nil {
            // A line at least every ten seconds, as Docs/server.md says. The command line counts 45
            // seconds of silence as a lost connection.
            silence += 1
            // Only the latest progress is sent, at most twice a second, however often the call
            // reports.
            if let found = progress.take() {
                await lines.send(AdministrationLines.progress(found.done, of: found.total))
            } else if silence >= Self.silentPauseCount {
                await lines.send([])
            } else {
                continue
            }
            silence = 0
        }
        return nil
    }
}

/// The latest progress of the work, if it has not been reported yet.
private final class LatestProgress: Sendable {
    private let latest = Lock<(done: UInt64, total: UInt64)?>(nil)

    func set(_ done: UInt64, _ total: UInt64) { latest.withLock { $0 = (done, total) } }

    func take() -> (done: UInt64, total: UInt64)? {
        latest.withLock { latest in
            defer { latest = nil }
            return latest
        }
    }
}

extension Response {
    /// Creates the answer that refuses a call.
    fileprivate init(administration reason: String, status: Int) {
        let code: SyncError.Code =
            switch status {
            case 401: .notAuthenticated
            case 429: .requestRateLimited
            case 500...: .serviceUnavailable
            default: .invalidArguments
            }
        let line = AdministrationLines.failure(
            SyncError(
                code,
                reason,
                remedy: status == 401
                    ? "Use a secret that `tidemark administrators add` printed; it may have been "
                        + "revoked."
                    : nil
            )
        )
        self.init(
            status: HTTPResponse.Status(code: status),
            headers: Server.lineHeaders,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: line + [UInt8(ascii: "\n")]))
        )
    }
}

extension SyncError {
    /// Translates any error of a call, for its caller.
    fileprivate init(ofCall error: any Error) {
        switch error {
        case let error as SyncError: self = error
        case let error as LogError where error.code == .cancelled:
            self = SyncError(.operationCancelled, error.description)
        case let error as LogError where error.code == .locked:
            // The message says what has the store.
            self = SyncError(
                .serviceUnavailable,
                error.description,
                remedy: "Then repeat the call."
            )
        case let error as LogError: self = SyncError(.internalError, error.description)
        case is CancellationError:
            self = SyncError(.operationCancelled, "The call was cancelled.")
        default: self = SyncError(.internalError, "The server failed: \(error).")
        }
    }
}
#endif
