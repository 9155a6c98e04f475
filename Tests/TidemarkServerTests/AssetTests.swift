// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import HummingbirdTesting
import Testing

@testable import TidemarkServer

/// Bytes of assets, on their way in and out.
@Suite struct AssetTests {
    private let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }

    /// Asks where to send bytes, and returns the path.
    private func uploadPath(_ server: ServerUnderTest, _ web: String) async throws -> String {
        let answer = try await server.send(
            "private/assets/upload",
            #"{"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#,
            web: web
        )
        let url = try #require(answer.list("tokens").first?["url"] as? String)
        return ServerUnderTest.path(of: url)
    }

    private func save(
        _ server: ServerUnderTest,
        _ web: String,
        _ value: Any,
        record: String = "a",
        field: String = "photo"
    ) async throws -> Answer {
        let json = try JSONSerialization.data(withJSONObject: value)
        return try await server.send(
            "private/records/modify",
            """
            {"operations":[{"operationType":"forceUpdate","record":{"recordName":"\(record)",
            "recordType":"Note","fields":{"\(field)":{"value":\(String(decoding: json, as: UTF8.self)),
            "type":"ASSETID"}}}}]}
            """,
            web: web
        )
    }

    private func value(_ answer: Answer) -> [String: Any]? {
        let fields = answer.list("records").first?["fields"] as? [String: [String: Any]]
        return fields?["photo"]?["value"] as? [String: Any]
    }

    @Test func `Assets are returned in full and in ranges over a socket`() async throws {
        try await ServerUnderTest.run(.live) { server in
            let web = try await server.signIn("ann")
            let path = try await uploadPath(server, web)
            let upload = try await server.request(path, .put, bytes)
            #expect(upload.status == 200)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            #expect((file["fileChecksum"] as? String)?.count == 28)
            #expect(file["size"] as? Int == bytes.count)
            #expect(
                Set(file.keys) == [
                    "fileChecksum", "size", "wrappingKey", "referenceChecksum", "receipt",
                ]
            )
            #expect(try await server.request(path, .post, bytes).status == 409)

            let saved = try #require(value(try await save(server, web, file)))
            #expect(saved["receipt"] == nil)
            let download = ServerUnderTest.path(of: try #require(saved["downloadURL"] as? String))
            let whole = try await server.request(download)
            #expect(whole.body == bytes)
            #expect(whole.headers[.contentDisposition] == "attachment")
            #expect(whole.headers[.xContentTypeOptions] == "nosniff")
            #expect(whole.headers[.eTag]?.hasPrefix("\"") == true)
            #expect(whole.headers[.acceptRanges] == "bytes")
            for (range, expected) in [
                ("bytes=5-9", bytes[5...9]), ("bytes=299990-", bytes[299_990...]),
                ("bytes=-7", bytes.suffix(7)), ("bytes=0-999999", bytes[...]),
            ] {
                let part = try await server.request(download, .get, [], [.range: range])
                #expect(part.status == 206)
                #expect(part.body == Array(expected), "\(range)")
            }
            let beyond = try await server.request(download, .get, [], [.range: "bytes=300000-"])
            #expect(beyond.status == 416)
            #expect(beyond.headers[.contentRange] == "bytes */300000")
            let head = try await server.request(download, .head)
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(try await server.request(download + "A").status == 404)
        }
    }

    @Test func `A damaged asset has the status of an error and not the length of its file`()
        async throws
    {
        let lines = Lines()
        try await ServerUnderTest.run(.live, logger: lines.logger) { server in
            let web = try await server.signIn("ann")
            let upload = try await server.request(try await uploadPath(server, web), .put, bytes)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let saved = try #require(value(try await save(server, web, file)))
            let download = ServerUnderTest.path(of: try #require(saved["downloadURL"] as? String))
            let folder = server.folder + "/assets"
            let path = try #require(
                try FileManager.default.subpathsOfDirectory(atPath: folder).map {
                    folder + "/" + $0
                }
                .first { FileManager.default.contents(atPath: $0)?.count == bytes.count }
            )
            for count in [0, 4_000, bytes.count + 1] {
                var held = bytes.prefix(count)
                if count > bytes.count { held.append(0) }
                try Data(held).write(to: URL(fileURLWithPath: path))
                for (method, range) in [(.get, nil), (.head, nil), (.get, "bytes=0-9")]
                    as [(HTTPRequest.Method, String?)]
                {
                    let headers: HTTPFields = range.map { [.range: $0] } ?? [:]
                    let answer = try await server.request(download, method, [], headers)
                    #expect(answer.status == 503, "\(count) \(method) \(range ?? "")")
                }
            }
            // A length that is right shows nothing; the bytes of a range are checked before.
            var flipped = bytes
            flipped[200_000] ^= 1
            try Data(flipped).write(to: URL(fileURLWithPath: path))
            #expect(try await server.request(download, .head).status == 200)
            let part = try await server.request(download, .get, [], [.range: "bytes=0-9"])
            #expect(part.status == 503)
            #expect(!part.text.contains(server.folder))

            try Data(bytes).write(to: URL(fileURLWithPath: path))
            let whole = try await server.request(download)
            #expect(whole.body == bytes)
            let tag = try #require(whole.headers[.eTag])
            for (held, status) in [(tag, 304), ("\"other\", W/\(tag)", 304), ("\"other\"", 200)] {
                let answer = try await server.request(download, .get, [], [.ifNoneMatch: held])
                #expect(answer.status == status, "\(held)")
                #expect(answer.headers[.cacheControl] == "private, max-age=3600", "\(held)")
                // A page's script must not get what was kept for an image of it.
                #expect(answer.headers[.vary] == "Origin", "\(held)")
                let fields: HTTPFields = [.ifNoneMatch: held, .origin: "https://app.example.org"]
                let script = try await server.request(download, .get, [], fields)
                #expect(script.headers[.vary] == "Origin", "\(held)")
                #expect(answer.body == (status == 304 ? [] : bytes), "\(held)")
            }
        }
        let ends = lines.all.filter { ["assets", "assets/up"].contains($0["endpoint"] as? String) }
        #expect(ends.count == 19)
        #expect(ends.first?["endpoint"] as? String == "assets/up")
        let failures = ends.filter { $0["code"] as? String == "TRY_AGAIN_LATER" }
        #expect(failures.count == 10)
        #expect(failures.allSatisfy { ($0["cause"] as? String)?.contains("/assets/") == true })
        #expect(ends.allSatisfy { ($0["user"] as? String)?.hasPrefix("_") == true })
    }

    @Test(.timeLimit(.minutes(5)))
    func `A list with thousands of assets is saved back in time`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let upload = try await server.request(try await uploadPath(server, web), .put, bytes)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let receipts = Array(repeating: file, count: 4000)
            let list = try JSONSerialization.data(withJSONObject: receipts)
            let shown = #"{"fileChecksum":"\#(file["fileChecksum"] ?? "")","size":\#(bytes.count)}"#
            let many = Array(repeating: shown, count: 10_000).joined(separator: ",")
            let more = Array(repeating: shown, count: 40_000).joined(separator: ",")
            // The last list is too long for a request, which is found after its assets are.
            for (value, isSaved) in [
                (String(decoding: list, as: UTF8.self), true), ("[\(many)]", true),
                ("[\(more)]", false),
            ] {
                let answer = try await server.send(
                    "private/records/modify",
                    """
                    {"desiredKeys":[],"operations":[{"operationType":"forceUpdate","record":{
                    "recordName":"a","recordType":"Note","fields":{"photo":{"value":\(value),
                    "type":"ASSETID_LIST"}}}}]}
                    """,
                    web: web
                )
                let tag = answer.list("records").first?["recordChangeTag"]
                #expect((tag != nil) == isSaved, "\(answer.text.prefix(300))")
                #expect(answer.status < 500)
            }
        }
    }

    @Test func `A part of another version is not completed from this one`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let upload = try await server.request(try await uploadPath(server, web), .put, bytes)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let saved = try #require(value(try await save(server, web, file)))
            let download = ServerUnderTest.path(of: try #require(saved["downloadURL"] as? String))
            let tag = try #require(try await server.request(download).headers[.eTag])
            for (held, status) in [(tag, 206), ("\"other\"", 200), ("W/\(tag)", 200)] {
                let answer = try await server.request(
                    download,
                    .get,
                    [],
                    [.range: "bytes=5-", .ifRange: held]
                )
                #expect(answer.status == status, "\(held)")
                #expect(answer.body == (status == 206 ? Array(bytes[5...]) : bytes), "\(held)")
            }
        }
    }

    @Test func `An upload with a content coding is rejected, and its address stays valid`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let path = try await uploadPath(server, web)
            let coded = try #require(Gzip.compressed(bytes))
            let rejected = try await server.request(path, .put, coded, [.contentEncoding: "gzip"])
            #expect(rejected.status == 415)
            #expect(rejected.code == "BAD_REQUEST")
            let upload = try await server.request(path, .put, bytes, [.contentEncoding: "identity"])
            #expect(upload.status == 200)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            #expect(file["size"] as? Int == bytes.count)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A client that does not read its download is cut off`() async throws {
        var options = ServerOptions()
        options.answerTimeout = .seconds(1)
        try await ServerUnderTest.run(.live, options: options) { server in
            let web = try await server.signIn("ann")
            // More than the buffers of the system hold on both sides.
            let large = [UInt8](repeating: 7, count: 40 << 20)
            let upload = try await server.request(try await uploadPath(server, web), .put, large)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let saved = try #require(value(try await save(server, web, file)))
            let download = ServerUnderTest.path(of: try #require(saved["downloadURL"] as? String))
            var received = large.count
            // A busy machine may take longer to fill the buffers.
            for seconds in [2, 8, 32] where received >= large.count {
                let socket = try RawSocket(port: try #require(server.client.port))
                try socket.send("GET \(download) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                try await Task.sleep(for: .seconds(seconds))
                received = 0
                while true {
                    let piece = try await socket.receive(within: 10_000)
                    if piece.isEmpty { break }
                    received += piece.count
                }
            }
            #expect(received > 0)
            #expect(received < large.count)
        }
    }

    @Test func `An asset value can be saved back, but not to other records`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let upload = try await server.request(try await uploadPath(server, web), .post, bytes)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let saved = try #require(value(try await save(server, web, file)))
            #expect(value(try await save(server, web, saved)) != nil)
            let elsewhere = try await save(server, web, saved, record: "b").list("records").first
            #expect(elsewhere?["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect((elsewhere?["reason"] as? String)?.contains("rereference") == true)

            let again = try await server.send(
                "private/assets/rereference",
                #"{"assets":[{"recordName":"a","fieldName":"photo"}]}"#,
                web: web
            )
            let other = try #require(again.list("assets").first?["value"] as? [String: Any])
            #expect(value(try await save(server, web, other, record: "b")) != nil)
            // Apple's reference has the asset itself as the entry.
            let entry = try #require(again.list("assets").first)
            let keys = ["fileChecksum", "size", "referenceChecksum", "wrappingKey", "receipt"]
            #expect(Set(entry.keys).isSuperset(of: keys))
            #expect(value(try await save(server, web, entry, record: "c")) != nil)
        }
    }

    @Test func `Addresses and receipts end`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let secret = server.server.directory.secret
            let minute: Int64 = 60_000
            /// The last part of a path, with another end than the one it had.
            func ended<Ticket: Codable>(
                _ text: String,
                _ purpose: String,
                _ end: WritableKeyPath<Ticket, Int64>,
                after lifetime: Int64
            ) throws -> String {
                var ticket = try #require(secret.opened(text, for: purpose, as: Ticket.self))
                let left = ticket[keyPath: end] - Clock.now()
                #expect((lifetime - minute...lifetime).contains(left), "\(purpose)")
                ticket[keyPath: end] = Clock.now() - 1
                return try secret.sealed(ticket, for: purpose)
            }
            let web = try await server.signIn("ann")
            let path = try await uploadPath(server, web)
            let name = try #require(path.split(separator: "/").last.map(String.init))
            let late = try ended(name, "upload", \UploadTicket.end, after: 15 * minute)
            #expect(try await server.request("/assets/up/\(late)", .post, bytes).status == 404)
            // The other one is still good.
            let upload = try await server.request(path, .post, bytes)
            var file = try #require(upload.json["singleFile"] as? [String: Any])
            let saved = try #require(value(try await save(server, web, file)))
            let download = ServerUnderTest.path(of: try #require(saved["downloadURL"] as? String))
            let text = try #require(download.split(separator: "/").last.map(String.init))
            let gone = try ended(text, "download", \DownloadTicket.end, after: 60 * minute)
            #expect(try await server.request("/assets/\(gone)").status == 404)
            #expect(try await server.request(download).status == 200)
            let receipt = try #require(file["receipt"] as? String)
            file["receipt"] = try ended(receipt, "receipt", \Receipt.end, after: 24 * 60 * minute)
            let refused = try await save(server, web, file)
            #expect(refused.status == 400)
            #expect((refused.json["reason"] as? String)?.contains("older than a day") == true)
        }
    }

    @Test func `A receipt is valid only for its user, type and field`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let upload = try await server.request(try await uploadPath(server, web), .post, bytes)
            let file = try #require(upload.json["singleFile"] as? [String: Any])
            let field = try await save(server, web, file, field: "other").list("records").first
            #expect(field?["serverErrorCode"] as? String == "BAD_REQUEST")
            let thief = try await server.signIn("ben")
            #expect(try await save(server, thief, file).status == 400)
            #expect(try await server.request("/assets/up/nonsense", .post, bytes).status == 404)
        }
    }
}
#endif
