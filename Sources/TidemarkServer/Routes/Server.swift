// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
public import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import HummingbirdTLS
public import Logging
import NIOCertificateReloading
import NIOCore
import NIOSSL
public import ServiceLifecycle
public import Tidemark
import TidemarkModel
import TidemarkWire
public import Tracing

/// A server of CloudKit Web Services for a store, over HTTP.
///
/// `run()` is a whole server. `addRoutes(to:)` adds the same paths to the router of another
/// application.
public final class Server: Sendable {
    /// The options of the server.
    public let options: ServerOptions
    /// The credentials of the server's callers.
    public let directory: Directory
    let store: Store
    let callers: Callers
    let uploads = UsedNonces()
    let signIns = UsedNonces()
    let limits: RateLimits
    let gates = ContainerGates()
    let metrics = Metrics()
    let push: Push
    let logger: Logger
    let requestLog: RequestLog
    let tracer: any Tracer
    /// The store's folder.
    let folder: String

    /// Creates a server for the store in a folder.
    ///
    /// `logger` receives each request with its caller and its result, never a token, a body or a
    /// value. `tracer` creates a span of each request; the spans of an ``OTLPTracer`` are posted
    /// while ``run(onListening:)`` runs. Open the store with `StoreOptions.requiresAuthentication`,
    /// so that every user has a checked credential.
    public init(
        store: Store,
        at folder: String,
        options: ServerOptions = ServerOptions(),
        logger: Logger = Logger(label: "tidemark") { _ in SwiftLogNoOpLogHandler() },
        tracer: any Tracer = InstrumentationSystem.tracer
    ) async throws {
        self.logger = logger
        requestLog = RequestLog(logger)
        self.tracer = tracer
        self.folder = folder
        self.store = store
        self.options = options
        directory = try await Directory(of: store, at: folder, options: options)
        callers = Callers(
            directory: directory,
            issuers: try await Issuers(options, logger),
            allowsSignUp: options.allowsSignUp
        )
        limits = RateLimits(options.rateLimits)
        push = try Push(store, directory, options, logger)
    }

    /// Adds every path of the server to a router.
    public func addRoutes<Context: RequestContext>(to router: Router<Context>) {
        // All methods are routed, so that a wrong one gets an error in the form of CloudKit Web
        // Services and not the router's own.
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        for method in methods {
            router.on("/database/1/**", method: method) { request, context in
                await self.answerWebServices(request, context)
            }
            router.on("/tidemark/1/:container/:environment/:database/**", method: method) {
                request,
                context in
                await self.answerService(request, from: context.address, over: context.connection)
                    .fitting(request)
            }
            router.on("/assets/**", method: method) { request, _ in
                await self.answerAsset(request).fitting(request)
            }
        }
        addPushRoutes(to: router)
        router.post("/tidemark/1/administration/:call") { request, context in
            let call = context.parameters.get("call") ?? ""
            return await self.administer(request, call, from: context.address)
        }
        router.get("/tidemark/1/administration/:call") { request, _ in
            Response.wrongMethod("POST", Incoming(request, self.options))
        }
        addPages(to: router)
        router.get("/share/:token") { request, context in
            Page.share(PercentCoding.decoded(context.parameters.get("token").map { $0[...] } ?? ""))
        }
        router.get("/metrics") { _, _ in self.metricsText() }
        router.get("/health/live") { _, _ in "live\n" }
        router.get("/health/ready") { _, _ in await self.readiness() }
    }

    /// Adds the pages with which people sign in and manage their accounts.
    private func addPages<Context: RequestContext>(to router: Router<Context>) {
        router.get("/signin") { request, _ in
            await self.logged("signin", request) { await self.signInPage(request) }
        }
        router.post("/signin") { request, context in
            await self.logged("signin", request) {
                await self.signIn(request, from: context.address)
            }
        }
        router.get("/account") { request, _ in
            await self.logged("account", request) { await self.accountPage(request) }
        }
        router.post("/account/:action") { request, context in
            let action = context.parameters.get("action") ?? ""
            return await self.logged("account", request) {
                await self.changeAccount(request, action, from: context.address)
            }
        }
        router.get("/reset") { request, _ in
            await self.logged("reset", request) { await self.resetPage(request) }
        }
        router.post("/reset") { request, _ in
            await self.logged("reset", request) { await self.reset(request) }
        }
        router.get("/invitation") { request, _ in
            await self.logged("invitation", request) { await self.invitationPage(request) }
        }
        router.post("/invitation") { request, _ in
            await self.logged("invitation", request) { await self.acceptInvitation(request) }
        }
    }

    /// Answers the request of a page for people, counts it and writes its line.
    private func logged(
        _ endpoint: String,
        _ request: Request,
        _ answer: () async -> Response
    ) async -> Response {
        let incoming = Incoming(request, options)
        var line = RequestLine(incoming, RequestSpan(incoming.head, tracer))
        line.endpoint = endpoint
        metrics.begins()
        let response = await answer()
        line.end(metrics, requestLog, status: response.status.code)
        return response
    }

