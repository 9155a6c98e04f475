// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Testing
import TidemarkLock

@testable import TidemarkServer

/// Connections on which something else comes than well-behaved clients send, over real sockets.
///
/// After each the server answers the next client.
@Suite(.timeLimit(.minutes(10))) struct HostileConnectionTests {
    /// Opens a connection for each of some texts, all to one server.
    private func run(
        each texts: [String],
        options: ServerOptions = ServerOptions(),
        _ body: @escaping @Sendable (RawConnection, ServerUnderTest, String) async throws -> Void
    ) async throws {
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for text in texts {
                    group.addTask {
                        try await RawConnection.open(port: port) {
                            try await body($0, server, text)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await Self.expectAnswer(port: port)
        }
    }

    private func run(
        options: ServerOptions = ServerOptions(),
        _ body: @escaping @Sendable (RawConnection, ServerUnderTest) async throws -> Void
    ) async throws {
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port) { try await body($0, server) }
            try await Self.expectAnswer(port: port)
        }
    }

    /// Expects that the next client gets an answer, on a connection of its own.
    ///
    /// It has to ask within the idle time, which a busy machine may let pass: then it asks again.
    private static func expectAnswer(port: Int) async throws {
        var found: [Int] = []
        for _ in 0..<100 where found.isEmpty { found = try await statuses(port: port) }
        #expect(found == [200])
    }

    /// The statuses of the answers to one request; none if the connection was ended before it.
    private static func statuses(port: Int) async throws -> [Int] {
        let found = Lock<[Int]>([])
        try await RawConnection.open(port: port) { connection in
            try await connection.send(live)
            try await connection.receive { $0.contains("live\n") }
            found.withLock { $0 = connection.statuses }
        }
        return found.withLock { $0 }
    }

    private static func options(
        _ limit: WritableKeyPath<ServerOptions, Duration>,
        _ time: Duration
    ) -> ServerOptions {
        var options = ServerOptions()
        options[keyPath: limit] = time
        return options
    }

    private static func post(_ token: String, _ fields: String) -> String {
        "POST \(ServerUnderTest.path)public/records/lookup?ckAPIToken=\(token) HTTP/1.1\r\n"
            + "Host: localhost\r\n\(fields)\r\n"
    }

    private static let live = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

    @Test func `A body with a Content-Length over the limit is rejected early`() async throws {
        try await run { connection, server in
            try await connection.send(Self.post(server.token, "Content-Length: 99999999999\r\n"))
            try await connection.receive { $0.contains("\r\n\r\n{") }
            #expect(connection.statuses == [413])
            #expect(connection.received.contains("BAD_REQUEST"))
        }
    }

    @Test func `An endless body is rejected at the limit`() async throws {
        try await run(options: Self.options(\.bodyTimeout, .seconds(5))) { connection, server in
            try await connection.send(Self.post(server.token, "Transfer-Encoding: chunked\r\n"))
            let chunk = "10000\r\n" + String(repeating: " ", count: 1 << 16) + "\r\n"
            for _ in 0..<80 { try await connection.send(chunk) }
            try await connection.receive { $0.contains("BAD_REQUEST") }
            #expect(connection.statuses == [413])
            // Whoever goes on is cut off.
            try await connection.receive()
            #expect(connection.isOver)
        }
    }

    @Test func `A slow body times out, even if it arrives steadily`() async throws {
        try await run(options: Self.options(\.bodyTimeout, .milliseconds(300))) {
            connection,
            server in
            try await connection.send(Self.post(server.token, "Content-Length: 1000\r\n"))
            for _ in 0..<40 where !connection.isOver {
                try await connection.send(" ")
                try await Task.sleep(for: .milliseconds(40))
            }
            try await connection.receive()
            #expect(connection.statuses == [408])
            #expect(connection.isOver)
        }
    }

    @Test func `The time limit of a body does not pass between requests`() async throws {
        try await run(options: Self.options(\.bodyTimeout, .milliseconds(300))) { connection, _ in
            for count in 1...2 {
                try await connection.send(Self.live)
                try await connection.receive { _ in connection.statuses.count == count }
                try await Task.sleep(for: .milliseconds(600))
            }
            #expect(connection.statuses == [200, 200])
            #expect(!connection.isOver)
        }
    }

    @Test func `A slow body times out on paths that only resemble uploads`() async throws {
        let requests = [
            "POST /account/uploadAsset", "POST /none/uploadAsset", "POST /assets/none",
            "DELETE /assets/up/none", "POST /tidemark/1/administration/uploadAsset",
            "PUT /tidemark/1/iCloud.tidemark/development/public/uploadAsset",
        ]
        try await run(each: requests, options: Self.options(\.bodyTimeout, .milliseconds(300))) {
            connection,
            _,
            request in
            try await connection.send(
                "\(request) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
            )
            for _ in 0..<200 where !connection.isOver {
                try await connection.send(" ")
                try await Task.sleep(for: .milliseconds(40))
            }
            #expect(connection.isOver, "\(request)")
        }
    }

    @Test func `A slow head closes the connection`() async throws {
        try await run(options: Self.options(\.idleTimeout, .milliseconds(300))) { connection, _ in
            try await connection.send("GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ")
            for _ in 0..<20 {
                try await connection.send("x")
                try await Task.sleep(for: .milliseconds(40))
            }
            try await connection.receive()
            #expect(connection.isOver)
            #expect(!connection.statuses.contains(200))
        }
    }

    @Test func `A client that has closed its output gets its response`() async throws {
        try await run { connection, _ in
            try await connection.send(Self.live)
            connection.closeOutput()
            try await connection.receive()
            #expect(connection.statuses == [200])
            #expect(connection.received.hasSuffix("live\n"))
        }
    }

    @Test(arguments: [
        "POST \(ServerUnderTest.path)public/records/query", "PUT /nothing", "POST /nothing",
        "POST /assets/up/nothing", "POST /tidemark/1/administration/schema",
    ])
    func `A body that nobody reads is taken, so that its client reads the answer`(
        path: String
    ) async throws {
        let options = Self.options(\.idleTimeout, .seconds(30))
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port, outlastsOutput: true) { connection in
                try await connection.send(
                    "\(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                        + "Content-Length: \(32 << 20)\r\n\r\n"
                )
                // More than the buffers of a connection hold.
                let piece = String(repeating: " ", count: 1 << 20)
                var taken = 0
                while taken < 32, try await connection.send(piece) { taken += 1 }
                #expect(taken == 32)
                try await connection.receive()
                #expect(connection.statuses.count == 1 && connection.statuses != [200])
            }
        }
    }

    @Test(arguments: ["close", "Close", "keep-alive, CLOSE", "x ,close"])
    func `A connection ends after the request that says so`(field: String) async throws {
        let options = Self.options(\.idleTimeout, .seconds(300))
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port) { connection in
                try await connection.send(
                    "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: \(field)\r\n\r\n"
                )
                // Until the server closes it.
                try await connection.receive()
                #expect(connection.statuses == [200])
            }
        }
    }

    @Test func `A connection of HTTP 1.0 ends after its first answer`() async throws {
        let options = Self.options(\.idleTimeout, .seconds(300))
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            let path = "\(ServerUnderTest.path)public"
            let token = "ckAPIToken=\(server.token)"
            for request in [
                "GET /health/live HTTP/1.0\r\n\r\n",
                "GET \(path)/users/current?\(token) HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                "POST \(path)/records/lookup?\(token) HTTP/1.0\r\nExpect: 100-continue\r\n"
                    + "Content-Length: 14\r\n\r\n{\"records\":[]}",
            ] {
                try await RawConnection.open(port: port) { connection in
                    try await connection.send(request)
                    // Until the server closes it.
                    try await connection.receive()
                    #expect(connection.statuses.count == 1 && connection.statuses != [100])
                    #expect(connection.received.hasPrefix("HTTP/1.0 "))
                }
            }
        }
    }

    @Test func `An answer without a length has no chunks for HTTP 1.0`() async throws {
        try await run { connection, server in
            let web = try await server.signIn("ann")
            let path = "\(ServerUnderTest.path)private/changes/stream?clientId=one"
            try await connection.send(
                "GET \(path)&ckAPIToken=\(server.token)&ckWebAuthToken=\(web) HTTP/1.0\r\n\r\n"
            )
            try await connection.receive { $0.contains("\r\n\r\n") }
            #expect(connection.received.hasPrefix("HTTP/1.0 200 "))
            #expect(!connection.received.lowercased().contains("chunked"))
        }
    }

    @Test func `A truncated body has no effect`() async throws {
        try await run { connection, server in
            let web = try await server.signIn("ann")
            let path = "\(ServerUnderTest.path)private/records/modify?ckAPIToken=\(server.token)"
            let body =
                #"{"operations":[{"operationType":"create","record":{"recordName":"cut","#
                + #""recordType":"Note"}}]}"#
            try await connection.send(
                "POST \(path)&ckWebAuthToken=\(web) HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Length: \(body.utf8.count + 5)\r\n\r\n\(body)"
            )
            connection.closeOutput()
            try await connection.receive()
            #expect(!connection.statuses.contains(200))
            let lookup = #"{"records":[{"recordName":"cut"}]}"#
            let answer = try await server.send("private/records/lookup", lookup, web: web)
            #expect(answer.list("records").first?["serverErrorCode"] as? String == "NOT_FOUND")
        }
    }

    @Test func `A client that holds its body back is told to send it`() async throws {
        try await run { connection, server in
            let fields = "Content-Length: 14\r\nExpect: 100-continue\r\n"
            let head = Self.post(server.token, fields)
            try await connection.send(head)
            try await connection.receive { $0.hasSuffix("\r\n\r\n") }
            #expect(connection.statuses == [100])
            // Behind a request that is not answered yet, nothing is sent in between.
            try await connection.send(#"{"records":[]}"# + Self.live + head + #"{"records":[]}"#)
            try await connection.receive {
                $0.components(separatedBy: #"{"records":[]}"#).count == 3
            }
            #expect(connection.statuses.filter { $0 != 100 } == [200, 200, 200])
        }
    }

    @Test func `Pipelined requests are answered in order`() async throws {
        try await run { connection, server in
            let lookup = Self.post(server.token, "Content-Length: 14\r\n") + #"{"records":[]}"#
            try await connection.send(Self.live + lookup + "GET /none HTTP/1.1\r\n\r\n" + Self.live)
            try await connection.receive { $0.components(separatedBy: "live\n").count == 3 }
            #expect(connection.statuses == [200, 200, 404, 200])
        }
    }

    @Test func `An answer to HEAD has no body, so that the next answer begins behind its head`()
        async throws
    {
        let database = ServerUnderTest.path + "public"
        let paths = [
            "\(database)/zones/list", "\(database)/changes/stream",
            "/device/1/iCloud.tidemark/development/tokens/create", "/device/1/nothing",
            "/courier/nothing", "/assets/nothing", "/assets/up/nothing",
            "/tidemark/1/iCloud.tidemark/development/public/query", "/health/live", "/signin",
        ]
        try await run(each: paths) { (connection, server, path) in
            let head = "HEAD \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            try await connection.send(head + Self.live)
            try await connection.receive { $0.contains("live\n") }
            let parts = connection.received.components(separatedBy: "\r\n\r\n")
            #expect(parts.count == 3, "\(path): \(connection.received)")
            #expect(parts.dropFirst().first?.hasPrefix("HTTP/1.1 200") == true, "\(path)")
            // The length is that of the body that GET gets. A path without HEAD has none.
            #expect(parts.first?.contains("Content-Length: 0") == false, "\(path)")
        }
    }

    @Test func `A request with an ambiguous end is rejected, and the rest is ignored`()
        async throws
    {
        let fields = [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 4\r\nContent-Length: 40\r\n", "Content-Length: -1\r\n",
            "Content-Length: 4x\r\n", "Transfer-Encoding: chunked, gzip\r\n", "Bad Name: x\r\n",
            " folded: x\r\n", "X: a\u{0}b\r\n",
        ]
        try await run(each: fields, options: Self.options(\.idleTimeout, .seconds(2))) {
            (connection, server, fields) in
            try await connection.send(Self.post(server.token, fields) + "0\r\n\r\n" + Self.live)
            try await connection.receive()
            #expect(connection.statuses.filter { $0 < 400 }.isEmpty, "\(fields)")
            #expect(connection.statuses.count <= 1, "\(fields)")
            #expect(!connection.received.contains("live"), "\(fields)")
        }
    }

    @Test func `A flood of header fields is rejected`() async throws {
        let floods = [
            (0..<200).map { "X-\($0): x\r\n" }.joined(),
            "X: \(String(repeating: "x", count: 20_000))\r\n",
            (0..<50).map { "X-\($0): \(String(repeating: "x", count: 1_000))\r\n" }.joined(),
        ]
        try await run(each: floods, options: Self.options(\.idleTimeout, .seconds(2))) {
            (connection, server, fields) in
            let flood = Self.post(server.token, fields + "Content-Length: 2\r\n") + "{}"
            try await connection.send(flood)
            try await connection.receive()
            #expect(connection.statuses.filter { $0 < 400 }.isEmpty, "\(fields.prefix(20))")
        }
    }

    @Test func `Bytes that are not an HTTP request get only an error`() async throws {
        let texts = [
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\r\n\r\n\r\n\u{0}", "GET\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
            "CONNECT internal:80 HTTP/1.1\r\n\r\n", "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET http://internal/health/x HTTP/1.1\r\nHost: x\r\n\r\n",
        ]
        try await run(each: texts, options: Self.options(\.idleTimeout, .seconds(1))) {
            connection,
            _,
            text in
            try await connection.send(text)
            try await connection.receive()
            #expect(connection.statuses.filter { $0 < 400 || $0 >= 500 }.isEmpty, "\(text)")
        }
    }

    @Test func `Abandoned connections do not block new ones`() async throws {
        var options = ServerOptions()
        options.idleTimeout = .milliseconds(300)
        options.connectionLimit = 20
        try await ServerUnderTest.run(.live, options: options) { server in
            let port = try #require(server.client.port)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        try await RawConnection.open(port: port) { try await $0.receive() }
                    }
                }
                try await group.waitForAll()
            }
            try await Self.expectAnswer(port: port)
        }
    }
}
#endif
