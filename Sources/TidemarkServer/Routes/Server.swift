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
import ServiceLifecycle
public import Tidemark
import TidemarkModel
import TidemarkWire

/// Answers CloudKit Web Services for a store, over HTTP.
///
/// `run()` is a whole server. `addRoutes(to:)` puts the same paths into the router of somebody's own application.
public final class Server: Sendable {
    /// The options that it was made with.
    public let options: ServerOptions
    /// The credentials of those who may call it.
    public let directory: Directory
    let store: Store
    let callers: Callers
    let uploads = Uploads()
    let signIns = Uploads()
    let limits: RateLimits
    let metrics = Metrics()
    let logger: Logger
    /// The store's folder.
    let folder: String

    /// Prepares a server for the store in a folder.
    ///
    /// `logger` is told of each request: who asked for what and how that ended, never a token, a body or a value.
    /// Open the store with `StoreOptions.requiresAuthentication`, so that nobody is taken for a user whose
    /// credential was not checked.
    public init(
        store: Store,
        at folder: String,
        options: ServerOptions = ServerOptions(),
        logger: Logger = Logger(label: "tidemark") { _ in SwiftLogNoOpLogHandler() }
    ) async throws {
        self.logger = logger
        self.folder = folder
        self.store = store
        self.options = options
        directory = try await Directory(of: store, at: folder)
        callers = Callers(directory: directory)
        limits = RateLimits(options.rateLimits)
    }

    /// Adds every path of the server to a router.
    public func addRoutes<Context: RequestContext>(to router: Router<Context>) {
        let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        for method in methods {
            router.on("/database/1/**", method: method) { request, context in
                await self.answerDatabase(request, from: context.address)
            }
            router.on("/assets/**", method: method) { request, _ in
                await self.answerAsset(request)
            }
        }
        router.get("/signin") { request, _ in await self.signInPage(request) }
        router.post("/signin") { request, context in
            await self.signIn(request, from: context.address)
        }
        router.get("/account") { request, _ in await self.accountPage(request) }
        router.post("/account/:action") { request, context in
            let action = context.parameters.get("action") ?? ""
            return await self.changeAccount(request, action, from: context.address)
        }
        router.get("/reset") { request, _ in await self.resetPage(request) }
        router.post("/reset") { request, _ in await self.reset(request) }
        router.get("/invitation") { request, _ in await self.invitationPage(request) }
        router.post("/invitation") { request, _ in await self.acceptInvitation(request) }
        router.get("/share/:token") { request, context in
            Page.share(PercentCoding.decoded(context.parameters.get("token").map { $0[...] } ?? ""))
        }
        router.get("/metrics") { _, _ in self.metricsText() }
        router.get("/health/live") { _, _ in "live\n" }
        router.get("/health/ready") { _, _ in await self.readiness() }
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

    /// Answers requests until the process is asked to stop, then finishes those that have begun.
    ///
    /// `onListening` is told the port. The store stays open.
    public func run(onListening: @escaping @Sendable (Int) async -> Void = { _ in }) async throws {
        let router = Router(context: ServerContext.self)
        addRoutes(to: router)
        var logger = logger
        logger.logLevel = .warning
        let reloader = try certificateReloader()
        let application = Application(
            router: router,
            server: try serverBuilder(reloader),
            configuration: ApplicationConfiguration(
                address: .hostname(options.host, port: options.port),
                serverName: nil,
                backlog: 1024,
                availableConnectionsDelegate: .maximum(options.connectionLimit, logger: logger)
            ),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        var configuration = ServiceGroupConfiguration(
            services: [application] + [reloader, administration()].compactMap { $0 },
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = .seconds(20)
        defer { removeSocket() }
        try await ServiceGroup(configuration: configuration).run()
    }

    /// Reads the certificate and its key, and reads them again now and then; `nil` for plain HTTP.
    private func certificateReloader() throws -> TimedCertificateReloader? {
        guard let certificate = options.certificate, let privateKey = options.privateKey else {
            return nil
        }
        return try TimedCertificateReloader.makeReloaderValidatingSources(
            refreshInterval: options.certificateInterval,
            certificateSource: .init(location: .file(path: certificate), format: .pem),
            privateKeySource: .init(location: .file(path: privateKey), format: .pem),
            logger: logger
        )
    }

    func serverBuilder(_ reloader: TimedCertificateReloader?) throws -> HTTPServerBuilder {
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: 16 << 10,
            maxHeaderListSize: 32 << 10,
            maxHeaderFieldCount: 100
        )
        guard let reloader else {
            return .http1(
                configuration: HTTP1Channel.Configuration(
                    idleTimeout: .seconds(60),
                    httpDecoderConfiguration: decoder
                )
            )
        }
        return try .http2Upgrade(
            tlsConfiguration: .makeServerConfiguration(certificateReloader: reloader),
            configuration: HTTP2ChannelConfiguration(idleTimeout: .seconds(60))
        )
    }
}
#endif
