// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOPosix
import ServiceConformance
import Testing
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkClient
@testable import TidemarkServer

/// The connections of a client: through proxies, to servers that do not answer, with tokens that are
/// valid once.
@Suite struct ClientTransportTests {
    @Test func `A timeout can be as long as a duration`() async throws {
        try await ServerHost.socket.run { hosted in
            var options = ConnectionOptions()
            options.connectTimeout = .seconds(Int64.max)
            options.requestTimeout = .seconds(Int64.max)
            options.streamTimeout = .seconds(Int64.max)
            let web = try await hosted.signIn("anna")
            let connection = try hosted.connect(
                .user(apiToken: hosted.server.token, webAuthToken: web),
                options
            )
            let caller = Caller(user: hosted.user("anna"), device: "phone")
            #expect(try await connection.service.accountStatus(as: caller) == .available)
            await connection.close()
        }
    }

    @Test(arguments: ["http", "authenticated", "socks"])
    func `Requests and streams go through a proxy`(kind: String) async throws {
        // The base64 of `user:word`.
        let proxy = try await TestProxy(
            authorization: kind == "authenticated" ? "Basic dXNlcjp3b3Jk" : nil
        )
        try await ServerHost.socket.run { hosted in
            var options = ConnectionOptions()
            options.proxy =
                switch kind {
                case "http": .http(host: "127.0.0.1", port: proxy.port)
                case "socks": .socks(host: "127.0.0.1", port: proxy.port)
                default:
                    .authenticated(
                        host: "127.0.0.1",
                        port: proxy.port,
                        user: "user",
                        password: "word"
                    )
                }
            let web = try await hosted.signIn("anna")
            let connection = try hosted.connect(
                .user(apiToken: hosted.server.token, webAuthToken: web),
                options
            )
            let phone = HostedDevice(
                service: connection.service,
                caller: Caller(user: hosted.user("anna"), device: "phone")
            )
            try await phone.createZone()
            try await phone.save("r", ["n": 1])
            let asset = try await phone.service.uploadAsset(
                [1, 2, 3],
                UploadAssetRequest(zone: phone.zone),
                as: phone.caller
            )
            #expect(asset.byteCount == 3)
            await connection.close()
            // The name is not looked up here. Requests and uploads have connections of their own.
            let way = kind == "socks" ? "SOCKS" : "CONNECT"
            let place = "\(way) localhost:\(hosted.server.client.port ?? 0)"
            #expect(Set(proxy.asked) == [place])
            #expect(proxy.asked.count >= 2)
        }
        try await proxy.close()
    }

    @Test func `A proxy that refuses a client is named in the error`() async throws {
        let proxy = try await TestProxy(authorization: "Basic dXNlcjp3b3Jk")
        var options = ConnectionOptions()
        options.patience = Patience(repetitions: 1, wait: { _ in })
        options.proxy = .http(host: "127.0.0.1", port: proxy.port)
        let error = try await failure(at: "http://localhost:1", options)
        #expect(error.code == .networkUnavailable)
        #expect(error.message.contains("The proxy"))
        #expect(proxy.asked == ["CONNECT localhost:1", "CONNECT localhost:1"])
        try await proxy.close()
    }

    @Test func `A server that does not run is reported by the reason`() async throws {
        var options = ConnectionOptions()
        options.patience = Patience(repetitions: 0, wait: { _ in })
        let error = try await failure(at: "http://localhost:1", options)
        #expect(error.code == .networkUnavailable)
        #expect(error.message == "The server cannot be reached: Connection refused.")
        #expect(!error.message.contains("SingleConnectionFailure"))
    }

