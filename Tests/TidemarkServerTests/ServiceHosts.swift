// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncAlgorithms
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceConformance
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkClient
@testable import TidemarkServer

/// The ways over HTTP to a server's store on which one suite checks what a `DatabaseService` promises.
enum ServerHost: CaseIterable, CustomTestStringConvertible {
    case router, routerJSON, socket, socketJSON

    var testDescription: String {
        switch self {
        case .router: "over the router, with records as bytes"
        case .routerJSON: "over the router, in JSON"
        case .socket: "over a socket, with records as bytes"
        case .socketJSON: "over a socket, in JSON"
        }
    }

    var usesSocket: Bool { self == .socket || self == .socketJSON }

    /// Runs a body with a server of its own, and closes all that was opened.
    func run(
        options: ServerOptions = ServerOptions(),
        _ body: @Sendable (HostedServer) async throws -> Void
    ) async throws {
        try await ServerUnderTest.run(usesSocket ? .live : .router, options: options) { server in
            let hosted = HostedServer(server, self)
            do {
                try await body(hosted)
            } catch {
                await hosted.close()
                throw error
            }
            await hosted.close()
        }
    }
}

/// A server on which a suite runs, and each user's connection to it.
final class HostedServer: ServiceHosting {
    let server: ServerUnderTest
    private let host: ServerHost
    /// Put behind the names of users, so that several suites can run on one server.
    private let suffix: String
    private let connections = Lock([String: ServerConnection]())

    init(_ server: ServerUnderTest, _ host: ServerHost, suffix: String = "") {
        self.server = server
        self.host = host
        self.suffix = suffix
    }

    var store: Store { server.store }

    func user(_ name: String) -> UserID { UserID(name + suffix) }

    /// Signs somebody in who has no password, which would take time; returns the web auth token.
    func signIn(_ name: String) async throws -> String {
        let account = Account(
            id: Account.recordName(name),
            email: "\(name)@example.org",
            givenName: "",
            familyName: "",
            password: ""
        )
        let directory = server.server.directory
        // Fails if the person has signed in before. Without an account, the next call fails.
        try? await directory.add(account)
        return try await directory.begin(
            account,
            user: user(name).userRecordName,
            in: .standard,
            .development,
            isKept: false
        )
    }

    func service(of name: String) async throws -> any DatabaseService {
        try await connection(of: name).service
    }

    /// The same server with users of their own, who have seen nothing yet.
    func withOthers(_ suffix: String) -> HostedServer {
        HostedServer(server, host, suffix: suffix)
    }

    /// The connection of a user who has signed in: one for each.
    func connection(of name: String) async throws -> ServerConnection {
        if let known = connections.withLock({ $0[name] }) { return known }
        let web = try await signIn(name)
        let made = try connect(.user(apiToken: server.token, webAuthToken: web))
        connections.withLock { $0[name] = made }
        return made
    }

    /// A connection with other credentials or options; the caller closes it, if that is needed.
    func connect(
        _ credentials: Credentials,
        _ options: ConnectionOptions = ConnectionOptions()
    ) throws -> ServerConnection {
        var options = options
        options.usesBinaryForm = host == .router || host == .socket
        guard host.usesSocket else {
            let sender = RouterSender(server.server)
            return try ServerConnection(
                to: "http://localhost",
                credentials: credentials,
                options: options,
                requests: sender,
                streams: sender
            )
        }
        return try ServerConnection(
            to: "http://localhost:\(server.client.port ?? 0)",
            credentials: credentials,
            options: options
        )
    }

    func close() async {
        for connection in connections.withLock({ $0.values.map { $0 } }) {
            await connection.close()
        }
    }
}

// MARK: - Without a socket

/// A request's context that no connection stands behind.
private struct SocketlessContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }
}

/// Gives a client's requests to a server's router, and streams in both directions.
struct RouterSender: HTTPSender {
    private let answer: @Sendable (Request) async throws -> Response

    init(_ server: Server) {
        let router = Router(context: SocketlessContext.self)
        server.addRoutes(to: router)
        let responder = router.buildResponder()
        answer = { request in
            let source = SocketlessContext.Source(
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            return try await responder.respond(
                to: request,
                context: SocketlessContext(source: source)
            )
        }
    }

    func close() async {}

    func send(_ request: OutgoingRequest) async throws(SyncError) -> IncomingAnswer {
        var head = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "localhost",
            path: ServerUnderTest.path(of: request.url)
        )
        for (name, value) in request.headers {
            if let name = HTTPField.Name(name) { head.headerFields[name] = value }
        }
        let body: RequestBody
        switch request.body {
        case .message(let message): body = RequestBody(buffer: ByteBuffer(bytes: message.bytes))
        case .pieces(let pieces):
            body = RequestBody(asyncSequence: pieces.map { ByteBuffer(bytes: $0) })
        }
        do {
            let response = try await answer(Request(head: head, body: body))
            let headers = response.headers
            return IncomingAnswer(
                status: response.status.code,
                header: { name in HTTPField.Name(name).flatMap { headers[$0] } },
                body: RouterBody(response.body)
            )
        } catch {
            throw SyncError(.networkFailure, "\(error)")
        }
    }
}

/// The body of a router's answer, which is written while it is read.
private struct RouterBody: IncomingBody {
    private let channel = AsyncThrowingChannel<[UInt8], any Error>()

    private struct Writer: ResponseBodyWriter {
        let channel: AsyncThrowingChannel<[UInt8], any Error>

        mutating func write(_ buffer: ByteBuffer) async throws {
            try Task.checkCancellation()
            await channel.send(Array(buffer.readableBytesView))
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
            channel.finish()
        }
    }

    /// Ends the writing where nobody reads any more.
    private final class Writing: Sendable {
        let task: Task<Void, Never>

        init(_ task: Task<Void, Never>) {
            self.task = task
        }

        deinit { task.cancel() }
    }

    private let writing: Writing

    init(_ body: ResponseBody) {
        let channel = channel
        writing = Writing(
            Task {
                do {
                    try await body.write(Writer(channel: channel))
                } catch {
                    channel.fail(error)
                }
            }
        )
    }

    func all(upTo limit: Int) async throws(SyncError) -> [UInt8] {
        let next = pieces()
        var bytes: [UInt8] = []
        while let piece = try await next() { bytes += piece }
        return bytes
    }

    func pieces() -> @Sendable () async throws(SyncError) -> [UInt8]? {
        let (channel, writing) = (channel, writing)
        return { () throws(SyncError) in
            defer { withExtendedLifetime(writing) {} }
            do {
                var pieces = channel.makeAsyncIterator()
                return try await pieces.next(isolation: nil)
            } catch {
                throw SyncError(.networkFailure, "\(error)")
            }
        }
    }
}
#endif
