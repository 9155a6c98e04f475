// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTLS
import HummingbirdTesting
import Logging
import NIOCore
import NIOSSL
import TestSupport
import Testing
import TidemarkLock
import TidemarkModel

@testable import TidemarkServer

/// The keys of issuers over HTTP, and the settings that name issuers.
@Suite struct IssuerKeyTests {
    private let issuer: TestIssuer

    init() throws {
        issuer = try TestIssuer()
    }

    /// The keys that are published, and the number of times that they were fetched.
    private final class Fetches: Sendable {
        private struct State {
            var count = 0
            var keys: Data?
        }

        private let state: Lock<State>

        init(of keys: Data) {
            state = Lock(State(keys: keys))
        }

        var count: Int { state.withLock(\.count) }

        /// Publishes other keys; with `nil`, the issuer fails.
        func publish(_ keys: Data?) {
            state.withLock { $0.keys = keys }
        }

        func fetch() throws -> ByteBuffer {
            let keys = state.withLock { state in
                state.count += 1
                return state.keys
            }
            guard let keys else { throw HTTPError(.serviceUnavailable) }
            return ByteBuffer(bytes: keys)
        }
    }

    /// An issuer's documents, on this machine.
    private func serve(
        issuer named: String? = nil,
        over tls: TLSConfiguration? = nil,
        _ body: @escaping @Sendable (_ port: Int, _ fetches: Fetches) async throws -> Void
    ) async throws {
        let fetches = Fetches(of: try issuer.keySet())
        let scheme = tls == nil ? "http" : "https"
        let router = Router()
        router.get("/.well-known/openid-configuration") { request, _ in
            let base = "\(scheme)://\(request.head.authority ?? "")"
            return "{\"issuer\":\"\(named ?? base)\",\"jwks_uri\":\"\(base)/keys\"}"
        }
        router.get("/keys") { _, _ in try fetches.fetch() }
        guard let tls else {
            try await Application(router: router).test(.live) { client in
                try await body(try #require(client.port), fetches)
            }
            return
        }
        let application = Application(
            router: router,
            server: try .tls(.http1(), tlsConfiguration: tls)
        )
        try await application.test(.ahc(.https)) { client in
            try await body(try #require(client.port), fetches)
        }
    }

    private func source(_ url: String, trust: TLSConfiguration? = nil) throws -> IssuerKeySource {
        IssuerKeySource(
            of: OIDCIssuer(url, audience: "notes", container: .standard),
            [try Network("127.0.0.0/8"), try Network("::1/128")],
            ServerOptions(),
            Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            trust: trust
        )
    }

    @Test func `Keys are fetched again after an hour, and kept if that fails`() async throws {
        let next = try TestIssuer()
        let texts = [try issuer.token(), try next.token()]
        let published = try next.keySet()
        try await serve { port, fetches in
            let old = try #require(BearerToken(texts[0]))
            let new = try #require(BearerToken(texts[1]))
            let source = try source("http://127.0.0.1:\(port)")
            let start = ContinuousClock.now
            #expect(await source.refresh(at: start) == 1)
            #expect(source.keys.verify(old) && !source.keys.verify(new))
            fetches.publish(nil)
            #expect(await source.refresh(at: start + .seconds(3599)) == 1)
            #expect(fetches.count == 1)
            // The issuer fails: its keys stay in use, and it is asked once a minute.
            #expect(await source.refresh(at: start + .seconds(3600)) == 1)
            try await waitUntil { fetches.count == 2 }
            #expect(source.keys.verify(old))
            fetches.publish(published)
            #expect(await source.refresh(at: start + .seconds(3659)) == 1)
            #expect(fetches.count == 2)
            // A request does not wait for the new keys. The old ones are withdrawn with their
            // arrival.
            try await waitUntil { await source.refresh(at: start + .seconds(3660)) == 2 }
            #expect(fetches.count == 3)
            #expect(source.keys.verify(new) && !source.keys.verify(old))
            #expect(await source.refresh(at: start + .seconds(7259)) == 2)
            #expect(fetches.count == 3)
        }
    }

    @Test func `Keys are discovered over https, from a host that its certificate names`()
        async throws
    {
        let folder = try ScratchFolder()
        let hosts = ["localhost", "id.example.org"]
        var authorities: [NIOSSLCertificate] = []
        for host in hosts {
            let (key, certificate) = (folder.path(host + ".key"), folder.path(host + ".pem"))
            // An authority of its own, which vouches for the host.
            _ = try shell(
                "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=\(host)' "
                    + "-addext 'subjectAltName=DNS:\(host)' -keyout '\(key)' "
                    + "-out '\(certificate)' 2>/dev/null"
            )
            authorities += try NIOSSLCertificate.fromPEMFile(certificate)
        }
        var trusting = TLSConfiguration.makeClientConfiguration()
        trusting.trustRoots = .certificates(authorities)
        let trust = trusting
        let text = try issuer.token()
        for (host, certificate) in zip(hosts, authorities) {
            let key = try NIOSSLPrivateKey(file: folder.path(host + ".key"), format: .pem)
            let tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: [.certificate(certificate)],
                privateKey: .privateKey(key)
            )
            try await serve(over: tls) { port, fetches in
                let token = try #require(BearerToken(text))
                let url = "https://localhost:\(port)"
                // Neither an unknown authority nor the certificate of another host is accepted.
                let strict = try source(url)
                await strict.refresh()
                #expect(!strict.hasKeys)
                let trusted = try source(url, trust: trust)
                await trusted.refresh()
                #expect(trusted.hasKeys == (host == "localhost"))
                #expect(trusted.keys.verify(token) == (host == "localhost"))
                #expect(fetches.count == (host == "localhost" ? 1 : 0))
            }
        }
    }

    private func fetching(port: Int, allowing networks: [String]) -> ServerOptions {
        var options = ServerOptions()
        options.webhookNetworks = networks
        options.issuers = [
            OIDCIssuer("http://127.0.0.1:\(port)", audience: "notes", container: .standard)
        ]
        return options
    }

    private func token(port: Int, kid: String = "e") throws -> String {
        try issuer.token(
            TestIssuer.claims(["iss": "http://127.0.0.1:\(port)"]),
            header: ["kid": kid]
        )
    }

    @Test func `Keys are fetched once, and not for each invented key`() async throws {
        try await serve { port, fetches in
            let options = fetching(port: port, allowing: ["127.0.0.0/8"])
            try await ServerUnderTest.run(.router, options: options) { server in
                #expect(fetches.count == 0)
                for _ in 0..<3 {
                    #expect(try await server.userName(try token(port: port)) != nil)
                }
                for number in 0..<3 {
                    let strange = try token(port: port, kid: "strange \(number)")
                    try await server.refuses(strange, "signature")
                }
                #expect(fetches.count == 1)
            }
        }
    }

    @Test func `Keys are not fetched from a private network, or for another issuer`() async throws {
        try await serve { port, fetches in
            let options = fetching(port: port, allowing: [])
            try await ServerUnderTest.run(.router, options: options) { server in
                let token = try token(port: port)
                let answer = try await server.send("private/zones/list", bearer: token)
                #expect(answer.status == 503)
                #expect(answer.code == "TRY_AGAIN_LATER")
            }
            #expect(fetches.count == 0)
        }
        try await serve(issuer: "https://id.example.org") { port, fetches in
            let options = fetching(port: port, allowing: ["127.0.0.0/8"])
            try await ServerUnderTest.run(.router, options: options) { server in
                let token = try token(port: port)
                #expect(try await server.send("private/zones/list", bearer: token).status == 503)
            }
            #expect(fetches.count == 0)
        }
    }

    @Test func `An answer that does not end is given up`() async throws {
        let router = Router()
        router.get("/trickle") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    for _ in 0..<200 {
                        try await writer.write(ByteBuffer(string: " "))
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    try await writer.finish(nil)
                }
            )
        }
        try await Application(router: router).test(.live) { client in
            let port = try #require(client.port)
            let networks = [try Network("127.0.0.0/8")]
            await #expect(throws: CheckedRequest.Failure.self) {
                try await CheckedRequest.send(
                    HTTPClientRequest(url: "http://127.0.0.1:\(port)/trickle"),
                    allowing: networks,
                    bodyByteLimit: 1000,
                    within: .milliseconds(300)
                )
            }
        }
    }

    @Test func `An issuer is read from its text`() throws {
        let text = "https://id.example.org/a audience=n=1 container=iCloud.n keys=/etc/keys.json"
        #expect(
            try OIDCIssuer(text)
                == OIDCIssuer(
                    "https://id.example.org/a",
                    audience: "n=1",
                    container: "iCloud.n",
                    keyFile: "/etc/keys.json"
                )
        )
        for wrong in [
            "", "https://id.example.org", "https://id.example.org audience=a",
            "https://id.example.org audience=a container=c key=f",
            "https://id.example.org audience=a audience=b container=c",
            "id.example.org audience=a container=c",
            "ftp://id.example.org audience=a container=c",
            "https://id.example.org?a=b audience=a container=c",
            "https://id.example.org audience=a container=tidemark.server",
        ] {
            #expect(throws: SyncError.self, "\(wrong)") { try OIDCIssuer(wrong) }
        }
    }

    @Test func `A server does not start without the keys of its issuer's file`() async throws {
        let folder = try ScratchFolder()
        let options = try issuer.options(folder)
        for text in ["", #"{"keys":{}}"#] {
            try Data(text.utf8).write(to: URL(filePath: folder.path("keys.json")))
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let error = try await #require(throws: SyncError.self) {
                try await Issuers(options, logger)
            }
            #expect(error.message.contains("keys.json"))
        }
    }
}
#endif
