// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TidemarkClient
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
                (["nbf": now + 3600], "begins in the future"),
                (["iat": now + 3600], "future"),
                (["sub": NSNull()], "subject"), (["sub": ""], "subject"),
                (["exp": "tomorrow"], "not a signed"), (["iss": NSNull()], "not a signed"),
            ]
            for (changes, reason) in wrong {
                let token = try issuer.token(TestIssuer.claims(changes))
                try await server.refuses(token, reason)
            }
            #expect(try await server.server.directory.accounts().isEmpty)
            // The clocks of two machines may differ. The time is read again, because the requests above may
            // take long on a busy machine.
            let later = Date().timeIntervalSince1970
            let close = TestIssuer.claims(
                ["nbf": later + 10, "iat": later + 10, "exp": later - 10]
            )
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
            try await server.refuses("\(parts[0]).\(claims.base64URL).\(parts[2])", "signature")
            try await server.refuses("\(parts[0]).\(parts[1]).", "signature")
            let none = try issuer.token(header: ["alg": "none"], signing: { _ in Data() })
            try await server.refuses(none, "algorithm")
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
                try await server.refuses(token, "algorithm")
            }
            for header: [String: Any] in [
                ["kid": "unknown"], ["kid": NSNull()], ["kid": "r"], ["kid": "o"],
            ] {
                try await server.refuses(try issuer.token(header: header), "signature")
            }
            try await server.refuses(try issuer.token(header: ["crit": ["b64"]]), "extension")
            // A key of the token's own is not looked at.
            let forger = try TestIssuer()
            let forged = try forger.token(header: [
                "jku": "http://127.0.0.1:1/keys", "kid": "e",
                "jwk": ["kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"],
            ])
            try await server.refuses(forged, "signature")
            let long = String(repeating: "a.", count: 9000)
            for text in ["", "a", "a.b.c", "..", good + "A.", long] {
                try await server.refuses(text, "not a signed")
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
            let other = try await server.makeToken("other", for: "iCloud.other")
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
            let name = try await server.userName(try issuer.token())
            #expect(name != nil)
        }
        var closed = options
        closed.allowsSignUp = false
        try await ServerUnderTest.run(.router, options: closed, in: scratch) { server in
            #expect(try await server.userName(try issuer.token()) != nil)
            let stranger = try issuer.token(TestIssuer.claims(["sub": "ben"]))
            try await server.refuses(stranger, "no account")
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
            try await server.refuses(new, "signature")
            let file = URL(filePath: folder.path("keys.json"))
            try next.keySet().write(to: file)
            #expect(try await server.userName(new) == name)
            try await server.refuses(old, "signature")
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
            try await server.refuses(first, "signed out")
            let timeless = try issuer.token(TestIssuer.claims(["iat": NSNull()]))
            try await server.refuses(timeless, "signed out")
            try await Task.sleep(for: .milliseconds(5))
            let second = try issuer.token()
            #expect(try await server.userName(second) != nil)
            try await directory.setLocked(true, account: email)
            try await server.refuses(second, "locked")
            try await directory.setLocked(false, account: email)
            try await server.refuses(second, "signed out")
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

    @Test func `A removed account comes back with the next token, as the same user`() async throws {
        try await ServerUnderTest.run(.router, options: options) { server in
            let directory = server.server.directory
            let token = try issuer.token()
            let name = try await server.userName(token)
            let account = try #require(try await directory.accounts().first?.value)
            #expect(try await directory.removeAccount(account.email) == account.id.text)
            #expect(try await directory.accounts().isEmpty)
            #expect(try await server.userName(token) == name)
            #expect(try await directory.accounts().map(\.value.id) == [account.id])
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

    @Test func `A stream ends when its bearer token expires`() async throws {
        var options = options
        options.heartbeat = .milliseconds(250)
        try await ServerUnderTest.run(.live, options: options) { server in
            // Clocks may differ by 30 seconds: the token is accepted for three more.
            let end = Date().timeIntervalSince1970 - 27
            let token = try issuer.token(TestIssuer.claims(["exp": end]))
            let ending = try await StreamReader(server, "", client: "a", bearer: token)
            let lasting = try await StreamReader(
                server,
                "",
                client: "b",
                bearer: try issuer.token()
            )
            #expect(ending.status == 200)
            #expect(try await ending.next()?.name == "ready")
            #expect(try await lasting.next()?.name == "ready")
            #expect(server.server.push.hub.count == 2)
            #expect(try await ending.next() == nil)
            #expect(Date().timeIntervalSince1970 >= end + 30)
            #expect(ending.retry == 1000)
            try await server.refuses(token, "expired")
            // The stream of the other token is still there.
            try await waitUntil { server.server.push.hub.count == 1 }
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
}
#endif
