// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel

@testable import TidemarkServer

/// Server-Sent Events over real sockets.
@Suite struct ChangeStreamTests {
    @Test func `A stream reports each change of others once`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let stream = try await StreamReader(server, web, client: "b")
            #expect(stream.status == 200)
            #expect(stream.headers["content-type"] == "text/event-stream")
            #expect(stream.headers["cache-control"] == "no-store")
            #expect(stream.headers["x-accel-buffering"] == "no")
            #expect(stream.headers["content-encoding"] == nil)
            #expect(stream.headers["access-control-allow-origin"] == "https://app.example.org")
            #expect(try await stream.next()?.name == "ready")
            try await server.save(["own"], web, client: "b")
            try await server.save(["n1", "n2"], web, client: "a")
            var ids: Set<String> = []
            for name in ["n1", "n2"] {
                let event = try #require(try await stream.next())
                #expect(event.name == "notification")
                #expect(event.record == name)
                #expect(event.data.contains(#""af":{"title":"\#(name)"}"#))
                ids.insert(event.id)
            }
            #expect(ids.count == 2)
        }
    }

    @Test func `Streams of one user share a page, but none reports its client's own changes`()
        async throws
    {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let clients = ["a", "b", "c", "d"]
            var streams: [StreamReader] = []
            for client in clients {
                let stream = try await StreamReader(server, web, client: client)
                #expect(try await stream.next()?.name == "ready")
                streams.append(stream)
            }
            for (number, author) in (clients + clients).enumerated() {
                try await server.save(["n\(number)"], web, client: author)
                for (client, stream) in zip(clients, streams) where client != author {
                    #expect(try await stream.next()?.record == "n\(number)")
                }
            }
        }
    }

    @Test func `A client continues after its last event, also after a restart`() async throws {
        let folder = try ScratchFolder()
        let kept = Kept()
        try await ServerUnderTest.run(in: folder) { server in
            let web = try await server.signIn("ann")
            kept.token.withLock { $0 = web }
            try await server.subscribe(web)
            let stream = try await StreamReader(server, web, client: "b")
            _ = try await stream.next()
            try await server.save(["n1", "n2", "n3"], web, client: "a")
            #expect(try await stream.next()?.record == "n1")
            kept.position.withLock { $0 = stream.lastID }
            // Another stream begins after the first event, and has the rest once.
            let other = try await StreamReader(server, web, client: "b", after: stream.lastID)
            #expect(try await other.next()?.name == "ready")
            #expect(try await other.next()?.record == "n2")
            #expect(try await other.next()?.record == "n3")
            try await server.save(["n4"], web, client: "a")
            #expect(try await other.next()?.record == "n4")
        }
        try await ServerUnderTest.run(in: folder) { server in
            let web = kept.token.withLock(\.self)
            let stream = try await StreamReader(
                server,
                web,
                client: "b",
                after: kept.position.withLock(\.self)
            )
            #expect(try await stream.next()?.name == "ready")
            try await server.save(["n5"], web, client: "a")
            for name in ["n2", "n3", "n4", "n5"] {
                #expect(try await stream.next()?.record == name)
            }
        }
    }

    @Test func `A server that stops ends its streams`() async throws {
        let open = Lock(StreamReader?.none)
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let stream = try await StreamReader(server, web, client: "b")
            _ = try await stream.next()
            open.withLock { $0 = stream }
        }
        let last = open.withLock(\.self)
        let stream = try #require(last)
        #expect(try await stream.next() == nil)
        #expect(stream.retry == 1000)
    }

    @Test func `A stream sends heartbeats and ends when its user signs out`() async throws {
        var options = ServerOptions()
        options.heartbeat = .milliseconds(250)
        try await ServerUnderTest.run(options: options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let stream = try await StreamReader(server, web, client: "b")
            _ = try await stream.next()
            #expect(server.server.push.hub.count == 1)
            try await stream.heartbeat()
            let account = try #require(
                try await server.server.directory.account(email: "ann@example.org")
            )
            try await server.server.directory.endSessions(ofAccount: account.id.text)
            #expect(try await stream.next() == nil)
            try await waitUntil { server.server.push.hub.count == 0 }
        }
    }

    @Test func `Listeners with lost connections are removed`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let port = try #require(server.client.port)
            let path =
                "\(ServerUnderTest.path)private/changes/stream?ckAPIToken=\(server.token)"
                + "&ckWebAuthToken=\(web)"
            var sockets: [RawSocket] = []
            for _ in 0..<20 {
                let socket = try RawSocket(port: port)
                try socket.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                sockets.append(socket)
            }
            try await waitUntil { server.server.push.hub.count == 20 }
            sockets = []
            try await waitUntil { server.server.push.hub.count == 0 }
        }
    }

    @Test func `Invalid streams are rejected before the stream starts`() async throws {
        var options = ServerOptions()
        options.listenersPerUser = 1
        try await ServerUnderTest.run(options: options) { server in
            let nobody = try await server.send("private/changes/stream", "", .get)
            #expect(nobody.status == 421)
            #expect(nobody.json["redirectURL"] is String)
            let web = try await server.signIn("ann")
            let strange = try await server.send(
                "private/changes/stream?since=x",
                "",
                .get,
                web: web
            )
            #expect(strange.status == 400)
            #expect(try await server.send("private/changes/stream", web: web).status == 405)
            let stream = try await StreamReader(server, web, client: "b")
            _ = try await stream.next()
            let other = try await server.send("private/changes/stream", "", .get, web: web)
            #expect(other.status == 429)
            let ben = try await server.signIn("ben")
            #expect(try await StreamReader(server, ben, client: "b").status == 200)
            // A token of another store is not one that anything was missed after.
            let carl = try await server.signIn("carl")
            let foreign = try await StreamReader(server, carl, client: "c", after: "t.AAAA")
            #expect(foreign.status == 400)
        }
    }

    @Test func `A stream continues only after an id of its user's events`() async throws {
        let foreign = Kept()
        try await ServerUnderTest.run { other in
            let stream = try await StreamReader(other, try await other.signIn("ann"), client: "b")
            let id = try #require(try await stream.next()).id
            foreign.position.withLock { $0 = id }
        }
        try await ServerUnderTest.run { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            for web in [ann, ben] { try await server.subscribe(web) }
            let stream = try await StreamReader(server, ann, client: "b")
            #expect(try await stream.next()?.name == "ready")
            try await server.save(["n1"], ann, client: "a")
            let id = try #require(try await stream.next()).id

            func status(_ web: String, after id: String) async throws -> UInt {
                try await StreamReader(server, web, client: "c", after: id).status
            }
            #expect(try await status(ben, after: id) == 400)
            #expect(try await status(ann, after: String(id.dropLast())) == 400)
            #expect(try await status(ann, after: id + "A") == 400)
            let feed = try await server.send("private/changes/database", "{}", web: ann)
            let place = try #require(feed.json["syncToken"] as? String)
            #expect(try await status(ann, after: place) == 400)

            // An id of another store, such as one from before a restore, says that something was
            // missed. The stream then continues.
            let old = foreign.position.withLock { $0 }
            let missed = try await StreamReader(server, ann, client: "c", after: old)
            let reset = try #require(try await missed.next())
            #expect(reset.name == "reset")
            try await server.save(["n2"], ann, client: "a")
            #expect(try await missed.next()?.record == "n2")
            let again = try await StreamReader(server, ann, client: "c", after: reset.id)
            #expect(try await again.next()?.name == "ready")
            #expect(try await again.next()?.record == "n2")

            // An empty id does not hide the parameter.
            let both = try await server.send(
                "private/changes/stream?since=x",
                "",
                .get,
                web: ann,
                headers: [.lastEventID: ""]
            )
            #expect(both.status == 400)
        }
    }

    @Test func `A slow reader receives everything once and keeps one pending mark`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let socket = try RawSocket(port: try #require(server.client.port))
            try socket.send(
                "GET \(ServerUnderTest.path)private/changes/stream?ckAPIToken=\(server.token)"
                    + "&ckWebAuthToken=\(web)&clientId=b HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            try await waitUntil { server.server.push.hub.count == 1 }
            let names = (0..<600).map { "n\($0)." }
            for start in stride(from: 0, to: names.count, by: 100) {
                try await server.save(Array(names[start..<start + 100]), web, client: "a")
            }
            var bytes: [UInt8] = []
            let last = Array(#""rid":"n599.""#.utf8)
            while bytes.firstRange(of: last) == nil {
                let more = try await socket.receive(within: 30_000)
                if more.isEmpty { break }
                bytes += more
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let told = text.matches(of: /"rid":"(n[0-9]+\.)"/).map { String($0.1) }
            #expect(told == names)
        }
        let listener = Listener(DatabaseID(scope: .private, owner: UserID("_a")))
        for _ in 0..<1000 { listener.mark(.news) }
        listener.mark(.beat)
        #expect(await listener.takeMarks() == [.news, .beat])
        let waiting = Task { await listener.takeMarks() }
        await Task.yield()
        listener.mark(.news)
        #expect(await waiting.value == .news)
        listener.mark(.end)
        #expect(await listener.takeMarks() == .end)
        #expect(await listener.takeMarks() == .end)
    }

    @Test func `A cancelled task does not wait for marks`() async {
        let listener = Listener(DatabaseID(scope: .private, owner: UserID("_a")))
        let waiting = Task { await listener.takeMarks() }
        waiting.cancel()
        #expect(await waiting.value == .end)
    }
}

/// What a test keeps from one server to the next.
final class Kept: Sendable {
    let position = Lock("")
    let token = Lock("")
}

/// Waits until something holds, for a minute, since many tests run at the same time.
func waitUntil(
    _ what: @Sendable () async throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    for _ in 0..<2_400 {
        if try await what() { return }
        try await Task.sleep(for: .milliseconds(25))
    }
    Issue.record("it did not come to hold", sourceLocation: sourceLocation)
}
#endif
