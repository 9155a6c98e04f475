// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Logging
import TestSupport
import Testing
import TidemarkLock

@testable import TidemarkServer

/// The lines of the log.
@Suite struct LogLineTests {
    @Test func `A request is logged with its user and endpoint, without secrets`() async throws {
        let lines = Lines()
        let body = #"{"records":[{"recordName":"a secret name"}]}"#
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let name = try #require(HTTPField.Name("traceparent"))
        try await ServerUnderTest.run(.router, logger: lines.logger) { server in
            let web = try await server.signIn("ann")
            let answer = try await server.send(
                "private/records/lookup",
                body,
                web: web,
                headers: [name: trace]
            )
            #expect(answer.status == 200)
            #expect(try await server.send("private/nope").status == 404)
            #expect(lines.all.count == 2)
            let line = try #require(lines.all.first)
            #expect(line["request"] as? String == answer.header("X-Apple-Request-UUID"))
            #expect(line["endpoint"] as? String == "records/lookup")
            #expect(line["status"] as? String == "200")
            #expect(line["database"] as? String == "private")
            #expect((line["user"] as? String)?.hasPrefix("_") == true)
            #expect(line["traceparent"] as? String == trace)
            #expect(lines.all.last?["code"] as? String == "NOT_FOUND")
            for secret in [web, server.token, "a secret name", "ann@example.org"] {
                #expect(!lines.text.contains(secret))
            }
        }
    }

    @Test func `Requests for pages are logged without their forms`() async throws {
        let lines = Lines()
        try await ServerUnderTest.run(.router, logger: lines.logger) { server in
            #expect(try await server.request("/signin?ckAPIToken=\(server.token)").status < 400)
            let form = Array("s=none&email=ann@example.org&password=verysecret".utf8)
            let refused = try await server.request("/signin", .post, form)
            for path in ["/account", "/reset", "/invitation"] {
                _ = try await server.request(path)
            }
            let ends = lines.all.map { $0["endpoint"] as? String }
            #expect(ends == ["signin", "signin", "account", "reset", "invitation"])
            #expect(lines.all[1]["status"] as? String == "\(refused.status)")
            #expect(refused.status >= 400)
            for secret in [server.token, "verysecret", "ann@example.org"] {
                #expect(!lines.text.contains(secret))
            }
        }
    }

    @Test func `Lines of a logger with metadata have the metadata and the same members`()
        async throws
    {
        var names: [Set<String>] = []
        for metadata: Logger.Metadata in [[:], ["node": "a"]] {
            let lines = Lines()
            var logger = lines.logger
            for (name, value) in metadata { logger[metadataKey: name] = value }
            try await ServerUnderTest.run(.router, logger: logger) { server in
                let web = try await server.signIn("ann")
                // Text of a client must not end a text of the line.
                let path = "private/zones/list?clientId=a%22b%5C"
                #expect(try await server.send(path, web: web).status == 200)
            }
            let line = try #require(lines.all.first)
            #expect(line["device"] as? String == #"a"b\"#)
            names.append(Set(line.keys))
            // A time that a reader of the log can sort by: with all its digits.
            #expect((line["time"] as? String)?.utf8.count == 24)
        }
        #expect(names[1] == names[0].union(["node"]))
        #expect(names[0].isSuperset(of: ["endpoint", "microseconds", "status", "user"]))
    }
}

/// Lines that were written.
final class Lines: Sendable {
    private let bytes = Lock<[UInt8]>([])

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    var all: [[String: Any]] {
        text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: Any]
        }
    }

    var logger: Logger {
        JSONLogHandler.logger { line in self.bytes.withLock { $0 += line } }
    }
}
#endif