    /// Returns the error of a request to a server.
    private func failure(
        at address: String,
        _ options: ConnectionOptions
    ) async throws -> SyncError {
        let connection = try ServerConnection(
            to: address,
            credentials: .apiToken("a"),
            options: options
        )
        let error = try await #require(throws: SyncError.self) {
            try await connection.service.zones(as: Caller())
        }
        await connection.close()
        return error
    }

    /// The number of connections to a server.
    private final class VisitCount: Sendable {
        private let count = Lock(0)

        var value: Int { count.withLock { $0 } }

        func add() {
            count.withLock { $0 += 1 }
        }
    }

    /// Sends the head of an answer when a request comes, and nothing behind it.
    private final class HeadHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let head: String
        private var isSent = false

        init(_ head: String) {
            self.head = head
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // A request may come in several pieces.
            guard !isSent, !head.isEmpty else { return }
            isSent = true
            context.channel.writeAndFlush(ByteBuffer(string: head), promise: nil)
        }
    }

    /// Runs a body with the port of a server that takes connections and never answers, or only begins
    /// to, and with the number of its connections.
    private func withSilentServer(
        head: String = "",
        _ body: (Int, VisitCount) async throws -> Void
    ) async throws {
        let visits = VisitCount()
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                visits.add()
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HeadHandler(head))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(listener.localAddress?.port ?? 0, visits)
        } catch {
            try? await listener.close()
            throw error
        }
        try await listener.close()
    }

    @Test func `A stream that falls silent is opened again`() async throws {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await withSilentServer(head: head) { port, visits in
            var options = ConnectionOptions()
            options.streamTimeout = .milliseconds(200)
            options.patience = Patience(wait: { _ in })
            let connection = try ServerConnection(
                to: "http://127.0.0.1:\(port)",
                credentials: .apiToken("a"),
                options: options
            )
            let service = connection.service
            let listening = Task {
                for try await _ in try await service.accountStatuses(as: Caller()) {}
            }
            try await waitUntil { visits.value > 2 }
            listening.cancel()
            _ = await listening.result
            await connection.close()
        }
    }

    @Test func `A server that does not answer in time is asked again, then reported`() async throws
    {
        try await withSilentServer { port, visits in
            var options = ConnectionOptions()
            options.requestTimeout = .milliseconds(300)
            options.patience = Patience(repetitions: 2, wait: { _ in })
            let error = try await failure(at: "http://127.0.0.1:\(port)", options)
            #expect(error.code == .networkFailure)
            #expect(error.message.contains("did not answer in time"))
            #expect(visits.value == 3)
        }
    }

    @Test func `A call in progress ends as soon as its task is cancelled`() async throws {
        try await withSilentServer { port, visits in
            var options = ConnectionOptions()
            options.requestTimeout = .seconds(3_600)
            let connection = try ServerConnection(
                to: "http://127.0.0.1:\(port)",
                credentials: .apiToken("a"),
                options: options
            )
            let service = connection.service
            let call = Task { try await service.zones(as: Caller()).count }
            try await waitUntil { visits.value > 0 }
            let start = ContinuousClock.now
            call.cancel()
            let error = try await #require(throws: SyncError.self) { try await call.value }
            #expect(error.code == .operationCancelled)
            // Long before the time limit, also on a machine that is busy with other tests.
            #expect(ContinuousClock.now - start < .seconds(600))
            #expect(visits.value == 1)
            await connection.close()
        }
    }

    @Test func `A client keeps the token of each answer, also where each is valid once`()
        async throws
    {
        var options = ServerOptions()
        options.tokenRotation = .strict
        try await ServerHost.socket.run(options: options) { hosted in
            let anna = try await hosted.device("anna")
            try await anna.createZone()
            for number in 0..<3 { try await anna.save("r\(number)", ["n": 1]) }
            // An answer with an error has a token too, and so has the head of a stream.
            await #expect(throws: SyncError.self) {
                try await anna.service.zoneChanges(
                    ZoneChangesRequest(zone: ZoneID(zoneName: "None")),
                    as: anna.caller
                )
            }
            let token = try await anna.service.notificationToken(as: anna.caller)
            let stream = try await anna.service.notifications(since: token, as: anna.caller)
            #expect(try await anna.changes().changes.count == 3)
            withExtendedLifetime(stream) {}
        }
    }
}
#endif