    private func metricsText() -> Response {
        let text = metrics.text(lastSequence: store.lastSequence.rawValue)
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    private func readiness() async -> Response {
        do {
            // No key has this id, because ids are hexadecimal. Only keys that exist are cached, so
            // this reads the store.
            _ = try await directory.key("ready")
            if let problem = Readiness(ofStoreAt: folder).problem {
                throw WebError("TRY_AGAIN_LATER", status: 503, problem)
            }
            return Response(
                status: .ok,
                body: ResponseBody(byteBuffer: ByteBuffer(string: "ready\n"))
            )
        } catch {
            let reason = "not ready: \(WebError(any: error).reason)\n"
            return Response(
                status: .serviceUnavailable,
                body: ResponseBody(byteBuffer: ByteBuffer(string: reason))
            )
        }
    }

    /// The service that posts webhooks, and ends streams and couriers at a graceful shutdown.
    ///
    /// It is for applications that mount the routes. Put it after the application in a service
    /// group, so that it is shut down first. `run()` has its own.
    public var pushService: any Service { push }

    /// Answers requests until the process is asked to stop, then finishes those that have begun.
    ///
    /// Calls `onListening` with the port. The store stays open.
    public func run(onListening: @escaping @Sendable (Int) async -> Void = { _ in }) async throws {
        // Before the first connection: each connection needs a file.
        let openFileLimit = OpenFileLimit.raise()
        logger.info(
            "start",
            metadata: [
                "openFiles": "\(openFileLimit ?? 0)", "connections": "\(connectionLimit)",
            ]
        )
        let reloader = try options.certificateReloader(logger)
        let application = try makeApplication(reloader, onListening: onListening)
        var logger = logger
        logger.logLevel = .warning
        var configuration = ServiceGroupConfiguration(
            // The first service is stopped last: spans of the last requests are posted too.
            // Push is stopped first: it ends streams and couriers, which the application would wait
            // for. A long call of an administrator keeps nobody else from being told to end.
            services: [tracer as? OTLPTracer, administration(), application, reloader]
                .compactMap { $0 } + [push],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        // Then requests that are still open are cancelled. The system's service allows 60 seconds
        // (`TimeoutStopSec`), which leaves time for closing the store.
        configuration.maximumGracefulShutdownDuration = .seconds(20)
        defer { removeSocket() }
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as IOError {
            throw options.refusal(error.errnoCode) ?? error
        }
    }

    /// Creates the application with the server's paths, address and limits.
    func makeApplication(
        _ reloader: TimedCertificateReloader? = nil,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws -> some ApplicationProtocol {
        // Programs that check whether a server runs often send HEAD.
        let router = Router(context: ServerContext.self, options: .autoGenerateHeadEndpoints)
        addRoutes(to: router)
        var logger = logger
        logger.logLevel = .warning
        return Application(
            responder: DirectResponder(server: self, router: router.buildResponder()),
            server: try serverBuilder(reloader, DirectResponder.direct(self)),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host, port: options.port),
                serverName: nil,
                backlog: 1024,
                availableConnectionsDelegate: .maximum(connectionLimit, logger: logger)
            ),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? 0
                let address = self.options.address(port: port)
                self.directory.state.withLock { $0.address = address }
                await onListening(port)
            },
            logger: logger
        )
    }

    /// The number of connections at one time, which leave descriptors for the store's files.
    private var connectionLimit: Int {
        guard let fileLimit = OpenFileLimit.raise() else { return options.connectionLimit }
        return min(options.connectionLimit, fileLimit - min(fileLimit / 2, 512))
    }

    func serverBuilder(
        _ reloader: TimedCertificateReloader?,
        _ direct: DirectAnswers? = nil
    ) throws -> HTTPServerBuilder {
        // Docs/server.md, "Limits", lists these numbers.
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: 16 << 10,
            maxHeaderListSize: 32 << 10,
            maxHeaderFieldCount: 100
        )
        let connection = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                ExchangeHandler(body: self.options.bodyTimeout, answer: self.options.answerTimeout)
            ],
            idleTimeout: TimeAmount(options.idleTimeout),
            httpDecoderConfiguration: decoder
        )
        guard let reloader else {
            return HTTPServerBuilder { responder in
                LoopChannel(
                    base: HTTP1Channel(responder: responder, configuration: connection),
                    direct: direct
                )
            }
        }
        let secure = HTTP2ChannelConfiguration(
            idleTimeout: options.idleTimeout,
            // A stream of HTTP/2 gets the same additional handlers as a connection of HTTP/1.1.
            // Both make their own instance, because the argument is an autoclosure.
            streamConfiguration: connection
        )
        var encryption = try TLSConfiguration.makeServerConfiguration(
            certificateReloader: reloader
        )
        encryption.minimumTLSVersion = .tlsv12
        let idleTime = TimeAmount(options.idleTimeout)
        return HTTPServerBuilder { [encryption] responder in
            LoopChannel(
                base: try HTTP2UpgradeChannel(
                    tlsConfiguration: encryption,
                    configuration: secure,
                    responder: responder
                ),
                idleTime: idleTime
            )
        }
    }
}
#endif
