// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLock

@testable import TidemarkServer

/// The long poll, over real sockets.
@Suite struct CourierTests {
    /// Short waits, so that a poll without news ends soon.
    private static var options: ServerOptions {
        var options = ServerOptions()
        options.heartbeat = .seconds(4)
        return options
    }

    /// The keys of `ck`, and of what it is about.
    private struct Push {
        let ck: [String: Any]
        let subject: [String: Any]

        init?(_ answer: Answer) {
            guard let ck = answer.json["ck"] as? [String: Any],
                let subject = ["qry", "fet", "met"].lazy.compactMap({ ck[$0] as? [String: Any] })
                    .first
            else { return nil }
            (self.ck, self.subject) = (ck, subject)
        }

        var record: String? { subject["rid"] as? String }
        var subscription: String? { subject["sid"] as? String }
        var name: String? { ck["nid"] as? String }
    }

    @Test func `A courier delivers notifications one by one, each once`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let courier = try await server.courier(web, client: "b")
            // Registering with the same client changes nothing.
            let token = try #require(courier.split(separator: "/").last.map(String.init))
            let registered = try await server.device(
                "tokens/register",
                #"{"apnsEnvironment":"development","apnsToken":"\#(token)","clientId":"b"}"#,
                web: web
            )
            #expect(registered.status == 200 && registered.text == "{}")
            try await server.save(["own"], web, client: "b")
            try await server.save(["n1", "n2"], web, client: "a")
            let first = try await server.request(courier)
            #expect(first.status == 200)
            #expect(Push(first)?.record == "n1")
            #expect(Push(first)?.ck["cid"] as? String == "iCloud.tidemark")
            let owner = Push(first)?.subject["zoid"] as? String
            #expect(owner == Push(first)?.ck["ckuserid"] as? String)
            #expect(Push(try await server.request(courier, .post))?.record == "n2")
            let empty = try await server.request(courier)
            #expect(empty.status == 200 && empty.body.isEmpty)
            // A poll that waits hears of what happens meanwhile.
            let waiting = try RawSocket(port: try #require(server.client.port))
            try waiting.send("GET \(courier) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await waitUntil { server.server.push.hub.count == 1 }
            try await server.save(["n3"], web, client: "a")
            try await server.expect("n3", from: waiting, or: courier)
        }
    }

