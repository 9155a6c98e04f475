// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// The callers of requests.
@Suite struct CallerTests {
    @Test func `A token is valid for one container and environment`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let other = try await server.makeToken("other", for: "iCloud.other", in: .production)
            let path = "public/zones/list?ckAPIToken="
            let base = "/database/1/iCloud.tidemark/development/"
            #expect(try await server.request(base + path + server.token).status == 200)
            for wrong in ["", "nonsense", other] {
                let answer = try await server.request(base + path + wrong)
                #expect(answer.status == 401)
                #expect(answer.code == "AUTHENTICATION_FAILED")
                #expect(answer.json["redirectURL"] == nil)
            }
            #expect(try await server.request(base + "public/zones/list").status == 401)
            let own = "/database/1/iCloud.other/production/public/zones/list?ckAPIToken=\(other)"
            #expect(try await server.request(own).status == 200)
            try await server.server.directory.revokeToken(other)
            #expect(try await server.request(own).status == 401)
        }
    }

    @Test func `Each response has a new session token, and all stay valid until the session ends`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            var tokens = [try await server.signIn("ann")]
            for _ in 0..<3 {
                let answer = try await server.send("private/users/caller", web: tokens.last)
                #expect(answer.status == 200)
                tokens.append(try #require(answer.header("X-Apple-CloudKit-Web-Auth-Token")))
                try await Task.sleep(for: .milliseconds(2))
            }
            #expect(Set(tokens).count == 4)
            for token in tokens {
                #expect(try await server.send("private/zones/list", web: token).status == 200)
                // The older name of the parameter.
                let older = try await server.send("private/zones/list?ckSession=\(token)")
                #expect(older.status == 200)
            }
            let account = try #require(
                try await server.server.directory.account(email: "ann@example.org")
            )
            try await server.server.directory.endSessions(ofAccount: account.id.text)
            for token in tokens {
                let answer = try await server.send("private/zones/list", web: token)
                #expect(answer.status == 421)
                #expect(answer.json["redirectURL"] is String)
            }
        }
    }

    @Test func `A changed password, a locked account or a changed token ends a session`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let first = try await server.signIn("ann")
            try await directory.setPassword("another password", ofAccount: "ann@example.org")
            #expect(try await server.send("private/zones/list", web: first).status == 421)
            let second = try await server.signIn("ann")
            #expect(try await server.send("private/zones/list", web: second).status == 200)
            var changed = Array(second)
            changed[20] = changed[20] == "A" ? "B" : "A"
            #expect(try await server.send("private/zones/list", web: String(changed)).status == 421)
            try await directory.setLocked(true, account: "ann@example.org")
            #expect(try await server.send("private/zones/list", web: second).status == 421)
            #expect(
                try await directory.account(email: "ann@example.org", password: "another password")
                    == nil
            )
        }
    }

    @Test func `A session is valid only for the container of its sign-in`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let other = try await server.makeToken("other", for: "iCloud.other")
            let path = "/database/1/iCloud.other/development/private/zones/list"
            let answer = try await server.request(
                "\(path)?ckAPIToken=\(other)&ckWebAuthToken=\(web)"
            )
            #expect(answer.status == 421)
        }
    }

    @Test func `The server's own container cannot be accessed`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let path = "/database/1/tidemark.server/development/private/zones/list"
            let answer = try await server.request("\(path)?ckAPIToken=\(server.token)")
            #expect(answer.status == 401)
            do {
                _ = try await server.makeToken("x", for: "tidemark.server")
                Issue.record("A token for the server's own container was made.")
            } catch let error as SyncError {
                #expect(error.code == .badContainer)
            }
        }
    }

    @Test func `Only administrators read the server's container in the store`() async throws {
        try await ServerUnderTest.run(.router) { server in
            func fetch(_ authentication: Authentication, _ user: UserID?) async throws {
                let database = DatabaseID(
                    container: .server,
                    scope: user == nil ? .public : .private,
                    owner: UserID("_server")
                )
                let caller = Caller(
                    database: database,
                    user: user,
                    authentication: authentication
                )
                _ = try await server.store.zones(as: caller)
            }
            let own = UserID("_server")
            try await fetch(.administrator(id: "a"), own)
            for authentication: Authentication in [
                .session(id: "s"), .serverKey(id: "k"), .identityProvider(issuer: "i"), .inProcess,
            ] {
                let error = await #expect(throws: SyncError.self) {
                    try await fetch(authentication, own)
                }
                #expect(error?.code == .badContainer)
            }
            let anonymous = await #expect(throws: SyncError.self) {
                try await fetch(.inProcess, nil)
            }
            #expect(anonymous?.code == .badContainer)
        }
    }

    @Test func `A session is invalid after the server's key changes`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let same = try await Directory(of: server.store, at: server.folder)
            #expect(try await same.session(ofWebToken: web) != nil)
            try FileManager.default.removeItem(atPath: server.folder + "/server.key")
            let restored = try await Directory(of: server.store, at: server.folder)
            #expect(try await restored.session(ofWebToken: web) == nil)
            #expect(try await restored.sessions().isEmpty)
            #expect(try await restored.accounts().count == 1)
        }
    }

    @Test func `A server's key of the wrong length is an error and is not replaced`() throws {
        let scratch = try ScratchFolder()
        let path = scratch.path("server.key")
        let first = try ServerSecret(inStoreAt: scratch.url.path)
        let code = first.code(of: [1], for: "test")
        let again = try ServerSecret(inStoreAt: scratch.url.path)
        #expect(again.code(of: [1], for: "test") == code)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.url.path)
        #expect(names == ["server.key"])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        for count in [0, 31, 33] {
            let wrong = Data(repeating: 7, count: count)
            try wrong.write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: SyncError.self) {
                try ServerSecret(inStoreAt: scratch.url.path)
            }
            #expect(error?.message.contains(path) == true)
            #expect(error?.message.contains("must have 32 bytes; it has \(count)") == true)
            #expect(error?.remedy.contains("remove it") == true)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == wrong)
        }
    }

    @Test func `CORS headers restrict pages of other origins`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let token = try await server.server.directory.makeToken(
                name: "page",
                container: .standard,
                environment: .development,
                origins: ["https://app.example.org"]
            )
            let path = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(token)"
            var headers: HTTPFields = [.origin: "https://app.example.org"]
            let preflight = try await server.request(path, .options, [], headers)
            #expect(preflight.status == 200)
            #expect(preflight.headers[.accessControlAllowOrigin] == "https://app.example.org")
            #expect(preflight.headers[.accessControlMaxAge] == "3600")
            let refused = try await server.request(path, .get, [], headers)
            #expect(refused.status == 421)
            #expect(refused.headers[.accessControlAllowOrigin] == "https://app.example.org")
            #expect(refused.header("Vary")?.contains("Origin") == true)
            // Any site can show a page whose origin is `null`.
            for origin in ["https://evil.example.org", "null"] {
                headers[.origin] = origin
                let foreign = try await server.request(path, .get, [], headers)
                #expect(foreign.status == 403)
                #expect(foreign.headers[.accessControlAllowOrigin] == nil)
                let any = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(server.token)"
                let allowed = try await server.request(any, .get, [], headers)
                #expect(allowed.status == 421)
                #expect(allowed.headers[.accessControlAllowOrigin] == origin)
            }
        }
    }

    // MARK: Signatures

    @Test func `A signature made by openssl is accepted, a changed one rejected`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let folder = try ScratchFolder()
            let pem = server.key.pemRepresentation
            try pem.write(toFile: folder.path("key.pem"), atomically: true, encoding: .utf8)
            let body = #"{"query":{"recordType":"Shop"}}"#
            let path = ServerUnderTest.path + "public/records/query"
            let date = Date().formatted(.iso8601)
            try body.write(toFile: folder.path("body"), atomically: true, encoding: .utf8)
            let script = """
                cd '\(folder.url.path)'
                hash=$(openssl dgst -sha256 -binary body | openssl base64 -A)
                printf '%s:%s:%s' '\(date)' "$hash" '\(path)' > message
                openssl dgst -sha256 -sign key.pem message | openssl base64 -A
                """
            let signature = try shell(script)
            let right = [
                "X-Apple-CloudKit-Request-KeyID": server.keyID,
                "X-Apple-CloudKit-Request-ISO8601Date": date,
                "X-Apple-CloudKit-Request-SignatureV1": signature,
            ]
            func send(
                _ fields: [String: String],
                _ path: String = path,
                _ body: String = body
            ) async throws -> Answer {
                var headers = HTTPFields()
                for (name, value) in fields {
                    headers[try #require(HTTPField.Name(name))] = value
                }
                return try await server.request(path, .post, Array(body.utf8), headers)
            }
            // The type is unknown, which only somebody is told who was let in.
            #expect(try await send(right).code == "NOT_FOUND")
            for (name, change) in [
                ("X-Apple-CloudKit-Request-KeyID", String(server.keyID.reversed())),
                ("X-Apple-CloudKit-Request-KeyID", ""),
                ("X-Apple-CloudKit-Request-ISO8601Date", "2016-01-25T22:15:43Z"),
                ("X-Apple-CloudKit-Request-ISO8601Date", "tomorrow"),
                (
                    "X-Apple-CloudKit-Request-SignatureV1",
                    String(signature.dropLast(8)) + "AAAAAAA="
                ),
                ("X-Apple-CloudKit-Request-SignatureV1", "not base64"),
                ("X-Apple-CloudKit-Request-SignatureV1", ""),
            ] {
                var fields = right
                fields[name] = change
                let answer = try await send(fields)
                #expect(answer.status == 401, "\(name): \(change)")
                #expect(answer.json["reason"] as? String == "Authentication failed")
            }
            let moved = ServerUnderTest.path + "public/records/lookup"
            #expect(try await send(right, moved).status == 401)
            #expect(try await send(right, path, body + " ").status == 401)
            let hidden = ServerUnderTest.path + "private/records/query"
            #expect(try await send(right, hidden).status == 401)
            // The same once more, by somebody who has listened.
            try await Task.sleep(for: .milliseconds(1_100))
            #expect(try await send(right).status == 401)
        }
    }

    @Test
    func `The signature of an empty body may hash nothing, with or without a query`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let path = ServerUnderTest.path + "public/zones/list"
            for target in [path, path + "?remapEnums=true"] {
                let fields = try server.signature(of: "", for: target)
                let answer = try await server.request(
                    path + "?remapEnums=true",
                    .get,
                    [],
                    fields
                )
                #expect(answer.status == 200)
            }
            let date = Date().formatted(.iso8601)
            let hash = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
            let message = Data("\(date):\(hash):\(path)".utf8)
            let signature = try server.key.signature(for: message).rawRepresentation
            var fields = try server.signature(of: "", for: path)
            fields[try #require(HTTPField.Name("X-Apple-CloudKit-Request-ISO8601Date"))] = date
            fields[try #require(HTTPField.Name("X-Apple-CloudKit-Request-SignatureV1"))] =
                signature.base64EncodedString()
            #expect(try await server.request(path, .get, [], fields).status == 200)
            // Eleven minutes old, and eleven minutes early.
            for offset in [-660.0, 660] {
                let late = Date().addingTimeInterval(offset)
                let fields = try server.signature(of: "", for: path, at: late)
                #expect(try await server.request(path, .get, [], fields).status == 401)
            }
        }
    }

    @Test func `A signature in another form is a repetition`() throws {
        let key = P256.Signing.PrivateKey()
        let serverKey = ServerKey(
            id: "key",
            name: "importer",
            container: .standard,
            environment: .development,
            publicKey: key.publicKey.pemRepresentation
        )
        let now = Clock.now()
        let date = Date(timeIntervalSince1970: Double(now / 1000)).formatted(.iso8601)
        func forms() throws -> [RequestSignature] {
            let signature = try key.signature(for: Data("\(date)::/path".utf8))
            let other = try Self.complement(of: signature)
            return [
                signature.derRepresentation, signature.rawRepresentation,
                other.derRepresentation, other.rawRepresentation,
            ].map {
                RequestSignature(keyID: "key", date: date, signature: $0.base64EncodedString())
            }
        }
        let same = try forms()
        #expect(Set(same.map(\.signature)).count == 4)
        for first in same {
            #expect(first.isValid(for: [], target: "/path", serverKey, now: now))
            let seen = SeenSignatures()
            #expect(try seen.takes(first, now: now))
            // Programs that sign without randomness repeat themselves within the second of a date.
            for form in same { #expect(try seen.takes(form, now: now + 1_000)) }
            for form in same { #expect(try !seen.takes(form, now: now + 1_001)) }
            // The same request, signed once more.
            let again = try forms()[0]
            #expect(try seen.takes(again, now: now + 1_001))
        }
    }

    @Test func `Signatures are remembered as long as they are valid, up to a limit`() throws {
        let key = P256.Signing.PrivateKey()
        func signature(_ text: String, of keyID: String = "key") throws -> RequestSignature {
            let bytes = try key.signature(for: Data(text.utf8)).rawRepresentation
            return RequestSignature(
                keyID: keyID,
                date: "",
                signature: bytes.base64EncodedString()
            )
        }
        let seen = SeenSignatures(limit: 2)
        let first = try signature("1")
        let kept = 2 * RequestSignature.window
        #expect(try seen.takes(first, now: 0))
        #expect(try seen.takes(signature("2"), now: kept))
        #expect(try !seen.takes(first, now: kept))
        let third = try signature("3")
        let error = #expect(throws: WebError.self) { try seen.takes(third, now: kept) }
        #expect(error?.code == "THROTTLED")
        // The limit is that of a key.
        #expect(try seen.takes(signature("3", of: "other"), now: kept))
        // A new stretch of time has begun, and the first one is kept beside it.
        #expect(throws: WebError.self) { try seen.takes(third, now: kept + 1) }
        #expect(try seen.takes(third, now: 2 * kept + 2))
        #expect(try !seen.takes(third, now: 3 * kept + 2))
        // The clock is set back: a new stretch begins, and known signatures stay known.
        #expect(try !seen.takes(third, now: 1_001))
        #expect(try seen.takes(signature("4"), now: 1_002))
    }

    /// Returns the other valid signature that anyone can compute from one: (r, n - s).
    private static func complement(
        of signature: P256.Signing.ECDSASignature
    ) throws -> P256.Signing.ECDSASignature {
        let order: [UInt64] = [
            0xffff_ffff_0000_0000, 0xffff_ffff_ffff_ffff, 0xbce6_faad_a717_9e84,
            0xf3b9_cac2_fc63_2551,
        ]
        let raw = [UInt8](signature.rawRepresentation)
        var bytes: [UInt8] = []
        var borrow = false
        for word in (0..<4).reversed() {
            let start = 32 + 8 * word
            let value = raw[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            let (first, isBelow) = order[word].subtractingReportingOverflow(value)
            let (difference, isStillBelow) = first.subtractingReportingOverflow(borrow ? 1 : 0)
            borrow = isBelow || isStillBelow
            let part = (0..<8).map { UInt8(truncatingIfNeeded: difference >> (56 - 8 * $0)) }
            bytes = part + bytes
        }
        return try P256.Signing.ECDSASignature(rawRepresentation: Array(raw[..<32]) + bytes)
    }
}

/// Runs a script; returns what it prints.
func shell(_ script: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", script]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
}
#endif
