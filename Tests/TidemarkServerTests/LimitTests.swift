// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing
import Tidemark

@testable import TidemarkServer

/// Requests that come too often, counts, and other small paths.
@Suite struct LimitTests {
    @Test func `A bucket holds its rate and refills within the period`() {
        let limits = RateLimits([.user: Throttling.Rate(3, per: .seconds(3))])
        let second: Int64 = 1_000_000_000
        for _ in 0..<3 { #expect(limits.wait(.user, "ann", now: 0) == nil) }
        #expect(limits.wait(.user, "ann", now: 0) == second)
        // Others have buckets of their own, and what has no rate has none.
        #expect(limits.wait(.user, "ben", now: 0) == nil)
        #expect(limits.wait(.device, "ann", now: 0) == nil)
        #expect(limits.wait(.user, "ann", now: second) == nil)
        #expect(limits.wait(.user, "ann", now: second) == second)
        for _ in 0..<3 { #expect(limits.wait(.user, "ann", now: 100 * second) == nil) }
    }

    @Test(arguments: [Int64.max, Int64.max / 1_000_000_000, Int64.max / 2_000_000_000])
    func `A rate may have any period`(seconds: Int64) {
        let period = Duration(
            secondsComponent: seconds,
            attosecondsComponent: 999_999_999_999_999_999
        )
        let limits = RateLimits([.user: Throttling.Rate(1, per: period)])
        #expect(limits.wait(.user, "ann", now: 1) == nil)
        #expect(limits.wait(.user, "ann", now: 2) != nil)
    }

    @Test func `A caller over the rate limit receives a retry time`() async throws {
        var options = ServerOptions()
        options.rateLimits[.user] = Throttling.Rate(2, per: .seconds(600))
        try await ServerUnderTest.run(.router, options: options) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            for _ in 0..<2 {
                #expect(try await server.send("private/zones/list", web: ann).status == 200)
            }
            let late = try await server.send("private/zones/list", web: ann)
            #expect(late.status == 429)
            #expect(late.code == "THROTTLED")
            let seconds = try #require(late.json["retryAfter"] as? Int)
            #expect((1...300).contains(seconds))
            #expect(late.header("Retry-After") == String(seconds))
            #expect(try await server.send("private/zones/list", web: ben).status == 200)
            #expect(try await server.send("public/zones/list").status == 200)
        }
    }

    @Test(arguments: RateLimited.allCases.filter { $0 != .signIn })
    func `Each kind of rate has its own count`(_ kind: RateLimited) async throws {
        var options = ServerOptions()
        options.rateLimits[kind] = Throttling.Rate(1, per: .seconds(600))
        options.trustsProxy = true
        try await ServerUnderTest.run(options: options) { server in
            let web = try await server.signIn("ann")
            let forwarded = try #require(HTTPField.Name("X-Forwarded-For"))
            let ask = { (device: String, address: String) in
                try await server.send(
                    "public/zones/list?clientId=\(device)",
                    web: web,
                    headers: [forwarded: "10.9.9.9, \(address)"]
                ).status
            }
            let signed = { try await server.sendSigned("public/zones/list").status }
            // The second request is late if it shares with the first what the rate is of.
            switch kind {
            case .token, .user:
                #expect(try await ask("a", "10.0.0.1") == 200)
                #expect(try await ask("b", "10.0.0.2") == 429)
            case .device:
                #expect(try await ask("a", "10.0.0.1") == 200)
                #expect(try await ask("b", "10.0.0.1") == 200)
                #expect(try await ask("a", "10.0.0.2") == 429)
            case .address:
                #expect(try await ask("a", "10.0.0.1") == 200)
                #expect(try await ask("a", "10.0.0.2") == 200)
                #expect(try await ask("b", "10.0.0.1") == 429)
            case .key:
                #expect(try await signed() == 200)
                #expect(try await signed() == 429)
                #expect(try await ask("a", "10.0.0.1") == 200)
            case .signIn: break
            }
        }
    }

    @Test func `A full answer names the records to look up later`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let caller = try await server.caller(web)
            let names = (0..<8).map { "r\($0)" }
            for name in names {
                // Each character is an escape of six bytes in JSON.
                try await server.store.saveNote(
                    RecordID(recordName: name),
                    ["text": String(repeating: "\u{1}", count: 900_000)],
                    as: caller
                )
            }
            func look(up names: [String]) async throws -> Answer {
                let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
                return try await server.send(
                    "private/records/lookup",
                    #"{"records":[\#(records)]}"#,
                    web: web
                )
            }
            let answer = try await look(up: names)
            #expect(answer.status == 200)
            #expect(answer.body.count < 40 << 20)
            let records = answer.list("records")
            #expect(records.count == 8)
            #expect(records.prefix(7).allSatisfy { $0["fields"] != nil })
            #expect(records.last?["recordName"] as? String == "r7")
            #expect(records.last?["serverErrorCode"] as? String == "TRY_AGAIN_LATER")
            #expect(records.last?["retryAfter"] as? Int == 1)
            #expect(try await look(up: ["r7"]).list("records").first?["fields"] != nil)

            // A save of another field is small, but its answer has the whole record.
            let operations = names.map { name in
                #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","#
                    + #""recordType":"Note","fields":{"title":{"value":"\#(name)"}}}}"#
            }
            let saved = try await server.send(
                "private/records/modify",
                #"{"operations":[\#(operations.joined(separator: ","))]}"#,
                web: web
            )
            let fields = saved.list("records").map { $0["fields"] as? [String: Any] ?? [:] }
            #expect(fields.map(\.count) == Array(repeating: 2, count: 7) + [1])
            #expect(fields.last?["title"] != nil)
        }
    }

    @Test func `A client cannot forge its address`() async throws {
        var options = ServerOptions()
        options.rateLimits[.address] = Throttling.Rate(1, per: .seconds(600))
        try await ServerUnderTest.run(options: options) { server in
            let forwarded = try #require(HTTPField.Name("X-Forwarded-For"))
            var statuses: [Int] = []
            for address in ["10.0.0.1", "10.0.0.2"] {
                let headers: HTTPFields = [forwarded: address]
                statuses.append(
                    try await server.send("public/zones/list", headers: headers).status
                )
            }
            #expect(statuses == [200, 429])
        }
    }

    @Test func `Attempts to guess passwords are limited`() async throws {
        var options = ServerOptions()
        options.rateLimits[.signIn] = Throttling.Rate(2, per: .seconds(600))
        try await ServerUnderTest.run(.router, options: options) { server in
            _ = try await server.signIn("ann")
            let path = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(server.token)"
            let url = try #require(try await server.request(path).json["redirectURL"] as? String)
            let state = try #require(url.components(separatedBy: "s=").last)
            var texts: [String] = []
            for _ in 0..<3 {
                let form = "s=\(state)&email=ann%40example.org&password=wrong-password"
                texts.append(try await server.request("/signin", .post, Array(form.utf8)).text)
            }
            #expect(texts[1].contains("The address or the password is wrong"))
            #expect(texts[2].contains("too many requests"))
        }
    }

    @Test func `Requests are counted by endpoint and status`() async throws {
        try await ServerUnderTest.run(.router) { server in
            _ = try await server.send("public/zones/list")
            _ = try await server.send("public/zones/list")
            _ = try await server.send("private/zones/list")
            _ = try await server.send("public/no/such")
            let answer = try await server.request("/metrics")
            #expect(answer.header("Content-Type")?.hasPrefix("text/plain") == true)
            let lines = answer.text.split(separator: "\n")
            let expected = [
                "tidemark_requests_total{endpoint=\"zones/list\",status=\"200\"} 2",
                "tidemark_requests_total{endpoint=\"zones/list\",status=\"421\"} 1",
                "tidemark_requests_total{endpoint=\"other\",status=\"404\"} 1",
                "tidemark_request_seconds_count{endpoint=\"zones/list\"} 3",
                "tidemark_request_seconds_bucket{endpoint=\"zones/list\",le=\"+Inf\"} 3",
                "tidemark_requests_open 0",
            ]
            for line in expected { #expect(lines.contains(Substring(line)), "\(line)") }
            // Nothing of what was asked is in it.
            #expect(!answer.text.contains(server.token))
        }
    }

    @Test func `Sync tokens come with zones, and with records on request`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let zone = #"{"zoneID":{"zoneName":"Notes"}}"#
            _ = try await server.send(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":\#(zone)}]}"#,
                web: web
            )
            let save = { (name: String) in
                _ = try await server.send(
                    "private/records/modify",
                    #"""
                    {"zoneID":{"zoneName":"Notes"},"operations":[{"operationType":"create",
                    "record":{"recordType":"Note","recordName":"\#(name)","fields":{}}}]}
                    """#,
                    web: web
                )
            }
            try await save("before")
            let zones = try await server.send("private/zones/list", web: web).list("zones")
            let tokens = zones.map { $0["syncToken"] as? String }
            #expect(tokens.count == 2 && tokens.contains(nil))
            let lookup = #"{"zoneID":{"zoneName":"Notes"},"records":[{"recordName":"before"}]}"#
            let plain = try await server.send("private/records/lookup", lookup, web: web)
            #expect(plain.json["syncToken"] == nil)
            let found = try await server.send(
                "private/records/lookup?getCurrentSyncToken=true",
                lookup,
                web: web
            )
            try await save("after")
            for token in [tokens.compactMap(\.self).first, found.json["syncToken"]] {
                let token = try #require(token as? String)
                let changes = try await server.send(
                    "private/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"\#(token)"}]}"#,
                    web: web
                )
                let records = changes.list("zones").first?["records"] as? [[String: Any]]
                #expect(records?.compactMap { $0["recordName"] as? String } == ["after"])
            }
        }
    }

    @Test func `A full or read-only disk makes a server not ready`() async throws {
        let least = Readiness.leastByteCount
        #expect(Readiness(freeByteCount: least, isWritable: true).problem == nil)
        #expect(Readiness(freeByteCount: nil, isWritable: true).problem == nil)
        #expect(
            Readiness(freeByteCount: least - 1, isWritable: true).problem?.contains("free") == true
        )
        #expect(Readiness(freeByteCount: least, isWritable: false).problem != nil)
        try await ServerUnderTest.run(.router) { server in
            let answer = try await server.request("/health/ready")
            #expect(answer.status == 200)
            // The store goes away under the server, as when its disk is unmounted.
            try FileManager.default.moveItem(atPath: server.folder, toPath: server.folder + ".away")
            let gone = try await server.request("/health/ready")
            #expect(gone.status == 503)
            #expect(gone.text.contains("cannot be written to"))
            try FileManager.default.moveItem(atPath: server.folder + ".away", toPath: server.folder)
            #expect(try await server.request("/health/ready").status == 200)
        }
    }

    @Test func `A link to a share opens in a browser`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let answer = try await server.request("/share/0abc%3Cb%3E")
            #expect(answer.status == 200)
            #expect(answer.text.contains("0abc&lt;b&gt;"))
        }
    }
}
#endif
