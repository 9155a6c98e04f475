// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel

@testable import TidemarkServer

/// Requests that are answered without Hummingbird, between others on the same connection.
@Suite(.timeLimit(.minutes(10))) struct DirectHandlerTests {
    private static let live = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

    private static func post(
        _ server: ServerUnderTest,
        _ endpoint: String,
        _ body: String,
        web: String,
        fields: String = ""
    ) -> String {
        "POST \(ServerUnderTest.path)private/\(endpoint)?ckAPIToken=\(server.token)"
            + "&ckWebAuthToken=\(web) HTTP/1.1\r\nHost: localhost\r\n\(fields)"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    /// A marker for the answer to a lookup: the name of a record that does not exist.
    private static func lookup(_ server: ServerUnderTest, _ name: String, web: String) -> String {
        let body = #"{"records":[{"recordName":"\#(name)"}]}"#
        return post(server, "records/lookup", body, web: web)
    }

    /// A request for the notes of a user, who has one.
    private static func query(_ server: ServerUnderTest, web: String) async throws -> String {
        let caller = try await server.caller(web)
        try await server.store.saveNote(RecordID(recordName: "note"), ["text": "x"], as: caller)
        return post(server, "records/query", #"{"query":{"recordType":"Note"}}"#, web: web)
    }

    @Test func `Answers have the order of their requests, whoever answers them`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            let lookup = { @Sendable name in Self.lookup(server, name, web: web) }
            // A query leaves the event loop, so that later requests are there before its answer.
            let query = try await Self.query(server, web: web)
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port) { connection in
                try await connection.send(
                    lookup("first") + query + Self.live + lookup("second") + lookup("third") + query
                        + "GET /none HTTP/1.1\r\n\r\n" + lookup("fourth") + query + Self.live
                )
                try await connection.receive { _ in connection.statuses.count == 10 }
                try await connection.receive { $0.hasSuffix("live\n") }
                #expect(connection.statuses == [200, 200, 200, 200, 200, 200, 404, 200, 200, 200])
                let places = ["first", "live\n", "second", "third", "fourth"].map {
                    connection.received.range(of: $0)?.lowerBound
                }
                #expect(!places.contains(nil))
                #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
                // Each has the time, whether Hummingbird sent it or not.
                let dates = connection.received.lowercased().components(separatedBy: "\r\ndate: ")
                #expect(dates.count == 11)
                #expect(dates.dropFirst().allSatisfy { $0.prefix(29).hasSuffix(" gmt") })
            }
        }
    }

    @Test func `A request whose body comes in pieces is answered between whole ones`()
        async throws
    {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port) { connection in
                let request = Self.lookup(server, "cut", web: web)
                let others = Self.lookup(server, "whole", web: web)
                for cut in [request.count - 5, request.count - 36, 20] {
                    let earlier = connection.statuses.count
                    try await connection.send(others + request.prefix(cut))
                    try await connection.receive { _ in connection.statuses.count == earlier + 1 }
                    try await Task.sleep(for: .milliseconds(20))
                    try await connection.send(request.dropFirst(cut) + others)
                    try await connection.receive { _ in connection.statuses.count == earlier + 3 }
                }
                try await connection.receive { $0.components(separatedBy: "NOT_FOUND").count == 10 }
                #expect(connection.statuses == Array(repeating: 200, count: 9))
            }
        }
    }

    @Test func `A client that has closed its output gets the answers to all its requests`()
        async throws
    {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            let query = try await Self.query(server, web: web)
            let port = try #require(server.client.port)
            try await RawConnection.open(port: port) { connection in
                try await connection.send(query + query)
                connection.closeOutput()
                try await connection.receive()
                #expect(connection.statuses == [200, 200])
            }
        }
    }

    @Test func `A request that asks to close its connection closes it`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            let port = try #require(server.client.port)
            for (field, isClosed) in [("close", true), ("Keep-Alive", false)] {
                try await RawConnection.open(port: port) { connection in
                    let request = Self.post(
                        server,
                        "zones/list",
                        "{}",
                        web: web,
                        fields: "Connection: \(field)\r\n"
                    )
                    try await connection.send(request)
                    if isClosed {
                        try await connection.receive()
                    } else {
                        try await connection.receive { $0.contains("\"zones\"") }
                    }
                    #expect(connection.statuses == [200])
                    #expect(connection.isOver == isClosed)
                }
            }
        }
    }

    /// Counts the fetches of records that have begun.
    private final class Fetches: StoreObserver {
        let count = Lock(0)

        func begins(_ work: StoreWork) -> (any StoreWorkObserver)? {
            if case .call(let call) = work, call.kind == .fetchRecords,
                call.caller.database.container == .standard
            {
                count.withLock { $0 += 1 }
            }
            return nil
        }

        func notes(_ fact: StoreFact) {}
    }

    @Test func `A client that reads no answers does not get more than its connection holds`()
        async throws
    {
        let fetches = Fetches()
        try await ServerUnderTest.run(observer: fetches) { server in
            let web = try await server.signIn("ann")
            let caller = try await server.caller(web)
            try await server.store.saveNote(
                RecordID(recordName: "large"),
                ["text": String(repeating: "x", count: 800_000)],
                as: caller
            )
            let socket = try RawSocket(port: try #require(server.client.port))
            let wanted = 60
            let request = Self.lookup(server, "large", web: web)
            try socket.send(String(repeating: request, count: wanted))
            // The count stands still once the connection is full.
            var last = -1
            while fetches.count.withLock({ $0 }) > last || last == 0 {
                last = fetches.count.withLock { $0 }
                try await Task.sleep(for: .milliseconds(500))
            }
            #expect(last < wanted / 2)
            var byteCount = 0
            while byteCount < wanted * 800_000 {
                let piece = try await socket.receive(within: 120_000)
                if piece.isEmpty { break }
                byteCount += piece.count
            }
            #expect(fetches.count.withLock { $0 } == wanted)
        }
    }

    @Test func `A shutdown that has waited long enough cancels the request that is answered`()
        async throws
    {
        let channel = NIOAsyncTestingChannel()
        let isCancelled = Lock(false)
        let answers = DirectAnswers { _ in
            true
        } answer: { _, _, _ in
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                isCancelled.withLock { $0 = true }
            }
            return Response(status: .serviceUnavailable)
        }
        let loop = channel.testingEventLoop
        try await loop.executeInContext {
            try channel.pipeline.syncOperations.addHandler(
                HTTPConnectionStateHandler(logger: Logger(label: "test"))
            )
            try DirectHandler.add(to: channel, answers, LoopExecutor.of(loop))
        }
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/")
        // In one read.
        try await loop.executeInContext {
            let pipeline = channel.pipeline.syncOperations
            pipeline.fireChannelRead(NIOAny(HTTPRequestPart.head(head)))
            pipeline.fireChannelRead(NIOAny(HTTPRequestPart.end(nil)))
            pipeline.fireChannelReadComplete()
        }
        await loop.run()
        channel.close(mode: .input, promise: nil)
        // Without the cancellation, the answer would take longer than the test may.
        while !isCancelled.withLock({ $0 }) {
            await loop.run()
            try await Task.sleep(for: .milliseconds(5))
        }
        _ = try? await channel.finish(acceptAlreadyClosed: true)
    }

    @Test(arguments: [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
        (4_102_444_800, "Fri, 01 Jan 2100 00:00:00 GMT"),
    ])
    func `The time of an answer is written as HTTP writes it`(second: Int64, text: String) {
        #expect(AnswerDate.text(second: second) == text)
        #expect(AnswerDate.field(at: second * 1000 + 999).value == text)
    }
}
#endif
