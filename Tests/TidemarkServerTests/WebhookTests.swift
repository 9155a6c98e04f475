// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// Webhooks, with a receiver on this machine.
@Suite struct WebhookTests {
    /// A request as the receiver got it.
    struct Received: Sendable {
        let body: [UInt8]
        let id: String
        let time: String
        let signature: String

        var record: String? { StreamEvent(data: String(decoding: body, as: UTF8.self)).record }

        /// Tells whether the signature is one of a secret, as any library of Standard Webhooks would.
        func isSigned(with secret: String) -> Bool {
            guard let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))) else {
                return false
            }
            let code = HMAC<SHA256>.authenticationCode(
                for: Data("\(id).\(time).".utf8) + body,
                using: SymmetricKey(data: key)
            )
            return signature == "v1," + Data(code).base64EncodedString()
        }
    }

    /// A program that takes webhooks: it answers with the given statuses, then with 204.
    final class Receiver: Sendable {
        private let received = Lock([Received]())
        private let statuses: Lock<[HTTPResponse.Status]>
        /// What is done when a request has come, before it is answered.
        let onRequest = Lock<(@Sendable () async throws -> Void)?>(nil)

        init(_ statuses: [HTTPResponse.Status] = []) {
            self.statuses = Lock(statuses)
        }

        var all: [Received] { received.withLock(\.self) }

        func run(_ body: @escaping @Sendable (Int) async throws -> Void) async throws {
            let router = Router()
            router.post("/hook") { request, _ in
                let bytes = try await request.body.collect(upTo: 1 << 20)
                func header(_ name: String) -> String {
                    HTTPField.Name(name).flatMap { request.headers[$0] } ?? ""
                }
                let one = Received(
                    body: Array(bytes.readableBytesView),
                    id: header("webhook-id"),
                    time: header("webhook-timestamp"),
                    signature: header("webhook-signature")
                )
                self.received.withLock { $0.append(one) }
                try await self.onRequest.withLock(\.self)?()
                let status = self.statuses.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                return Response(status: status ?? .noContent, headers: [.location: "/elsewhere"])
            }
            try await Application(router: router).test(.live) { client in
                try await body(try #require(client.port))
            }
        }
    }

    private static func options(allowingLoopback: Bool) -> ServerOptions {
        var options = ServerOptions()
        options.webhookNetworks = allowingLoopback ? ["127.0.0.0/8", "::1/128"] : []
        options.webhookPatience.firstPause = .milliseconds(20)
        return options
    }

    private static func add(_ url: String, to server: ServerUnderTest) async throws -> String {
        let web = try await server.signIn("ann")
        try await server.subscribe(web)
        let account = try #require(
            try await server.server.directory.account(email: "ann@example.org")
        )
        let webhook = Webhook(
            url: url,
            container: .standard,
            environment: .development,
            user: account.user(in: .standard).userRecordName
        )
        let answer = try await server.server.directory.answer(.addWebhook(webhook))
        try await server.server.push.webhooks.reload()
        return answer.text
    }

    @Test func `Notifications are posted in order and signed until accepted`() async throws {
        let receiver = Receiver([.internalServerError, .found, .badGateway])
        try await receiver.run { port in
            try await ServerUnderTest.run(options: Self.options(allowingLoopback: true)) { server in
                let secret = try await Self.add("http://127.0.0.1:\(port)/hook", to: server)
                let web = try await server.signIn("ann")
                try await server.save(["n1", "n2"], web, client: "a")
                try await waitUntil { receiver.all.count == 5 }
                #expect(receiver.all.map(\.record) == ["n1", "n1", "n1", "n1", "n2"])
                // Attempts for one notification have one id, so that the receiver can tell.
                #expect(Set(receiver.all.map(\.id)).count == 2)
                for one in receiver.all {
                    #expect(one.isSigned(with: secret))
                    #expect(abs((Int64(one.time) ?? 0) - Clock.now() / 1000) < 60)
                }
                try await waitUntil {
                    try await server.server.directory.webhooks()[0].value.failure.isEmpty
                }
                let id = try await server.server.directory.webhooks()[0].value.id.text
                _ = try await server.server.directory.answer(.removeWebhook(id))
                try await server.server.push.webhooks.reload()
                try await server.save(["n3"], web, client: "a")
                try await server.store.waitUntilNotified()
                try await Task.sleep(for: .milliseconds(200))
                #expect(receiver.all.count == 5)
            }
        }
    }

    @Test func `A webhook that is removed while it posts gets nothing more`() async throws {
        let receiver = Receiver()
        try await receiver.run { port in
            try await ServerUnderTest.run(options: Self.options(allowingLoopback: true)) { server in
                _ = try await Self.add("http://127.0.0.1:\(port)/hook", to: server)
                let directory = server.server.directory
                let id = try await directory.webhooks()[0].value.id.text
                receiver.onRequest.withLock {
                    $0 = { _ = try await directory.answer(.removeWebhook(id)) }
                }
                let web = try await server.signIn("ann")
                try await server.save(["n1", "n2"], web, client: "a")
                try await waitUntil { receiver.all.count == 1 }
                try await server.store.waitUntilNotified()
                // Several times the pause after a failure.
                try await Task.sleep(for: .milliseconds(300))
                #expect(receiver.all.count == 1)
                #expect(try await directory.webhooks().isEmpty)
            }
        }
    }

    /// A client that is gone before it receives anything.
    private struct GoneWriter: ResponseBodyWriter {
        struct Gone: Error {}

        mutating func write(_ buffer: ByteBuffer) async throws { throw Gone() }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws { throw Gone() }
    }

    @Test func `A webhook starts also if its administrator is gone before the answer`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let webhook = Webhook(
                url: "http://127.0.0.1:1/hook",
                container: .standard,
                environment: .development,
                key: server.keyID
            )
            let call = try WireCoding.bytes(of: AdministrationRequest.addWebhook(webhook))
            let head = HTTPRequest(
                method: .post,
                scheme: "http",
                authority: "localhost",
                path: "/tidemark/1/administration/directory"
            )
            let request = Request(
                head: head,
                body: RequestBody(buffer: ByteBuffer(bytes: call))
            )
            let response = await server.server.administerLocally(request, "directory")
            await #expect(throws: GoneWriter.Gone.self) {
                try await response.body.write(GoneWriter())
            }
            #expect(try await server.server.directory.webhooks().count == 1)
            // A webhook that runs has a listener.
            try await waitUntil { server.server.push.hub.count == 1 }
        }
    }

    @Test func `A webhook of a user with too many listeners starts when one ends`() async throws {
        let receiver = Receiver()
        try await receiver.run { port in
            var options = Self.options(allowingLoopback: true)
            options.listenersPerUser = 1
            try await ServerUnderTest.run(options: options) { server in
                let web = try await server.signIn("ann")
                let account = try #require(
                    try await server.server.directory.account(email: "ann@example.org")
                )
                let collection = DatabaseID(
                    container: .standard,
                    environment: .development,
                    scope: .private,
                    owner: account.user(in: .standard)
                )
                let hub = server.server.push.hub
                let other = try hub.add(for: collection)
                _ = try await Self.add("http://127.0.0.1:\(port)/hook", to: server)
                try await server.save(["n1"], web, client: "a")
                // Several times the pause after a refusal.
                try await Task.sleep(for: .milliseconds(300))
                #expect(receiver.all.isEmpty)
                hub.remove(other)
                try await waitUntil { receiver.all.count == 1 }
                #expect(receiver.all.first?.record == "n1")
            }
        }
    }

    @Test func `A webhook that fails for too long is disabled with a reason`() async throws {
        let receiver = Receiver([HTTPResponse.Status](repeating: .gone, count: 1000))
        try await receiver.run { port in
            var options = Self.options(allowingLoopback: true)
            options.webhookPatience.limit = .milliseconds(200)
            try await ServerUnderTest.run(options: options) { server in
                _ = try await Self.add("http://127.0.0.1:\(port)/hook", to: server)
                try await server.save(["n1"], try await server.signIn("ann"), client: "a")
                try await waitUntil {
                    try await server.server.directory.webhooks()[0].value.isDisabled
                }
                let webhook = try await server.server.directory.webhooks()[0].value
                #expect(webhook.failure.contains("410"))
                #expect(webhook.failingSince > 0)
                let count = receiver.all.count
                try await server.server.push.webhooks.reload()
                try await Task.sleep(for: .milliseconds(200))
                #expect(receiver.all.count == count)
            }
        }
    }

    @Test func `The pauses between attempts double up to an hour, for a day`() {
        let patience = WebhookPatience()
        for (failures, seconds) in [(1, 5), (2, 10), (3, 20), (10, 2560), (11, 3600), (5000, 3600)]
        {
            let longest = Duration.seconds(seconds)
            let pauses = (0..<200).map { _ in patience.pause(after: failures) }
            #expect(pauses.allSatisfy { longest / 2 <= $0 && $0 <= longest }, "\(failures)")
            // Receivers that were away are not asked by all webhooks at once.
            #expect(Set(pauses).count > 100)
        }
        #expect(patience.limit == .seconds(86_400))
    }

    @Test(arguments: ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"])
    func `Nothing is posted to the local machine unless it is allowed`(host: String) async throws {
        let receiver = Receiver()
        try await receiver.run { port in
            try await ServerUnderTest.run(options: Self.options(allowingLoopback: false)) {
                server in
                _ = try await Self.add("https://\(host):\(port)/hook", to: server)
                try await server.save(["n1"], try await server.signIn("ann"), client: "a")
                try await waitUntil {
                    try await server.server.directory.webhooks()[0].value.failure
                        .contains("not a public address")
                }
                let failure = try await server.server.directory.webhooks()[0].value.failure
                #expect(!failure.hasPrefix("\(host) is \(host)"), "\(failure)")
                #expect(receiver.all.isEmpty)
            }
        }
    }

    @Test(arguments: [
        "ftp://example.org/", "https://user@example.org/", "https://user:word@example.org/",
        "https:///path", "example.org", "file:///etc/passwd", "https://example.org/#part",
    ])
    func `Invalid webhook URLs are rejected`(url: String) async throws {
        try await ServerUnderTest.run(.router) { server in
            let webhook = Webhook(
                url: url,
                container: .standard,
                environment: .development,
                user: "_a"
            )
            await #expect(throws: SyncError.self) {
                try await server.server.directory.answer(.addWebhook(webhook))
            }
        }
    }

    @Test
    func `A webhook of a key that does not exist is rejected, and told where keys are listed`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let webhook = Webhook(
                url: "https://example.org",
                container: .standard,
                environment: .development,
                key: "none"
            )
            let error = await #expect(throws: SyncError.self) {
                try await server.server.directory.answer(.addWebhook(webhook))
            }
            #expect(error?.code == .unknownItem)
            #expect(error?.description.contains("tidemark keys list") == true)
        }
    }

    @Test func `A webhook of a key serves the key's subscriptions and ends with it`() async throws {
        let receiver = Receiver()
        try await receiver.run { port in
            try await ServerUnderTest.run(options: Self.options(allowingLoopback: true)) { server in
                let subscribed = try await server.sendSigned(
                    "public/subscriptions/modify",
                    """
                    {"operations":[{"operationType":"create","subscription":{"subscriptionID":"s",
                    "subscriptionType":"query","query":{"recordType":"Note","filterBy":[]},
                    "firesOn":["create"]}}]}
                    """
                )
                #expect(subscribed.status == 200, "\(subscribed.text)")
                let webhook = Webhook(
                    url: "http://127.0.0.1:\(port)/hook",
                    container: .standard,
                    environment: .development,
                    key: server.keyID
                )
                _ = try await server.server.directory.answer(.addWebhook(webhook))
                try await server.server.push.webhooks.reload()
                let web = try await server.signIn("ann")
                func save(_ name: String) async throws {
                    let saved = try await server.send(
                        "public/records/modify",
                        #"{"operations":[{"operationType":"create","record":{"recordName":"#
                            + #""\#(name)","recordType":"Note","fields":{}}}]}"#,
                        web: web
                    )
                    #expect(saved.status == 200, "\(saved.text)")
                }
                try await save("p1")
                try await waitUntil { receiver.all.count == 1 }
                #expect(receiver.all.first?.record == "p1")
                try await server.server.directory.revokeKey(server.keyID)
                try await save("p2")
                try await waitUntil {
                    try await server.server.directory.webhooks()[0].value.failure.contains("key")
                }
                #expect(receiver.all.count == 1)
            }
        }
    }
}

