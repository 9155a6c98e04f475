// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Logging
import TestSupport
import Testing
import Tidemark

@testable import TidemarkServer

/// Connections with TLS that nobody uses.
@Suite struct IdleLimitTests {
    /// Runs a server with a certificate of its own, and a body with its port.
    private static func run(
        _ options: ServerOptions,
        _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        let (key, certificate) = (folder.path("key.pem"), folder.path("chain.pem"))
        _ = try shell(
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
                + "-subj /CN=localhost -keyout '\(key)' -out '\(certificate)' 2>/dev/null"
        )
        var options = options
        (options.certificate, options.privateKey) = (certificate, key)
        (options.host, options.port) = ("localhost", 0)
        var storeOptions = StoreOptions()
        storeOptions.requiresAuthentication = true
        let path = folder.path("s.tide")
        let store = try Store.open(at: path, access: .creating, options: storeOptions)
        let server = try await Server(
            store: store,
            at: path,
            options: options,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let running = Task { try await server.run { continuation.yield($0) } }
        for await port in ports {
            do {
                try await body(port)
            } catch {
                Issue.record(error)
            }
            break
        }
        running.cancel()
        _ = await running.result
        try store.close()
    }

    @Test func `A connection with TLS ends if it sends no request`() async throws {
        var options = ServerOptions()
        options.idleTimeout = .seconds(2)
        try await Self.run(options) { port in
            // Nothing, and the begin of a record of a handshake.
            for start in ["", "\u{16}\u{3}\u{1}"] {
                try await RawConnection.open(port: port) { connection in
                    if !start.isEmpty { try await connection.send(start) }
                    let began = ContinuousClock.now
                    try await connection.receive()
                    #expect(connection.isOver)
                    #expect(began.duration(to: .now) >= .seconds(1))
                }
            }
            // Of HTTP/2, with the handshake alone.
            let ended = try shell(
                "timeout 30 openssl s_client -quiet -alpn h2 -connect localhost:\(port) "
                    + "</dev/null >/dev/null 2>&1; echo $?"
            )
            #expect(!ended.contains("124"), "the client was stopped, not the connection")
            // Requests are answered as before, and later ones of the same connection too.
            let answers = try shell(
                "curl -sk --http2 https://localhost:\(port)/health/live "
                    + "https://localhost:\(port)/health/live"
            )
            #expect(answers.components(separatedBy: "live").count == 3, "\(answers)")
        }
    }

    @Test(arguments: ["tls1", "tls1_1"])
    func `Old versions of TLS are refused`(_ version: String) async throws {
        try await Self.run(ServerOptions()) { port in
            let text = try shell(
                "echo | timeout 30 openssl s_client -\(version) -cipher DEFAULT@SECLEVEL=0 "
                    + "-connect localhost:\(port) 2>&1 || true"
            )
            #expect(text.contains("alert protocol version"), "\(text)")
        }
    }
}
#endif
