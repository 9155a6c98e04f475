// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import NIOCore
import NIOPosix
import TestSupport
import Testing
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// Requests that nobody sends who means well: each gets an error that is documented, and does nothing.
@Suite(.timeLimit(.minutes(10))) struct HostileRequestTests {
    /// The codes that clients know.
    private static let codes: Set<String> = [
        "ACCESS_DENIED", "ATOMIC_ERROR", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED",
        "BAD_REQUEST", "CONFLICT", "EXISTS", "INTERNAL_ERROR", "NOT_FOUND", "QUOTA_EXCEEDED",
        "SIGN_IN_FAILED", "THROTTLED", "TRY_AGAIN_LATER", "VALIDATING_REFERENCE_ERROR",
        "ZONE_NOT_FOUND", "UNIQUE_FIELD_ERROR",
    ]

    private func check(_ answer: Answer, _ what: String) {
        #expect(answer.status < 500, "\(what.prefix(200)): \(answer.text.prefix(300))")
        guard answer.status != 200 else { return }
        #expect(Self.codes.contains(answer.code ?? ""), "\(what.prefix(200)): \(answer.text)")
        // Neither the place in the source nor the stack, with its addresses, belongs into an answer.
        for word in [".swift", "Fatal", "0x0000", "/work/", "/tmp/"] {
            #expect(!answer.text.contains(word), "\(what.prefix(200)): \(answer.text)")
        }
    }

    @Test func `A reason does not repeat megabytes of a request`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let long = String(repeating: "x", count: 1_000_000)
            for (path, body) in [
                ("records/modify", #"{"operations":[{"operationType":"\#(long)"}]}"#),
                ("records/modify", #"{"\#(long)":1,"\#(long)":1}"#),
                (
                    "records/query",
                    #"{"query":{"recordType":"Note","filterBy":[{"comparator":"\#(long)","#
                        + #""fieldName":"a","fieldValue":{"value":1}}]}}"#
                ),
            ] {
                let answer = try await server.send("private/\(path)", body, web: web)
                check(answer, path)
                #expect(answer.status == 400, "\(path): \(answer.text.prefix(300))")
                #expect(answer.body.count < 5_000, "\(path)")
            }
            let answer = try await server.send("private/x\(long.prefix(10_000))", web: web)
            #expect(answer.status == 404)
            #expect(answer.body.count < 5_000)
        }
    }

    private static let nested = String(repeating: "[", count: 100_000)

    private static let bodies = [
        "", " ", "null", "[]", "{", "}", "\"", "{\"a\"", "{\"a\":}", "{\"a\":1,}", "{'a':1}",
        "truetrue",
        "{\"operations\":\(nested)", "{\"unknown\":\(nested)\(nested.replacing("[", with: "]"))}",
        "{\"records\":\(String(repeating: "{\"a\":", count: 50_000))",
        "{\"resultsLimit\":1e999999}",
        "{\"resultsLimit\":\(String(repeating: "9", count: 50_000))}",
        "{\"resultsLimit\":-0}", "{\"resultsLimit\":0.1}", "{\"resultsLimit\":9223372036854775808}",
        "{\"zoneID\":{\"zoneName\":\"\(String(repeating: "z", count: 100_000))\"}}",
        "{\"zoneID\":{\"zoneName\":\"a\\u0000b\"}}", "{\"zoneID\":{\"zoneName\":\"\\ud800\"}}",
        "{\"zoneID\":{\"zoneName\":\"../../etc\"}}", "{\"zoneID\":[]}", "{\"zoneID\":\"x\"}",
        "{\"zoneID\":{\"zoneName\":\"x\",\"zoneName\":\"y\"}}", "\u{FEFF}{}", "{}{}", "{} trailing",
        "{\"records\":\"x\"}", "{\"records\":[null]}", "{\"records\":[1]}", "{\"operations\":{}}",
        "{\"syncToken\":{}}", "{\"syncToken\":\"r...\"}",
        "{\"zones\":[{\"zoneID\":{},\"syncToken\":\"r.a.b.c\"}]}",
    ]

    @Test func `Every endpoint rejects malformed, deep and huge bodies`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            for body in Self.bodies {
                for endpoint in WebEndpoint.all {
                    for scope in endpoint.scopes {
                        let path = "\(scope.name)/\(endpoint.path)"
                        check(try await server.send(path, body, web: web), "\(path): \(body)")
                    }
                }
            }
        }
    }

    @Test func `Bytes that are not UTF-8 and numbers out of range are rejected`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let path =
                "\(ServerUnderTest.path)private/records/modify?ckAPIToken=\(server.token)"
                + "&ckWebAuthToken=\(web)"
            let prefix = #"{"operations":[{"operationType":"create","record":{"recordType":"Note","#
            for text: [UInt8] in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80], [0]] {
                let body =
                    Array((prefix + #""recordName":"a"#).utf8) + text + Array(#""}}]}"#.utf8)
                let answer = try await server.request(path, .post, body)
                #expect(answer.status == 400)
                check(answer, "\(text)")
            }
            for value in [
                #"{"value":1e400}"#, #"{"value":99999999999999999999}"#, #"{"value":{}}"#,
                #"{"value":1.5,"type":"INT64"}"#, #"{"value":1.5,"type":"TIMESTAMP"}"#,
                #"{"value":"!","type":"BYTES"}"#, #"{"value":[1,"a"]}"#, #"{"value":[[1]]}"#,
                #"{"value":"x","type":"NOTHING"}"#, #"{"value":{"latitude":91,"longitude":0}}"#,
                #"{"value":{"recordName":""},"type":"REFERENCE"}"#,
                #"{"value":{"recordName":"x","action":"EXPLODE"},"type":"REFERENCE"}"#,
                #"{"value":{"fileChecksum":"AAAA","size":-1,"receipt":"x"},"type":"ASSETID"}"#,
            ] {
                let body = prefix + #""recordName":"a","fields":{"f":\#(value)}}}]}"#
                let answer = try await server.request(path, .post, Array(body.utf8))
                check(answer, value)
                let item = answer.list("records").first
                let isRefused = answer.status != 200 || item?["serverErrorCode"] != nil
                #expect(isRefused, "\(value): \(answer.text)")
            }
            let lookup = #"{"records":[{"recordName":"a"}]}"#
            let found = try await server.send("private/records/lookup", lookup, web: web)
            #expect(found.list("records").first?["serverErrorCode"] as? String == "NOT_FOUND")
        }
    }

    @Test func `More items than allowed are rejected with both counts`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let many = Array(repeating: "{}", count: 201)
            let names = (0..<201).map { #"{"recordName":"n\#($0)"}"# }
            for (path, list, items) in [
                ("private/records/lookup", "records", names),
                (
                    "private/records/modify", "operations",
                    names.map { #"{"operationType":"forceDelete","record":\#($0)}"# }
                ),
                ("private/zones/lookup", "zones", many),
                (
                    "private/changes/zone", "zones",
                    Array(repeating: #"{"zoneID":{"zoneName":"x"}}"#, count: 201)
                ),
            ] {
                let body = "{\"\(list)\":[\(items.joined(separator: ","))]}"
                let answer = try await server.send(path, body, web: web)
                #expect(answer.status == 400, "\(path)")
                let reason = try #require(answer.json["reason"] as? String)
                #expect(reason.contains("201") && reason.contains("200"), "\(path): \(reason)")
            }
        }
    }

    /// Bodies that were right once, with a few bytes changed.
    @Test(arguments: 0..<(runsLongTests ? 200 : 4) as Range<UInt64>)
    func `Generated bytes never make an endpoint fail`(seed: UInt64) async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures"
        )
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let exchanges = try files.flatMap { file in
            GoldenExchanges.exchanges(
                in: try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            )
        }.filter { !$0.body.isEmpty }
        try #require(exchanges.count > 50)
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            var random = SeededGenerator(seed: seed)
            for exchange in exchanges {
                var body = Array(exchange.body.utf8)
                for _ in 0..<Int.random(in: 1...4, using: &random) where !body.isEmpty {
                    let place = Int.random(in: 0..<body.count, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: body[place] = UInt8.random(in: 0...255, using: &random)
                    case 1: body.remove(at: place)
                    case 2:
                        body.insert(
                            Array("\"{}[],:0e-".utf8).randomElement(using: &random) ?? 0,
                            at: place
                        )
                    default:
                        let end = Int.random(in: place..<body.count, using: &random)
                        body.insert(contentsOf: body[place...end], at: place)
                    }
                }
                let separator = exchange.endpoint.contains("?") ? "&" : "?"
                let answer = try await server.request(
                    "\(ServerUnderTest.path)\(exchange.endpoint)\(separator)"
                        + "ckAPIToken=\(server.token)&ckWebAuthToken=\(web)",
                    exchange.method,
                    body
                )
                check(answer, "seed \(seed): \(String(decoding: body, as: UTF8.self))")
            }
        }
    }

    // MARK: Names and paths

    @Test func `Names with dots, slashes and escapes never reach a file`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let names = [
                "../../server.key", "..", "/etc/passwd", "%2e%2e%2f", "a\\..\\b", "a/../../b",
            ]
            for name in names {
                let escaped = name.replacing("\\", with: "\\\\")
                let save = """
                    {"operations":[{"operationType":"create","record":{"recordName":"\(escaped)",\
                    "recordType":"Note","fields":{"n":{"value":"\(escaped)"}}}}]}
                    """
                let answer = try await server.send("private/records/modify", save, web: web)
                #expect(answer.list("records").first?["recordName"] as? String == name)
                let zone =
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(escaped)"}}}]}"#
                check(try await server.send("private/zones/modify", zone, web: web), name)
            }
            let parts = [
                "..", "%2e%2e", "%2e%2e%2f%2e%2e%2fserver.key", "..%2fserver.key", "%00", "~",
            ]
            for part in parts {
                for path in [
                    "/assets/\(part)", "/assets/up/\(part)", "/assets/\(part)/server.key",
                    "/share/\(part)",
                    "/account/\(part)", "/database/1/\(part)/development/public/zones/list",
                    "/database/1/iCloud.tidemark/\(part)/public/zones/list",
                    "/database/1/iCloud.tidemark/development/\(part)/zones/list",
                    "/database/1/iCloud.tidemark/development/public/\(part)", "/\(part)/server.key",
                    "/database/\(part)",
                ] {
                    for method in [HTTPRequest.Method.get, .post] {
                        let answer = try await server.request(
                            "\(path)?ckAPIToken=\(server.token)",
                            method
                        )
                        #expect(answer.status < 500, "\(path)")
                        let isPage = path.hasPrefix("/share") || path.hasPrefix("/account")
                        #expect(isPage || answer.status >= 400, "\(path): \(answer.status)")
                    }
                }
            }
            // A share's token is text in a page, whatever it is.
            let page = try await server.request("/share/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
            #expect(!page.text.contains("<script>alert"))
            // Marks that make one character of what they precede or follow.
            for text in ["%D8%80%3Cb", "%3Cb%CC%81", "%3C%CC%81b", "%22%CC%81b%3E%CC%81"] {
                let page = try await server.request("/share/\(text)")
                let scalars = Array(page.text.unicodeScalars)
                for (one, next) in zip(scalars, scalars.dropFirst()) {
                    let isOfText = next == "\u{301}" || one == "\u{600}"
                    #expect(!isOfText || !["<", ">", "\""].contains(one), "\(text)")
                    #expect(one != "\u{600}" || !["<", ">", "\""].contains(next), "\(text)")
                }
            }
        }
    }

    // MARK: Signing in

    @Test func `Unsafe callbacks and origins are rejected`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            for callback in [
                "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd",
                "//evil.example.org",
                "https://user@evil.example.org/", "https://app.example.org/#x", "app", "",
                "https://",
            ] {
                await #expect(throws: SyncError.self, "\(callback)") {
                    try await directory.makeToken(
                        name: "x",
                        container: .standard,
                        environment: .development,
                        callback: callback
                    )
                }
            }
            for origin in [
                "*", "null", "https://app.example.org/", "https://app.example.org/path",
                "app.example.org",
                "javascript:x", "https://*.example.org/", "https://a@b.example.org",
            ] {
                await #expect(throws: SyncError.self, "\(origin)") {
                    try await directory.makeToken(
                        name: "x",
                        container: .standard,
                        environment: .development,
                        origins: [origin]
                    )
                }
            }
        }
    }

    @Test func `A session never existed before the password was entered`() async throws {
        try await ServerUnderTest.run(.router) { server in
            // What an attacker has: a session of their own, and an address at which to sign in.
            let attacker = try await server.signIn("mallory")
            let path = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(server.token)"
            // A page that opened the window gets the token by a message.
            let app: HTTPFields = [.origin: "https://app.example.org"]
            let asked = try await server.request(path, .get, [], app)
            let url = try #require(asked.json["redirectURL"] as? String)
            let state = try #require(url.components(separatedBy: "s=").last)
            _ = try await server.signIn("ann")
            let form =
                "s=\(state)&email=ann%40example.org&password=a+long+password+of+ann"
                + "&ckWebAuthToken=\(attacker)&ckSession=\(attacker)"
            let cookie: HTTPFields = [
                .cookie: "ckSession=\(attacker); tidemark-account=\(attacker)"
            ]
            let done = try await server.request(
                "/signin?ckWebAuthToken=\(attacker)&ckSession=\(attacker)",
                .post,
                Array(form.utf8),
                cookie
            )
            let web = try #require(
                done.text.components(separatedBy: "ckWebAuthToken: \"").last?
                    .components(separatedBy: "\"").first
            )
            #expect(web != attacker)
            let ann = try await server.send("public/users/caller", web: web)
            let mallory = try await server.send("public/users/caller", web: attacker)
            let names = [ann, mallory].map { $0.json["nameComponents"] as? [String: String] }
            #expect(names.map { $0?["givenName"] } == ["Ann", "Mallory"])
            // The address is used up: whoever else has it signs nobody in with it.
            let again = try await server.request("/signin", .post, Array(form.utf8))
            #expect(!again.text.contains("ckWebAuthToken: \""))
            // A session of the API is none of the account page, where it comes as a cookie.
            let page = try await server.request("/account", .get, [], cookie)
            #expect(page.text.contains("type=\"password\""))
        }
    }

    @Test func `An address without an account takes as long as a wrong password`() async throws {
        let passwords = Passwords(cost: ServerOptions().passwordCost)
        let hash = try await passwords.hash("the right password")
        func time(_ hash: String?) async throws -> Duration {
            var least = Duration.seconds(60)
            for _ in 0..<3 {
                let start = ContinuousClock.now
                #expect(try await !passwords.matches("a wrong password", hash))
                least = min(least, ContinuousClock.now - start)
            }
            return least
        }
        let known = try await time(hash)
        let unknown = try await time(nil)
        // An answer without hashing would take a thousandth of the time.
        #expect(unknown > known / 3 && known > unknown / 3, "\(known), \(unknown)")
    }

    @Test func `A password matches its hash whatever the cost of new hashes`() async throws {
        let hash = try await Passwords(cost: 4).hash("the right password")
        #expect(hash.hasPrefix("scrypt-4-8-1$"))
        let passwords = Passwords(cost: 5)
        #expect(try await passwords.matches("the right password", hash))
        #expect(try await !passwords.matches("a wrong password", hash))
        let dearer = hash.replacing("scrypt-4", with: "scrypt-5")
        #expect(try await !passwords.matches("the right password", dearer))
    }

    // MARK: Requests of the server

    @Test func `The server never connects to an address from a client`() async throws {
        let visits = Lock(0)
        let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                visits.withLock { $0 += 1 }
                return channel.close()
            }
            .bind(host: "localhost", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let url = "http://localhost:\(port)/"
        try await ServerUnderTest.run(.live) { server in
            let web = try await server.signIn("ann")
            var headers: HTTPFields = [.origin: url, .referer: url]
            for name in ["X-Forwarded-Host", "X-Original-URL", "Forwarded"] {
                headers[try #require(HTTPField.Name(name))] = "localhost:\(port)"
            }
            for (path, body) in [
                (
                    "private/records/modify",
                    """
                    {"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"Note",\
                    "fields":{"f":{"value":{"fileChecksum":"AAAA","size":1,"downloadURL":"\(url)"},"type":"ASSETID"},\
                    "g":{"value":"\(url)"}}}}]}
                    """
                ),
                (
                    "private/assets/upload",
                    #"{"tokens":[{"recordType":"Note","fieldName":"f","url":"\#(url)"}]}"#
                ),
                (
                    "private/subscriptions/modify",
                    """
                    {"operations":[{"operationType":"create","subscription":{"subscriptionID":"s",\
                    "subscriptionType":"query","query":{"recordType":"Note"},"firesOn":["create"],\
                    "notificationInfo":{"alertBody":"\(url)","url":"\(url)"}}}]}
                    """
                ),
                ("public/records/resolve", #"{"shortGUIDs":[{"value":"\#(url)"}]}"#),
                ("private/users/caller?redirectURL=\(url)&callback=\(url)", "{}"),
            ] {
                check(try await server.send(path, body, web: web, headers: headers), path)
            }
            _ = try await server.request("/signin?s=\(url)&callback=\(url)")
        }
        try await listener.close()
        #expect(visits.withLock { $0 } == 0)
    }
}
#endif