@Suite struct NetworkTests {
    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.0.1", "198.18.0.1",
        "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::a00:1",
        "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:a00:1::", "3fff::1", "fc00::1",
        "fd12::1", "fe80::1", "fec0::1", "ff02::1",
    ])
    func `Private and reserved addresses are not public`(text: String) throws {
        #expect(try #require(InternetAddress(text)).isPublic == false)
    }

    @Test(arguments: [
        "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1",
        "192.0.1.1", "223.255.255.255", "2001:4860:4860::8888", "2606:4700::1111",
        "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::",
    ])
    func `Other addresses are public`(text: String) throws {
        #expect(try #require(InternetAddress(text)).isPublic)
    }

    @Test func `A network contains the addresses with its prefix`() throws {
        let network = try Network("192.168.4.0/22")
        for text in ["192.168.4.0", "192.168.7.255"] {
            #expect(network.contains(try #require(InternetAddress(text))))
        }
        for text in ["192.168.3.255", "192.168.8.0", "::ffff:192.168.4.1"] {
            #expect(!network.contains(try #require(InternetAddress(text))))
        }
        #expect(try Network("0.0.0.0/0").contains(try #require(InternetAddress("8.8.8.8"))))
        #expect(try Network("fd00::/8").contains(try #require(InternetAddress("fdab::1"))))
        for text in ["10.0.0.0", "10.0.0.0/33", "x/8", "10.0.0.0/-1", "10.0.0.0/8/8", ""] {
            #expect(throws: SyncError.self) { try Network(text) }
        }
    }
}
#endif