    @Test func `A search without a result wakes only the request that it rejected`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let address = try await server.courier(web, client: "b")
            let token = try #require(address.split(separator: "/").last.map(String.init))
            let kept = try await server.server.directory.registry.couriers.fetchIfPresent(
                CourierToken.self,
                CourierToken.recordName(of: token)
            )
            let courier = try #require(kept.flatMap { Courier($0.value) })
            let listener = Listener(courier.collection)
            courier.wait(with: listener)
            #expect(try await courier.take(from: server.store) === nil)
            listener.mark(.beat)
            #expect(await listener.takeMarks() == .beat)
            try await server.save(["n1"], web, client: "a")
            // Notifications are made after the save was answered.
            var found = try await courier.take(from: server.store)
            while found === nil { found = try await courier.take(from: server.store) }
            let handout = try #require(found)
            #expect(try await courier.take(from: server.store) === nil)
            handout.wasWritten()
            listener.mark(.beat)
            #expect(await listener.takeMarks() == [.news, .beat])
        }
    }

    @Test func `One change that matches two subscriptions has one nid and two sids`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            _ = try await server.send(
                "private/subscriptions/modify",
                """
                {"operations":[{"operationType":"create","subscription":{"subscriptionID":"z1",
                "subscriptionType":"zone","zoneID":{"zoneName":"Notes"}}}]}
                """,
                web: web
            )
            let courier = try await server.courier(web, client: "b")
            try await server.save(["n1"], web, client: "a")
            let pushes = try await [server.request(courier), server.request(courier)]
                .compactMap { Push($0) }
            #expect(Set(pushes.compactMap(\.subscription)) == ["q1", "z1"])
            #expect(Set(pushes.compactMap(\.name)).count == 1)
            #expect(try await server.request(courier).body.isEmpty)
        }
    }

    @Test func `A courier survives a restart without losing or repeating anything`() async throws {
        let folder = try ScratchFolder()
        let kept = Kept()
        try await ServerUnderTest.run(options: Self.options, in: folder) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let courier = try await server.courier(web, client: "b")
            kept.token.withLock { $0 = web }
            kept.position.withLock { $0 = courier }
            try await server.save(["n1", "n2"], web, client: "a")
            #expect(Push(try await server.poll(courier))?.record == "n1")
        }
        try await ServerUnderTest.run(options: Self.options, in: folder) { server in
            let courier = kept.position.withLock(\.self)
            try await server.save(["n3"], kept.token.withLock(\.self), client: "a")
            #expect(Push(try await server.poll(courier))?.record == "n2")
            #expect(Push(try await server.poll(courier))?.record == "n3")
            #expect(try await server.request(courier).body.isEmpty)
        }
    }

    @Test func `A notification that a lost client did not receive is sent again`() async throws {
        var options = Self.options
        options.heartbeat = .seconds(25)
        try await ServerUnderTest.run(options: options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let courier = try await server.courier(web, client: "b")
            let port = try #require(server.client.port)
            for round in 0..<3 {
                var socket: RawSocket? = try RawSocket(port: port)
                try socket?.send("GET \(courier) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try await waitUntil { server.server.push.hub.count == 1 }
                socket = nil
                // What is written before the server notices counts as handed out.
                // On a busy machine it takes a while to.
                try await Task.sleep(for: .seconds(3))
                try await server.save(["n\(round)"], web, client: "a")
                #expect(Push(try await server.poll(courier))?.record == "n\(round)")
            }
        }
    }

    @Test func `Of two concurrent polls, one gets the notification`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let courier = try await server.courier(web, client: "b")
            let port = try #require(server.client.port)
            let first = try RawSocket(port: port)
            try first.send("GET \(courier) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await waitUntil { server.server.push.hub.count == 1 }
            let second = try RawSocket(port: port)
            try second.send("GET \(courier) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // The later one takes the place of the earlier one.
            let answer = try await first.answer(within: 30_000)
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            #expect(answer.lowercased().contains("content-length: 0"))
            try await server.save(["n1"], web, client: "a")
            try await server.expect("n1", from: second, or: courier)
            #expect(try await server.request(courier).body.isEmpty)
        }
    }

    @Test func `Unknown and ended couriers are rejected`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            let courier = try await server.courier(web, client: "b")
            #expect(try await server.request("/courier/x").status == 403)
            #expect(try await server.request("/courier").status == 404)
            #expect(try await server.request(courier, .delete).status == 405)
            #expect(try await server.request(courier).status == 200)
            let account = try #require(
                try await server.server.directory.account(email: "ann@example.org")
            )
            try await server.server.directory.endSessions(ofAccount: account.id.text)
            #expect(try await server.request(courier).status == 403)
            let couriers = server.server.directory.registry.couriers
            #expect(try await couriers.all(CourierToken.self).isEmpty)
            #expect(try await server.device("tokens/create", "{}").status == 421)
            let wrong = try await server.device(
                "tokens/create",
                #"{"apnsEnvironment":"weather"}"#,
                web: try await server.signIn("ann")
            )
            #expect(wrong.status == 400)
        }
    }

    @Test func `A courier whose session ends while it waits delivers nothing more`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let courier = try await server.courier(web, client: "b")
            let waiting = try RawSocket(port: try #require(server.client.port))
            try waiting.send("GET \(courier) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // The server has the request, and finds no news.
            try await waitUntil { server.server.push.hub.count == 1 }
            let account = try #require(
                try await server.server.directory.account(email: "ann@example.org")
            )
            try await server.server.directory.endSessions(ofAccount: account.id.text)
            let again = try await server.signIn("ann")
            try await server.save(["n1"], again, client: "a")
            let answer = try await waiting.answer(within: 30_000)
            #expect(answer.hasPrefix("HTTP/1.1 403"), "\(answer)")
            #expect(!answer.contains("n1"))
        }
    }

    @Test func `The search for ended couriers is not a use of their sessions`() async throws {
        try await ServerUnderTest.run(.router, options: Self.options) { server in
            let web = try await server.signIn("ann")
            let address = try await server.courier(web, client: "b")
            let token = try #require(address.split(separator: "/").last.map(String.init))
            // As after a restart: no session was used yet.
            let directory = try await Directory(of: server.store, at: server.folder)
            let couriers = Couriers(server.store, directory, server.server.push.hub)
            try await couriers.sweep(Clock.now())
            #expect(directory.uses.withLock { $0.count } == 0)
            #expect(try await couriers.courier(token) != nil)
            #expect(directory.uses.withLock { $0.count } == 1)
        }
    }

    @Test func `A reregistered token moves to its new user without the old news`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            try await server.subscribe(ann)
            try await server.subscribe(ben)
            let courier = try await server.courier(ann, client: "b")
            try await server.save(["a1"], ann, client: "a")
            try await server.save(["b1"], ben, client: "a")
            let token = try #require(courier.split(separator: "/").last)
            _ = try await server.device("tokens/register", #"{"apnsToken":"\#(token)"}"#, web: ben)
            try await server.save(["b2"], ben, client: "a")
            // The notification of b1 may be made after the courier was given to its user.
            var record = Push(try await server.poll(courier))?.record
            if record == "b1" { record = Push(try await server.poll(courier))?.record }
            #expect(record == "b2")
            // A token of Apple's is taken, and nothing is sent to it.
            let other = try await server.device(
                "tokens/register",
                #"{"apnsToken":"abc"}"#,
                web: ben
            )
            #expect(other.status == 200)
        }
    }

    @Test func `A delivery does not take a token back from its new user`() async throws {
        try await ServerUnderTest.run(.router, options: Self.options) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            try await server.subscribe(ann)
            let address = try await server.courier(ann, client: "b")
            let token = try #require(address.split(separator: "/").last.map(String.init))
            let directory = server.server.directory
            let couriers = server.server.push.couriers
            let name = CourierToken.recordName(of: token)
            func user() async throws -> String? {
                try await directory.registry.couriers.fetchIfPresent(CourierToken.self, name)?.user
            }
            let old = try #require(try await couriers.courier(token))
            try await server.save(["a1"], ann, client: "a")
            try await server.store.waitUntilNotified()
            let handout = try #require(try await old.take(from: server.store))
            _ = try await server.device("tokens/register", #"{"apnsToken":"\#(token)"}"#, web: ben)
            let new = try #require(try await couriers.courier(token))
            #expect(new !== old)
            #expect(new.token.user != old.token.user)
            handout.wasWritten()
            try await old.save(in: directory)
            #expect(try await user() == new.token.user)
            // Nor does it bring an ended courier back.
            try await couriers.end(name)
            handout.wasWritten()
            try await old.save(in: directory)
            #expect(try await user() == nil)
        }
    }

    @Test func `The documented paths below a database create tokens too`() async throws {
        try await ServerUnderTest.run(options: Self.options) { server in
            let web = try await server.signIn("ann")
            let made = try await server.send("private/tokens/create", "", web: web)
            #expect(made.status == 200)
            #expect(made.json["apnsEnvironment"] as? String == "development")
            let url = try #require(made.json["webcourierURL"] as? String)
            #expect(try await server.request(ServerUnderTest.path(of: url)).status == 200)
            let signed = try await server.sendSigned("public/tokens/create", "{}")
            #expect(signed.status == 200)
            let address = try #require(signed.json["webcourierURL"] as? String)
            #expect(try await server.request(ServerUnderTest.path(of: address)).status == 200)
        }
    }
}

