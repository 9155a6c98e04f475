// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import TestSupport
import Testing
import TidemarkClient
import TidemarkLock
import TidemarkModel

@testable import TidemarkServer

/// Bearer tokens of OpenID Connect issuers.
@Suite struct IssuerTests {
    private let issuer: TestIssuer
    private let folder: ScratchFolder
    private let options: ServerOptions

    init() throws {
        issuer = try TestIssuer()
        folder = try ScratchFolder()
        options = try issuer.options(folder)
    }

    private func refuses(
        _ token: String,
        _ server: ServerUnderTest,
        _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await server.send("private/zones/list", bearer: token)
        #expect(answer.status == 401, sourceLocation: sourceLocation)
        #expect(answer.code == "AUTHENTICATION_FAILED", sourceLocation: sourceLocation)
        let told = answer.json["reason"] as? String
        #expect(told?.contains(reason) == true, "\(told ?? "")", sourceLocation: sourceLocation)
        #expect(answer.json["redirectURL"] == nil, sourceLocation: sourceLocation)
    }

    @Test func `Tokens of every kind of key name the same user`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            var names: Set<String?> = []
            for algorithm in ["ES256", "EdDSA", "RS256", "RS512", "PS384", "ES256"] {
                // The key of RSA states no algorithm: none becomes the only one by being the first.
                let token = try issuer.token(TestIssuer.claims(), algorithm)
                names.insert(try await server.userName(token))
            }
            #expect(names.count == 1)
            #expect(names.first??.hasPrefix("_") == true)
            let other = try issuer.token(TestIssuer.claims(["sub": "Ann", "aud": ["a", "notes"]]))
            let answer = try await server.send("private/users/caller", bearer: other)
            #expect(answer.header("X-Apple-CloudKit-Web-Auth-Token") == nil)
            names.insert(answer.json["userRecordName"] as? String)
            #expect(names.count == 2)
            let accounts = try await server.server.directory.accounts().map(\.value)
            #expect(Set(accounts.map(\.subject)) == ["ann", "Ann"])
        }
    }

    @Test func `Tokens with wrong claims are refused`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let now = Date().timeIntervalSince1970
            let wrong: [([String: Any], String)] = [
                (["iss": "https://evil.example.org"], "issuer"),
                (["iss": TestIssuer.url + "/"], "issuer"),
                (["aud": "other"], "audience"), (["aud": NSNull()], "audience"),
                (["aud": ["a", "b"]], "audience"),
                (["exp": now - 60], "expired"), (["exp": NSNull()], "expired"),
                (["exp": 1e300], "expired"),
                (["nbf": now + 120], "not valid yet"),
                (["iat": now + 120], "future"),
                (["sub": NSNull()], "subject"), (["sub": ""], "subject"),
                (["exp": "tomorrow"], "not a signed"), (["iss": NSNull()], "not a signed"),
            ]
            for (changes, reason) in wrong {
                try await refuses(
                    try issuer.token(TestIssuer.claims(changes)),
                    server,
                    reason
                )
            }
            #expect(try await server.server.directory.accounts().isEmpty)
            // The clocks of two machines may differ.
            let close = TestIssuer.claims(["nbf": now + 10, "iat": now + 10, "exp": now - 10])
            #expect(try await server.userName(try issuer.token(close)) != nil)
        }
    }

    @Test func `Tokens that the issuer has not signed are refused`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let good = try issuer.token()
            let parts = good.split(separator: ".").map(String.init)
            let claims = try JSONSerialization.data(
                withJSONObject: TestIssuer.claims(["sub": "ben"])
            )
            try await refuses("\(parts[0]).\(claims.base64URL).\(parts[2])", server, "signature")
            try await refuses("\(parts[0]).\(parts[1]).", server, "signature")
            let none = try issuer.token(header: ["alg": "none"], signing: { _ in Data() })
            try await refuses(none, server, "algorithm")
            // The public key as a shared secret: in PEM, and as it is published.
            for secret in [Data(issuer.rsa.publicKey.pemRepresentation.utf8), try issuer.keySet()] {
                let token = try issuer.token(TestIssuer.claims(), "HS256") { text in
                    Data(
                        HMAC<SHA256>.authenticationCode(
                            for: text,
                            using: SymmetricKey(data: secret)
                        )
                    )
                }
                try await refuses(token, server, "algorithm")
            }
            for header: [String: Any] in [
                ["kid": "unknown"], ["kid": NSNull()], ["kid": "r"], ["kid": "o"],
            ] {
                try await refuses(try issuer.token(header: header), server, "signature")
            }
            try await refuses(try issuer.token(header: ["crit": ["b64"]]), server, "extension")
            // A key of the token's own is not looked at.
            let forger = try TestIssuer()
            let forged = try forger.token(header: [
                "jku": "http://127.0.0.1:1/keys", "kid": "e",
                "jwk": ["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"],
            ])
            try await refuses(forged, server, "signature")
            let long = String(repeating: "a.", count: 9000)
            for text in ["", "a", "a.b.c", "..", good + "A.", long] {
                try await refuses(text, server, "not a signed")
            }
            #expect(try await server.userName(good) != nil)
        }
    }

    @Test func `A token is valid only in the container of its issuer, with an API token`()
        async throws
    {
        try await ServerUnderTest.run(.router, options: options) { server in
            let token = try issuer.token()
            let fields: HTTPFields = [.authorization: "bearer \(token)"]
            let base = "/database/1/iCloud.tidemark/development/private/zones/list"
            let own = "\(base)?ckAPIToken=\(server.token)"
            #expect(try await server.request(own, .post, [], fields).status == 200)
            #expect(try await server.request(base, .post, [], fields).status == 401)
            let other = try await server.server.directory.makeToken(
                name: "other",
                container: "iCloud.other",
                environment: .development
            )
            let path = "/database/1/iCloud.other/development/private/zones/list?ckAPIToken=\(other)"
            let answer = try await server.request(path, .post, [], fields)
            #expect(answer.status == 401)
            #expect((answer.json["reason"] as? String)?.contains("container") == true)
        }
        // Without issuers a token is refused too: it must not become an anonymous request.
        try await ServerUnderTest.run(.router) { server in
            let answer = try await server.send("public/zones/list", bearer: try issuer.token())
            #expect(answer.code == "AUTHENTICATION_FAILED")
        }
    }

    @Test func `Without sign-up a token opens only accounts that exist`() async throws {
        let scratch = try ScratchFolder()
        try await ServerUnderTest.run(.router, options: options, in: scratch) { server in
            #expect(try await server.userName(try issuer.token()) != nil)
        }
        var closed = options
        closed.allowsSignUp = false
        try await ServerUnderTest.run(.router, options: closed, in: scratch) { server in
            #expect(try await server.userName(try issuer.token()) != nil)
            let stranger = try issuer.token(TestIssuer.claims(["sub": "ben"]))
            try await refuses(stranger, server, "no account")
            #expect(try await server.server.directory.accounts().count == 1)
        }
    }

    @Test func `An address in a token does not open the account that has it`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let web = try await server.signIn("ann", isDiscoverable: true)
            let owner = try await server.send("private/users/caller", web: web)
            let token = try issuer.token(
                TestIssuer.claims(["email": "ann@example.org", "email_verified": true])
            )
            let answer = try await server.send("private/users/caller", bearer: token)
            let names = [owner, answer].map { $0.json["userRecordName"] as? String }
            #expect(names[0] != nil && names[1] != nil && names[0] != names[1])
            #expect(!answer.text.contains("ann@example.org"))
        }
    }

    @Test func `Keys that were replaced in the file are not accepted any more`() async throws {
        let next = try TestIssuer()
        try await ServerUnderTest.run(.router, options: options) { server in
            let (old, new) = (try issuer.token(), try next.token())
            let name = try await server.userName(old)
            try await refuses(new, server, "signature")
            let file = URL(filePath: folder.path("keys.json"))
            try next.keySet().write(to: file)
            #expect(try await server.userName(new) == name)
            try await refuses(old, server, "signature")
            // A file that is damaged, or being written, changes nothing.
            try Data("{".utf8).write(to: file)
            #expect(try await server.userName(new) == name)
        }
    }

    @Test func `A locked or signed-out account refuses earlier tokens`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let directory = server.server.directory
            let first = try issuer.token()
            #expect(try await server.userName(first) != nil)
            let email = try #require(try await directory.accounts().first?.value.email)
            _ = try await directory.answer(.endSessions(account: email))
            try await refuses(first, server, "signed out")
            try await refuses(
                try issuer.token(TestIssuer.claims(["iat": NSNull()])),
                server,
                "signed out"
            )
            try await Task.sleep(for: .milliseconds(5))
            let second = try issuer.token()
            #expect(try await server.userName(second) != nil)
            try await directory.setLocked(true, account: email)
            try await refuses(second, server, "locked")
            try await directory.setLocked(false, account: email)
            try await refuses(second, server, "signed out")
            // It has no password, and gets none.
            for request: AdministrationRequest in [
                .reset(account: email), .setPassword("a long password", account: email),
            ] {
                let error = try await #require(throws: SyncError.self) {
                    try await directory.answer(request)
                }
                #expect(error.message.contains("has no password"))
            }
            #expect(try await directory.account(email: email, password: "") == nil)
            let squatting = try await #require(throws: SyncError.self) {
                try await directory.addAccount(email: email, password: "a long password")
            }
            #expect(squatting.code == .invalidArguments)
        }
    }

    @Test func `Streams and couriers end with the token or the account`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let directory = server.server.directory
            let token = try issuer.token()
            let made = try await server.send("private/tokens/create", "{}", bearer: token)
            let url = try #require(made.json["webcourierURL"] as? String)
            let courier = url.split(separator: "/").last.map(String.init) ?? ""
            let couriers = server.server.push.couriers
            #expect(try await couriers.courier(courier) != nil)
            let account = try #require(try await directory.accounts().first?.value)
            func isGood(end: Int64) async throws -> Bool {
                let signIn = IssuedSignIn(
                    account: account.id.text,
                    issuer: TestIssuer.url,
                    issued: Clock.now(),
                    end: end
                )
                let caller = Caller(
                    user: account.user(in: .standard),
                    authentication: .identityProvider(issuer: TestIssuer.url)
                )
                return try await directory.isGood(
                    Callers.Found(
                        caller: caller,
                        signIn: signIn,
                        token: try await directory.token(server.token)
                    )
                )
            }
            #expect(try await isGood(end: Clock.now() + 60_000))
            #expect(try await isGood(end: Clock.now()) == false)
            try await directory.setLocked(true, account: account.email)
            #expect(try await isGood(end: Clock.now() + 60_000) == false)
            #expect(try await couriers.courier(courier) == nil)
        }
    }

    @Test func `A client saves, uploads and continues with a new token`() async throws {
        try await ServerUnderTest.run(.live, options: options) { server in
            let connection = try ServerConnection(
                to: "http://localhost:\(try #require(server.client.port))",
                credentials: .bearer("expired", apiToken: server.token)
            )
            let error = try await #require(throws: SyncError.self) {
                try await connection.service.zones(as: Caller())
            }
            #expect(error.code == .notAuthenticated)
            #expect(!error.remedy.contains("/signin"))
            connection.renewBearer(try issuer.token())
            _ = try await connection.service.zones(as: Caller())
            await connection.close()
            // The address of an upload is used without the token.
            let token = try issuer.token()
            let answer = try await server.send(
                "private/assets/upload",
                #"{"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#,
                bearer: token
            )
            let url = try #require(answer.list("tokens").first?["url"] as? String)
            let upload = try await server.request(ServerUnderTest.path(of: url), .post, [1, 2, 3])
            #expect(upload.status == 200)
        }
    }

    // MARK: Keys over HTTP

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
                    try await refuses(strange, server, "signature")
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

    // MARK: Settings

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
