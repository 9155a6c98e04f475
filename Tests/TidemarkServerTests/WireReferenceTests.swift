// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing
import TidemarkWire

@testable import TidemarkServer

/// What real clients send, and the forms in which they want their answers, beside ``GoldenExchanges``.
@Suite struct WireReferenceTests {
    private func names(_ records: Any?) -> [String] {
        (records as? [[String: Any]] ?? []).compactMap { $0["recordName"] as? String }
    }

    // MARK: What comes

    @Test func `A body is parsed as JSON with any content type`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let lookup = #"{"records":[{"recordName":"a"}]}"#
            var answers: Set<String> = []
            for type in [
                "application/json", "application/json; charset=utf-8", "text/plain",
                "application/x-www-form-urlencoded", "application/octet-stream", nil,
            ] {
                var headers = HTTPFields()
                headers[.contentType] = type
                let answer = try await server.send(
                    "private/records/lookup",
                    lookup,
                    web: web,
                    headers: headers
                )
                #expect(answer.status == 200, "\(type ?? "none")")
                let item = answer.list("records").first
                answers.insert(item?["serverErrorCode"] as? String ?? "")
            }
            #expect(answers == ["NOT_FOUND"])
        }
    }

    @Test func `Reading endpoints accept GET, and POST with any body or none`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            for endpoint in [
                "private/zones/list", "public/users/current", "public/users/caller",
                "private/users/caller", "private/subscriptions/list",
                "public/users/lookup/contacts",
                "public/users/discover",
            ] {
                let get = try await server.send(endpoint, "", .get, web: web)
                #expect(get.status == 200, "\(endpoint)")
                for body in ["", "{}", "null", " \n"] {
                    let post = try await server.send(endpoint, body, web: web)
                    #expect(post.status == 200, "\(endpoint)")
                    #expect(post.text.count == get.text.count, "\(endpoint): \(body)")
                }
            }
        }
    }

    @Test func `Absent members may be null in every request`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            _ = try await server.send(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"Note"}}]}"#,
                web: web
            )
            for (endpoint, body) in [
                (
                    "records/query",
                    #"{"query":{"recordType":"Note","filterBy":null,"sortBy":null},"#
                        + #""zoneID":null,"desiredKeys":null,"continuationMarker":null,"resultsLimit":null,"#
                        + #""zoneWide":null,"numbersAsStrings":null}"#
                ),
                ("records/lookup", #"{"records":[],"zoneID":null,"desiredKeys":null}"#),
                (
                    "records/modify",
                    #"{"operations":[],"zoneID":null,"atomic":null,"desiredKeys":null}"#
                ),
                ("changes/database", #"{"syncToken":null,"resultsLimit":null}"#),
                ("zones/changes", #"{"metaSyncToken":null,"syncToken":null}"#),
                (
                    "changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Notes","ownerRecordName":null},"#
                        + #""syncToken":null,"reverse":null,"desiredKeys":null,"desiredRecordTypes":null,"#
                        + #""resultsLimit":null}],"resultsLimit":null}"#
                ),
            ] {
                let answer = try await server.send("private/\(endpoint)", body, web: web)
                #expect(answer.status == 200, "\(endpoint): \(answer.text)")
                #expect(!answer.text.contains("serverErrorCode"), "\(endpoint): \(answer.text)")
            }
        }
    }

    @Test func `A zone is identified by name, by owner under either key, and by type`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let caller = try await server.send("private/users/caller", web: web)
            let owner = try #require(caller.json["userRecordName"] as? String)
            for zone in [
                #"{"zoneName":"Notes"}"#, #"{"zoneName":"Notes","ownerRecordName":"\#(owner)"}"#,
                #"{"zoneName":"Notes","ownerName":"\#(owner)","zoneType":"REGULAR_CUSTOM_ZONE"}"#,
                #"{"zoneID":{"zoneName":"Notes","zoneType":"REGULAR_CUSTOM_ZONE"}}"#,
                #"{"zoneName":"Notes","ownerRecordName":"_defaultOwner"}"#,
            ] {
                let answer = try await server.send(
                    "private/zones/lookup",
                    #"{"zones":[\#(zone)]}"#,
                    web: web
                )
                let found = try #require(answer.list("zones").first?["zoneID"] as? [String: Any])
                #expect(found["zoneType"] as? String == "REGULAR_CUSTOM_ZONE")
                #expect(found["ownerRecordName"] as? String == owner)
            }
            let fallback = try await server.send(
                "private/zones/lookup",
                #"{"zones":[{"zoneName":"_defaultZone"}]}"#,
                web: web
            )
            let zone = fallback.list("zones").first?["zoneID"] as? [String: Any]
            #expect(zone?["zoneType"] as? String == "DEFAULT_ZONE")
        }
    }

    @Test func `Tokens need no escapes and may be escaped`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            #expect(web.utf8.allSatisfy { $0.isASCIIWordByte })
            #expect(server.token.utf8.allSatisfy { $0.isASCIIWordByte })
            let escaped = web.utf8.map { "%" + String($0, radix: 16, uppercase: true) }.joined()
            #expect(try await server.send("private/zones/list", web: escaped).status == 200)
        }
        let query = QueryMembers("a=1%2B2%2F3%3D&b=+&c=x=y&d&a=2&%61b=c%")
        let values = ["a", "b", "c", "d", "ab", "e"].map { query[$0] }
        #expect(values == ["1+2/3=", "+", "x=y", "", "c%", nil])
    }

    @Test func `Requests to databases need no router, and others are left to it`() {
        let path = "/database/1/iCloud.tidemark/development/private/zones/list"
        #expect(DirectResponder.isDirect(.get, path))
        #expect(DirectResponder.isDirect(.post, path + "?ckAPIToken=x"))
        for other in ["", "/", "/database/1/", "/database/1//a", "/database/1/?a", "/database/10"] {
            #expect(!DirectResponder.isDirect(.post, other))
        }
        #expect(!DirectResponder.isDirect(.head, path))
        #expect(!DirectResponder.isDirect(.post, "http://localhost" + path))
    }

    @Test func `Records of two users in one answer have their own authorship`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            var web = ""
            for name in ["ann", "ben"] {
                web = try await server.signIn(name)
                let record = #"{"recordName":"\#(name)","recordType":"Note","fields":{}}"#
                let body = #"{"operations":[{"operationType":"create","record":\#(record)}]}"#
                let saved = try await server.send("public/records/modify", body, web: web)
                #expect(saved.status == 200)
            }
            let body =
                #"{"records":[{"recordName":"ann"},{"recordName":"ben"},{"recordName":"ann"}]}"#
            let answer = try await server.send("public/records/lookup", body, web: web)
            let records = try #require(answer.json["records"] as? [[String: Any]])
            let creators = records.map {
                ($0["created"] as? [String: Any])?["userRecordName"] as? String
            }
            try #require(creators.count == 3)
            #expect(creators[0] != nil && creators[0] == creators[2] && creators[0] != creators[1])
        }
    }

    @Test func `Random numbers of requests at the same time differ`() async {
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var random = RequestRandom()
                    return (0..<1000).map { _ in random.next() }
                }
            }
            var numbers = Set<UInt64>()
            for await some in group { numbers.formUnion(some) }
            return numbers
        }
        #expect(numbers.count == 8000)
    }

    @Test func `A target is split before it is decoded, without empty parts`() {
        let parts = PercentCoding.split(target: "//a%2Fb/c//?x=1?2&&y=/")
        #expect(parts.path == ["a/b", "c"])
        #expect(parts.query["x"] == "1?2")
        #expect(parts.query["y"] == "/")
        let others: [(String, [String])] = [
            ("", []), ("/", []), ("?", []), ("a", ["a"]), ("/a/?", ["a"]),
        ]
        for (target, path) in others {
            #expect(PercentCoding.split(target: target).path == path)
            #expect(PercentCoding.split(target: target).query[""] == nil)
        }
    }

    @Test func `Only two hexadecimal digits after a percent sign are decoded`() {
        for text in ["%+5", "%-0", "% 5", "%5", "%", "%%", "%g0", "%0g", "%0x", "a%+5b"] {
            #expect(PercentCoding.decoded(text[...]) == text)
        }
        #expect(PercentCoding.decoded("%4a%4B%%4c%2") == "JK%L%2")
        #expect(PercentCoding.decoded("%c3%A4") == "ä")
    }

    @Test func `Uploads accept POST and PUT of any type, also from other origins`() async throws {
        try await ServerUnderTest.run { server in
            let web = try await server.signIn("ann")
            let origin: HTTPFields = [.origin: "https://app.example.org"]
            for (method, type) in [
                (HTTPRequest.Method.post, "application/octet-stream"), (.put, "image/png"),
                (.post, nil),
            ] {
                let tokens = try await server.send(
                    "private/assets/upload",
                    #"{"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#,
                    web: web
                )
                let url = try #require(tokens.list("tokens").first?["url"] as? String)
                let path = ServerUnderTest.path(of: url)
                let preflight = try await server.request(path, .options, [], origin)
                #expect(preflight.status == 200)
                #expect(preflight.headers[.accessControlAllowOrigin] == "https://app.example.org")
                #expect(preflight.headers[.accessControlAllowMethods]?.contains("PUT") == true)
                var headers = origin
                headers[.contentType] = type
                let answer = try await server.request(path, method, [1, 2, 3], headers)
                #expect(answer.status == 200)
                #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example.org")
                let file = try #require(answer.json["singleFile"] as? [String: Any])
                #expect(file["size"] as? Int == 3)
                let checksum = try #require(file["fileChecksum"] as? String)
                let bytes = try #require(Data(base64Encoded: checksum))
                #expect(bytes.count == 21 && bytes.first == 1)
                let form = String(
                    decoding: try JSONSerialization.data(withJSONObject: file),
                    as: UTF8.self
                )
                let saved = try await server.send(
                    "private/records/modify",
                    #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"a","#
                        + #""recordType":"Note","fields":{"photo":{"value":\#(form)}}}}]}"#,
                    web: web
                )
                let fields = saved.list("records").first?["fields"] as? [String: [String: Any]]
                let value = try #require(fields?["photo"]?["value"] as? [String: Any])
                #expect(fields?["photo"]?["type"] as? String == "ASSETID")
                let download = ServerUnderTest.path(
                    of: try #require(value["downloadURL"] as? String)
                )
                #expect(!download.contains("${f}"))
                let bytesBack = try await server.request(download, .get, [], origin)
                #expect(bytesBack.body == [1, 2, 3])
                #expect(
                    bytesBack.headers[.accessControlAllowOrigin] == "https://app.example.org"
                )
            }
        }
    }

    // MARK: What goes

    @Test func `Responses have the header fields that clients read`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let origin: HTTPFields = [.origin: "https://app.example.org"]
            for (endpoint, status) in [("private/zones/list", 200), ("private/nope", 404)] {
                let answer = try await server.send(endpoint, web: web, headers: origin)
                #expect(answer.status == status)
                #expect(answer.header("Content-Type") == "application/json; charset=UTF-8")
                #expect(answer.header("X-Apple-CloudKit-Version") == "1.0")
                let id = try #require(answer.header("X-Apple-Request-UUID"))
                #expect(status == 200 || answer.json["uuid"] as? String == id)
                #expect(
                    answer.header("Access-Control-Expose-Headers")
                        == "X-Apple-Request-UUID,X-Apple-CloudKit-Web-Auth-Token,X-Responding-Instance,Via"
                )
                #expect(answer.header("Access-Control-Allow-Credentials") == "true")
            }
            let deleted = try await server.send("private/zones/list", "", .delete, web: web)
            #expect(deleted.status == 405 && deleted.headers[.allow] == "GET, POST")
        }
    }

    /// The types of fields that are sent, and whether a value has the form of one.
    private static let forms: [String: @Sendable (Any) -> Bool] = [
        "STRING": { $0 is String }, "INT64": { isWhole($0) }, "DOUBLE": { $0 is NSNumber },
        "BYTES": { ($0 as? String).flatMap { Data(base64Encoded: $0) } != nil },
        "TIMESTAMP": { isWhole($0) },
        "LOCATION": { ($0 as? [String: Any])?["latitude"] is NSNumber },
        "REFERENCE": { ($0 as? [String: Any])?["recordName"] is String },
        "ASSETID": { isWhole(($0 as? [String: Any])?["size"] ?? "") },
    ]

    private static func isWhole(_ value: Any) -> Bool {
        guard let number = value as? NSNumber else { return false }
        return number.doubleValue == number.doubleValue.rounded()
    }

    /// The problems that a strict decoder would have with a value, and everything in it.
    private func problems(_ value: Any, _ asStrings: Bool) -> [String] {
        if let list = value as? [Any] { return list.flatMap { problems($0, asStrings) } }
        guard let object = value as? [String: Any] else { return [] }
        var found: [String] = []
        if let name = object["recordName"] as? String, object["serverErrorCode"] == nil,
            object["fields"] != nil
        {
            for key in ["recordType", "recordChangeTag"] where !(object[key] is String) {
                found.append("\(name): \(key)")
            }
            for key in ["created", "modified"] {
                let authorship = object[key] as? [String: Any]
                if !Self.isWhole(authorship?["timestamp"] ?? "") { found.append("\(name): \(key)") }
            }
            if object["deleted"] as? Bool != false { found.append("\(name): deleted") }
            if object["pluginFields"] as? [String: String] != [:] {
                found.append("\(name): plugin")
            }
            for (field, value) in object["fields"] as? [String: [String: Any]] ?? [:] {
                let type = value["type"] as? String ?? ""
                let element = type.hasSuffix("_LIST") ? String(type.dropLast(5)) : type
                let values =
                    type.hasSuffix("_LIST") ? value["value"] as? [Any] : value["value"].map { [$0] }
                guard let form = Self.forms[element], let values else {
                    found.append("\(name).\(field): \(type)")
                    continue
                }
                let isText = asStrings && ["INT64", "DOUBLE"].contains(element)
                if !values.allSatisfy({ isText ? $0 is String : form($0) }) {
                    found.append("\(name).\(field): \(value)")
                }
            }
        }
        if let url = object["stableUrl"] {
            let keys = Set((url as? [String: Any])?.keys.map { $0 } ?? [])
            let wanted: Set = [
                "routingKey", "shortTokenHash", "protectedFullToken", "encryptedPublicSharingKey",
                "displayedHostname",
            ]
            if keys != wanted { found.append("stableUrl: \(url)") }
        }
        let inner = object.filter { $0.key != "fields" }.values
        return found + inner.flatMap { problems($0, asStrings) }
    }

    @Test func `Reviewed responses can be read by strict decoders`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures"
        )
        var count = 0
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            for exchange in GoldenExchanges.exchanges(in: text) where exchange.status == 200 {
                let answer = exchange.answer
                    .replacingOccurrences(of: ":TIME", with: ":0")
                    .replacingOccurrences(of: ":SEQUENCE", with: ":0")
                let json = try JSONSerialization.jsonObject(with: Data(answer.utf8))
                let asStrings = exchange.body.contains("AsStrings\":true")
                let found = problems(json, asStrings)
                #expect(found.isEmpty, "\(file): \(exchange.endpoint): \(found)")
                count += answer.components(separatedBy: "\"fields\":{").count - 1
            }
        }
        #expect(count > 60)
    }

    // MARK: Feeds and tokens

    @Test func `A feed can be read from its end, and then continues from there`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            for name in ["a", "b", "c", "d", "e"] { _ = try await server.saveNotes([name], web) }
            func page(_ token: String?, _ more: String = "") async throws -> [String: Any] {
                let text = token.map { #","syncToken":"\#($0)""# } ?? ""
                let answer = try await server.send(
                    "private/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Notes"}\#(text)}],"resultsLimit":2\#(more)}"#,
                    web: web
                )
                return try #require(answer.list("zones").first)
            }
            var pages = [try await page(nil, #","reverse":true"#)]
            // What comes meanwhile is told by the token at the end.
            _ = try await server.saveNotes(["f", "a"], web)
            while pages.last?["moreComing"] as? Bool == true {
                // The token alone says in which direction it goes.
                pages.append(try await page(pages.last?["syncToken"] as? String))
            }
            #expect(pages.map { names($0["records"]) } == [["e", "d"], ["c", "b"], []])
            let rest = try await page(pages.last?["syncToken"] as? String)
            #expect(names(rest["records"]) == ["f", "a"])
            let older = try await server.send(
                "private/records/changes",
                #"{"zoneID":{"zoneName":"Notes"},"reverse":true,"resultsLimit":1}"#,
                web: web
            )
            #expect(names(older.json["records"]) == ["a"])
            #expect(older.json["moreComing"] as? Bool == true)
            let gone = try await server.send(
                "private/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Gone"},"reverse":true}]}"#,
                web: web
            )
            #expect(gone.list("zones").first?["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
        }
    }

    @Test func `Every response with zones has a token after their contents`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            _ = try await server.saveNotes(["before"], web)
            var tokens: [String] = []
            for endpoint in ["zones/list", "zones/changes", "changes/database"] {
                let answer = try await server.send("private/\(endpoint)", "{}", web: web)
                let zone = answer.list("zones").first { zone in
                    (zone["zoneID"] as? [String: Any])?["zoneName"] as? String == "Notes"
                }
                tokens.append(try #require(zone?["syncToken"] as? String, "\(endpoint)"))
            }
            let query = try await server.send(
                // As clients in Python write it.
                "private/records/query?getCurrentSyncToken=True",
                #"{"query":{"recordType":"Note"},"zoneWide":true}"#,
                web: web
            )
            let all = try #require(query.json["syncToken"] as? String)
            _ = try await server.saveNotes(["after"], web)
            for token in tokens {
                let answer = try await server.send(
                    "private/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"\#(token)"}]}"#,
                    web: web
                )
                #expect(names(answer.list("zones").first?["records"]) == ["after"])
            }
            // The token of all zones is one of the database.
            let changed = try await server.send(
                "private/changes/database",
                #"{"syncToken":"\#(all)"}"#,
                web: web
            )
            #expect(changed.list("zones").count == 1)
        }
    }

    // MARK: Links

    @Test func `A record has a short GUID before it is shared, and its share has the same`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            try await server.createZone(ann)
            let more = #","createShortGUID":true"#
            let created = try await server.saveNotes(["root"], ann, more: more)
            let root = try #require(created.list("records").first)
            let guid = try #require(root["shortGUID"] as? String)
            let url = try #require(root["stableUrl"] as? [String: Any])
            #expect(url["shortTokenHash"] as? String == guid)
            // The same for the same record, another for another, and none without being asked.
            let again = try await server.saveNotes(["root", "other"], ann, more: more)
            let guids = again.list("records").map { $0["shortGUID"] as? String }
            #expect(guids.first == guid && guids.last != guid)
            let plain = try await server.saveNotes(["plain"], ann)
            #expect(plain.list("records").first?["shortGUID"] == nil)
            #expect(plain.list("records").first?["stableUrl"] == nil)

            // It leads nowhere yet.
            let resolve = #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#
            #expect(
                try await server.send("public/records/resolve", resolve, web: ben).status == 404
            )
            let share = """
                {"zoneID":{"zoneName":"Notes"},"atomic":true,"operations":[{"operationType":"create","record":\
                {"recordType":"cloudkit.share","recordName":"s","fields":{},"forRecord":{"recordName":"root"},\
                "publicPermission":"READ_WRITE"}}]}
                """
            let shared = try await server.send("private/records/modify", share, web: ann)
            #expect(shared.list("records").first?["shortGUID"] as? String == guid)
            let resolved = try await server.send(
                "public/records/resolve?getCurrentSyncToken=true",
                resolve,
                web: ben
            )
            let result = try #require(resolved.list("results").first)
            let resolvedRoot = result["rootRecord"] as? [String: Any]
            #expect(resolvedRoot?["shortGUID"] as? String == guid)
            #expect(resolvedRoot?["stableUrl"] is [String: Any])
            #expect(result["syncToken"] == nil)
            let accepted = try await server.send(
                "public/records/accept?getCurrentSyncToken=true",
                resolve,
                web: ben
            )
            let token = try #require(accepted.list("results").first?["syncToken"] as? String)

            // Wherever the root comes it says so, to its owner and to those who take part.
            let zone = try #require(
                (accepted.list("results").first?["zoneID"] as? [String: Any])?["ownerRecordName"]
                    as? String
            )
            for (scope, web, owner) in [("private", ann, ""), ("shared", ben, zone)] {
                let id =
                    owner.isEmpty
                    ? #"{"zoneName":"Notes"}"#
                    : #"{"zoneName":"Notes","ownerRecordName":"\#(owner)"}"#
                for (endpoint, body) in [
                    ("records/lookup", #"{"zoneID":\#(id),"records":[{"recordName":"root"}]}"#),
                    ("records/query", #"{"zoneID":\#(id),"query":{"recordType":"Note"}}"#),
                    ("records/changes", #"{"zoneID":\#(id)}"#),
                ] {
                    let answer = try await server.send("\(scope)/\(endpoint)", body, web: web)
                    let record = answer.list("records").first {
                        $0["recordName"] as? String == "root"
                    }
                    #expect(record?["shortGUID"] as? String == guid, "\(scope)/\(endpoint)")
                    #expect(record?["share"] is [String: Any], "\(scope)/\(endpoint)")
                    // The answer is whole all the same.
                    #expect(answer.json["records"] is [Any], "\(scope)/\(endpoint): \(answer.text)")
                }
            }
            let zones = try await server.send("shared/zones/list", web: ben)
            #expect(zones.list("zones").first?["syncToken"] is String)
            let behind = try await server.send(
                "shared/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Notes","ownerRecordName":"\#(zone)"},"syncToken":"\#(token)"}]}"#,
                web: ben
            )
            #expect(names(behind.list("zones").first?["records"]) == [])

            // Who takes part is told nothing of shares that may come.
            let child = """
                {"zoneID":{"zoneName":"Notes","ownerRecordName":"\(zone)"},"operations":[{"operationType":"create",\
                "record":{"recordName":"child","recordType":"Note","parent":{"recordName":"root"},\
                "createShortGUID":true,"fields":{}}}]}
                """
            let below = try await server.send("shared/records/modify", child, web: ben)
            #expect(below.list("records").first?["recordName"] as? String == "child")
            #expect(below.list("records").first?["shortGUID"] == nil)
            let inDefault = try await server.send(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","createShortGUID":true}}]}"#,
                web: ann
            )
            #expect(inDefault.list("records").first?["shortGUID"] == nil)

            // A share that ends and comes again has the link that its root was told.
            let anew = """
                {"zoneID":{"zoneName":"Notes"},"operations":[\
                {"operationType":"forceDelete","record":{"recordName":"s"}}]}
                """
            _ = try await server.send("private/records/modify", anew, web: ann)
            #expect(
                try await server.send("public/records/resolve", resolve, web: ben).status == 404
            )
            let second = try await server.send("private/records/modify", share, web: ann)
            #expect(second.list("records").first?["shortGUID"] as? String == guid)
            #expect(
                try await server.send("public/records/resolve", resolve, web: ben).status == 200
            )
        }
    }

    // MARK: Rotation

    @Test func `With strict rotation, each token is valid once`() async throws {
        var options = ServerOptions()
        options.tokenRotation = .strict
        try await ServerUnderTest.run(.router, options: options) { server in
            let first = try await server.signIn("ann")
            var token = first
            for _ in 0..<4 {
                let answer = try await server.send("private/zones/list", web: token)
                #expect(answer.status == 200)
                #expect(try await server.send("private/zones/list", web: token).status == 421)
                let next = try #require(answer.header("X-Apple-CloudKit-Web-Auth-Token"))
                #expect(next != token)
                token = next
            }
            #expect(try await server.send("private/zones/list", web: first).status == 421)
            // An answer with an error has the next token too.
            let failed = try await server.send("private/records/query", "{", web: token)
            #expect(failed.status == 400)
            token = try #require(failed.header("X-Apple-CloudKit-Web-Auth-Token"))
            // Other sessions have tokens of their own.
            let other = try await server.signIn("ann")
            #expect(try await server.send("private/zones/list", web: other).status == 200)
            #expect(try await server.send("private/zones/list", web: token).status == 200)
        }
    }
}
#endif