extension ServerUnderTest {
    /// Sends a request below `/device`.
    func device(_ endpoint: String, _ body: String, web: String? = nil) async throws -> Answer {
        let session = web.map { "&ckWebAuthToken=\($0)" } ?? ""
        return try await request(
            "/device/1/iCloud.tidemark/development/\(endpoint)?ckAPIToken=\(token)\(session)",
            .post,
            Array(body.utf8)
        )
    }

    /// Expects that a poll that waits is told of a record, or the next poll if that one ended before.
    func expect(_ record: String, from poll: RawSocket, or courier: String) async throws {
        var answer = try await poll.answer(within: 30_000)
        if answer.lowercased().contains("content-length: 0") {
            answer = try await self.poll(courier).text
        }
        #expect(answer.contains("\"rid\":\"\(record)\""))
    }

    /// Asks a courier until it hands something out, as clients do.
    ///
    /// On a busy machine a notification may be made after a poll has ended.
    func poll(_ courier: String) async throws -> Answer {
        var answer = try await request(courier)
        for _ in 0..<10 where answer.status == 200 && answer.body.isEmpty {
            answer = try await request(courier)
        }
        return answer
    }

    /// Makes a courier for one of a user's clients, and returns its path.
    func courier(_ web: String, client: String) async throws -> String {
        let answer = try await device("tokens/create", #"{"clientId":"\#(client)"}"#, web: web)
        guard answer.status == 200, let url = answer.json["webcourierURL"] as? String else {
            Issue.record("no courier: \(answer.text)")
            throw Missing()
        }
        return Self.path(of: url)
    }
}
#endif
