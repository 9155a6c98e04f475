// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
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

    /// The number of times that the keys were fetched.
    private final class Fetches: Sendable {
        private let state = Lock(0)

        var count: Int { state.withLock { $0 } }

        func add() {
            state.withLock { $0 += 1 }
        }
    }

    /// An issuer's documents, on this machine.
    private func serve(
        issuer named: String? = nil,
        _ body: @escaping @Sendable (_ port: Int, _ fetches: Fetches) async throws -> Void
    ) async throws {
        let fetches = Fetches()
        let keys = try issuer.keySet()
        let router = Router()
        router.get("/.well-known/openid-configuration") { request, _ in
            let base = "http://\(request.head.authority ?? "")"
            return "{\"issuer\":\"\(named ?? base)\",\"jwks_uri\":\"\(base)/keys\"}"
        }
        router.get("/keys") { _, _ in
            fetches.add()
            return ByteBuffer(bytes: keys)
        }
        try await Application(router: router).test(.live) { client in
            try await body(try #require(client.port), fetches)
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
