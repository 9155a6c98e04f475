// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing
import TidemarkDatabase
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// Facts that clients of CloudKit Web Services rely on, besides those of ``WireReferenceTests`` and
/// ``GoldenExchanges``.
@Suite struct WireFactTests {
    private func zoneNames(_ answer: Answer) -> [String] {
        answer.list("zones").compactMap { zone in
            (zone["zoneID"] as? [String: Any])?["zoneName"] as? String
        }
    }

    // MARK: What comes

    @Test func `Parameters that only Apple's service knows are ignored`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let query =
                "ckjsVersion=2.6.4&ckjsBuildVersion=20B1&clientId=c&clientBuildNumber=1"
                + "&clientMasteringNumber=2&dsid=3&remapEnums=true&getCurrentSyncToken=true"
            let plain = try await server.send("private/zones/list", web: web)
            let list = try await server.send("private/zones/list?\(query)", "", .get, web: web)
            #expect(list.status == 200 && zoneNames(list) == zoneNames(plain))
            let lookup = try await server.send(
                "private/records/lookup?\(query)",
                #"{"records":[],"remapEnums":true,"other":{"a":[1,null]}}"#,
                web: web
            )
            #expect(lookup.status == 200 && lookup.list("records").isEmpty)
        }
    }

    @Test func `A truth value may be zero or one`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            #expect(try await server.saveNotes(["a"], web).status == 200)
            for (endpoint, body) in [
                ("records/lookup", #""records":[{"recordName":"a"}]"#),
                ("records/query", #""query":{"recordType":"Note"}"#),
                ("changes/zone", #""zones":[{"zoneID":{"zoneName":"Notes"}}]"#),
            ] {
                let answer = try await server.send(
                    "private/\(endpoint)",
                    #"{"zoneID":{"zoneName":"Notes"},"numbersAsStrings":1,\#(body)}"#,
                    web: web
                )
                #expect(answer.status == 200, "\(endpoint): \(answer.text)")
            }
        }
    }

    @Test func `A feed of zones takes its token under either key, and answers with both`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let first = try await server.send("private/zones/changes", "{}", web: web)
            let token = try #require(first.json["syncToken"] as? String)
            #expect(first.json["metaSyncToken"] as? String == token)
            try await server.createZone(web, "More")
            for key in ["syncToken", "metaSyncToken"] {
                let next = try await server.send(
                    "private/zones/changes",
                    #"{"\#(key)":"\#(token)"}"#,
                    web: web
                )
                #expect(zoneNames(next) == ["More"], "\(key)")
                #expect(next.json["syncToken"] is String)
                #expect(next.json["syncToken"] as? String == next.json["metaSyncToken"] as? String)
            }
        }
    }

    @Test func `The current user is on the private path too`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            for endpoint in ["users/current", "users/caller"] {
                let open = try await server.send("public/\(endpoint)", "", .get, web: web)
                let own = try await server.send("private/\(endpoint)", "", .get, web: web)
                #expect(own.status == 200)
                #expect(own.text == open.text && own.json["userRecordName"] is String)
            }
        }
    }

    // MARK: Errors

    @Test func `A token that has expired begins with these words`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let zones = try await server.send("private/changes/database", "{}", web: web)
            let token = try #require(zones.list("zones").first?["syncToken"] as? String)
            let delete =
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Notes"}}}]}"#
            _ = try await server.send("private/zones/modify", delete, web: web)
            // A zone of the same name is another one.
            try await server.createZone(web)
            var extended = HTTPFields()
            extended[try #require(HTTPField.Name("X-Tidemark-Extensions"))] = "1"
            for (headers, code) in [
                (HTTPFields(), "BAD_REQUEST"), (extended, "CHANGE_TOKEN_EXPIRED"),
            ] {
                let feeds = try await server.send(
                    "private/changes/zone",
                    #"{"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"\#(token)"}]}"#,
                    web: web,
                    headers: headers
                )
                #expect(feeds.status == 200)
                let feed = try #require(feeds.list("zones").first)
                let whole = try await server.send(
                    "private/records/changes",
                    #"{"zoneID":{"zoneName":"Notes"},"syncToken":"\#(token)"}"#,
                    web: web,
                    headers: headers
                )
                #expect(whole.status == 400)
                for error in [feed, whole.json] {
                    #expect(error["serverErrorCode"] as? String == code)
                    let reason = error["reason"] as? String
                    #expect(reason?.hasPrefix("Change token expired") == true)
                }
            }
        }
    }

    @Test func `Unknown paths of devices have no handler`() async throws {
        try await ServerUnderTest.run(.router) { server in
            for path in ["tokens/nope", "changes/stream", "nope"] {
                let answer = try await server.device(path, "{}")
                #expect(answer.status == 404)
                #expect(answer.code == "NOT_FOUND")
                let reason = answer.json["reason"] as? String
                #expect(reason?.hasPrefix("could not find handler for endpoint") == true)
            }
        }
    }

    // MARK: Who calls

    @Test func `Tokens of apps are 64 hexadecimal digits, and any registered text will do`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let made = try await server.makeToken("app")
            for token in [server.token, made] {
                #expect(token.count == 64)
                #expect(token.utf8.allSatisfy { Array("0123456789abcdef".utf8).contains($0) })
            }
            let own = APIToken(
                "a text of mine",
                name: "own",
                container: .standard,
                environment: .development
            )
            _ = try await directory.registry.tokens.save(own)
            let path = "\(ServerUnderTest.path)public/zones/list?ckAPIToken=a%20text%20of%20mine"
            #expect(try await server.request(path).status == 200)
        }
    }

    @Test func `Sessions last half an hour, or two weeks if they are kept`() {
        func session(isKept: Bool) -> Session {
            Session(
                id: RecordName("s"),
                account: "a",
                user: "u",
                container: "c",
                environment: "development",
                isKept: isKept
            )
        }
        #expect(session(isKept: false).lifetime == 30 * 60 * 1000)
        #expect(session(isKept: true).lifetime == 14 * 24 * 60 * 60 * 1000)
    }

    @Test func `A cookie signs nobody in to the services`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let cookie = "ckWebAuthToken=\(web); ckSession=\(web); tidemark-account=\(web)"
            let answer = try await server.send(
                "private/zones/list",
                headers: [.cookie: cookie]
            )
            #expect(answer.status == 421)
            #expect(answer.code == "AUTHENTICATION_REQUIRED")
            #expect(try await server.send("private/zones/list", web: web).status == 200)
        }
    }

    @Test func `In development a key's records extend the schema`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let saved = try await server.sendSigned(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Fresh","fields":{}}}]}"#
            )
            #expect(saved.list("records").first?["recordType"] as? String == "Fresh")
            let found = try await server.sendSigned(
                "public/records/query",
                #"{"query":{"recordType":"Fresh"}}"#
            )
            #expect(found.list("records").count == 1)
        }
    }

    @Test func `A repeated request gets the names that it got the first time`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let create = #"{"operationType":"create","record":{"recordType":"Note","fields":{}}}"#
            let subscribe =
                #"{"operationType":"create","subscription":{"subscriptionType":"database"}}"#
            func names(
                _ endpoint: String,
                _ operations: String,
                _ list: String,
                _ key: String,
                id: String
            ) async throws -> [String] {
                let answer = try await server.send(
                    endpoint,
                    "{\"operations\":[\(operations)]}",
                    web: web,
                    headers: [.tidemarkRequestID: id]
                )
                #expect(answer.status == 200, "\(answer.text)")
                let items = answer.list(list)
                #expect(items.allSatisfy { $0["serverErrorCode"] == nil }, "\(answer.text)")
                return items.compactMap { $0[key] as? String }
            }
            func records(_ id: String) async throws -> [String] {
                try await names(
                    "private/records/modify",
                    "\(create),\(create)",
                    "records",
                    "recordName",
                    id: id
                )
            }
            func subscriptions(_ id: String) async throws -> [String] {
                try await names(
                    "private/subscriptions/modify",
                    subscribe,
                    "subscriptions",
                    "subscriptionID",
                    id: id
                )
            }
            let first = try await records("one")
            #expect(Set(first).count == 2)
            #expect(try await records("one") == first)
            #expect(Set(try await records("two")).isDisjoint(with: first))
            let subscribed = try await subscriptions("three")
            #expect(subscribed.count == 1)
            #expect(try await subscriptions("three") == subscribed)
            // The same id is another request for another user.
            let ben = try await server.signIn("ben")
            let other = try await server.send(
                "public/records/modify",
                "{\"operations\":[\(create)]}",
                web: ben,
                headers: [.tidemarkRequestID: "four"]
            )
            let own = try await server.send(
                "public/records/modify",
                "{\"operations\":[\(create)]}",
                web: web,
                headers: [.tidemarkRequestID: "four"]
            )
            let created = [other, own].compactMap {
                $0.list("records").first?["recordType"] as? String
            }
            #expect(created == ["Note", "Note"])
        }
    }

    @Test func `A change tag of Apple's service conflicts`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            #expect(try await server.saveNotes(["a"], web).status == 200)
            for type in ["update", "replace", "delete"] {
                let operation =
                    #"{"operationType":"\#(type)","record":{"recordName":"a","recordChangeTag":"3","#
                    + #""fields":{"title":{"value":"new"}}}}"#
                let answer = try await server.send(
                    "private/records/modify",
                    "{\"zoneID\":{\"zoneName\":\"Notes\"},\"operations\":[\(operation)]}",
                    web: web
                )
                let item = try #require(answer.list("records").first)
                #expect(item["serverErrorCode"] as? String == "CONFLICT", "\(type)")
                #expect(
                    item["reason"] as? String == "client oplock error updating record",
                    "\(type)"
                )
            }
        }
    }

    @Test func `The zones of one answer share its bytes, and each has a record`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let text = String(repeating: "x", count: 900_000)
            for number in 0..<5 {
                let saved = try await server.send(
                    "private/records/modify",
                    #"{"zoneID":{"zoneName":"Notes"},"operations":[{"operationType":"create","record":"#
                        + #"{"recordName":"n\#(number)","recordType":"Note","#
                        + #""fields":{"title":{"value":"\#(text)"}}}}]}"#,
                    web: web
                )
                #expect(saved.status == 200)
            }
            // Twelve whole pages would have more than 40 million bytes.
            let zones = Array(repeating: #"{"zoneID":{"zoneName":"Notes"}}"#, count: 12)
            let answer = try await server.send(
                "private/changes/zone",
                "{\"zones\":[\(zones.joined(separator: ","))]}",
                web: web
            )
            #expect(answer.body.count < 40_000_000)
            let pages = answer.list("zones")
            #expect(pages.count == 12)
            let counts = pages.map { ($0["records"] as? [Any])?.count ?? 0 }
            #expect(counts.first ?? 0 > 2)
            #expect(counts.last == 1)
            #expect(pages.last?["moreComing"] as? Bool == true)
        }
    }

    // MARK: Odd but possible

    @Test(arguments: [
        (
            #""fieldName":"a","systemFieldName":"recordName","comparator":"EQUALS""#,
            "A filter has a fieldName or a systemFieldName, and not both."
        ),
        (
            #""fieldName":"a","comparator":"EQUALS","distance":5"#,
            "A distance belongs to NEAR, and not to EQUALS."
        ),
    ])
    func `A filter with too much is rejected`(members: String, reason: String) async throws {
        try await ServerUnderTest.run(.router) { server in
            let filter = "{\(members),\"fieldValue\":{\"value\":1}}"
            let answer = try await server.send(
                "public/records/query",
                "{\"query\":{\"recordType\":\"Note\",\"filterBy\":[\(filter)]}}"
            )
            #expect(answer.code == "BAD_REQUEST")
            #expect((answer.json["reason"] as? String)?.hasPrefix(reason) == true)
        }
    }

    @Test func `A parent is removed by null, and kept without it`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            _ = try await server.saveNotes(["root"], web)
            func save(_ type: String, _ parent: String) async throws -> String? {
                let answer = try await server.send(
                    "private/records/modify",
                    """
                    {"zoneID":{"zoneName":"Notes"},"operations":[{"operationType":"\(type)","record":\
                    {"recordName":"child","recordType":"Note","fields":{}\(parent)}}]}
                    """,
                    web: web
                )
                let record = try #require(answer.list("records").first)
                #expect(record["serverErrorCode"] == nil, "\(answer.text)")
                return (record["parent"] as? [String: Any])?["recordName"] as? String
            }
            let root = #","parent":{"recordName":"root"}"#
            #expect(try await save("create", root) == "root")
            for type in ["forceUpdate", "forceReplace"] {
                #expect(try await save(type, "") == "root", "\(type)")
                #expect(try await save(type, #","parent":null"#) == nil, "\(type)")
                #expect(try await save(type, root) == "root", "\(type)")
            }
        }
    }

    @Test func `An item that needs a user says where to sign in`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let schema = """
                DEFINE SCHEMA
                    RECORD TYPE Secret (
                        GRANT WRITE TO "_creator",
                        GRANT READ, CREATE TO "_icloud"
                    );
                """
            try await server.store.importSchema(try SchemaFile(schema).schema)
            let web = try await server.signIn("ann")
            let saved = try await server.send(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"s","recordType":"Secret"}}]}"#,
                web: web
            )
            #expect(saved.list("records").first?["recordName"] as? String == "s")
            let answer = try await server.send(
                "public/records/lookup",
                #"{"records":[{"recordName":"s"}]}"#
            )
            let item = try #require(answer.list("records").first)
            #expect(item["serverErrorCode"] as? String == "AUTHENTICATION_REQUIRED")
            let address = try #require(item["redirectURL"] as? String)
            let page = try await server.request(ServerUnderTest.path(of: address))
            #expect(page.status == 200 && page.text.contains("password"))
        }
    }

    @Test func `A reference to an asset needs the name of its record`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let answer = try await server.send(
                "private/assets/rereference",
                #"{"assets":[{"recordType":"Note","fieldName":"photo"}]}"#,
                web: web
            )
            #expect(answer.code == "BAD_REQUEST")
            let reason = "The member \"recordName\" of assets[0] is missing."
            #expect(answer.json["reason"] as? String == reason)
        }
    }

    @Test(arguments: ["records/resolve", "records/accept", "users/discover"])
    func `A key is no user`(endpoint: String) async throws {
        try await ServerUnderTest.run(.router) { server in
            let answer = try await server.sendSigned(
                "public/\(endpoint)",
                #"{"shortGUIDs":[{"value":"0123456789"}]}"#
            )
            #expect(answer.status == 401 && answer.code == "AUTHENTICATION_FAILED")
        }
    }

    // MARK: Browsers

    @Test func `Pages of allowed origins reach every path, and read its errors`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let session = "ckAPIToken=\(server.token)&ckWebAuthToken=\(web)"
            let upload = try await server.send(
                "private/assets/upload",
                #"{"tokens":[{"recordName":"a","recordType":"Note","fieldName":"photo"}]}"#,
                web: web
            )
            let address = try #require(upload.list("tokens").first?["url"] as? String)
            let courier = try await server.courier(web, client: "b")
            let origin = "https://app.example.org"
            let requested = try #require(HTTPField.Name("Access-Control-Request-Headers"))
            for (path, wrong) in [
                ("\(ServerUnderTest.path)private/zones/list?\(session)", HTTPRequest.Method.delete),
                ("/device/1/iCloud.tidemark/development/tokens/create?\(session)", .get),
                (ServerUnderTest.path(of: address), .get),
                ("/assets/nothing", .get),
                (courier, .delete),
                ("\(ServerUnderTest.path)private/changes/stream?\(session)", .post),
            ] {
                let preflight = try await server.request(
                    path,
                    .options,
                    [],
                    [.origin: origin, requested: "content-type, x-something"]
                )
                #expect(preflight.status == 200, "\(path)")
                let failed = try await server.request(path, wrong, [], [.origin: origin])
                #expect((400..<500).contains(failed.status), "\(path)")
                #expect(failed.code != nil, "\(path)")
                for answer in [preflight, failed] {
                    #expect(answer.headers[.accessControlAllowOrigin] == origin, "\(path)")
                    #expect(answer.headers[.accessControlAllowCredentials] == "true", "\(path)")
                    let vary = answer.headers[.vary]?.components(separatedBy: ", ") ?? []
                    #expect(vary.count { $0 == "Origin" } == 1, "\(path)")
                }
                #expect(
                    preflight.headers[.accessControlAllowMethods] == "GET, POST, PUT, OPTIONS",
                    "\(path)"
                )
                #expect(
                    preflight.headers[.accessControlAllowHeaders] == "content-type, x-something",
                    "\(path)"
                )
                #expect(preflight.headers[.accessControlMaxAge] == "3600", "\(path)")
            }
        }
    }

    @Test func `The other operations of a refused atomic request keep their own errors`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            #expect(try await server.saveNotes(["a"], web).status == 200)
            func operation(_ kind: String, _ name: String, _ more: String = "") -> String {
                #"{"operationType":"\#(kind)","record":{"recordName":"\#(name)","fields":{}\#(more)}}"#
            }
            // The web services refuse the first two of these, and the store the third.
            let missing = [
                operation("update", "n"), operation("replace", "n"),
                operation("update", "n", #","recordType":"Note","recordChangeTag":"1-1""#),
            ]
            let others = [
                (operation("create", "a", #","recordType":"Note""#), "CONFLICT"),
                (operation("update", "a", #","recordChangeTag":"1-1""#), "CONFLICT"),
                (operation("create", "b", #","recordType":"not a type""#), "BAD_REQUEST"),
                (operation("create", "b", #","recordType":"Note""#), "ATOMIC_ERROR"),
                (operation("delete", "a"), "ATOMIC_ERROR"),
            ]
            for missing in missing {
                for (other, code) in others {
                    let answer = try await server.send(
                        "private/records/modify",
                        #"{"zoneID":{"zoneName":"Notes"},"operations":[\#(other),\#(missing)]}"#,
                        web: web
                    )
                    let codes = answer.list("records").map { $0["serverErrorCode"] as? String }
                    #expect(codes == [code, "NOT_FOUND"], "\(other) \(missing): \(answer.text)")
                }
            }
            let lookup =
                #"{"zoneID":{"zoneName":"Notes"},"records":[{"recordName":"a"},{"recordName":"b"}]}"#
            let found = try await server.send("private/records/lookup", lookup, web: web)
            let codes = found.list("records").map { $0["serverErrorCode"] as? String }
            #expect(codes == [nil, "NOT_FOUND"])
        }
    }

    @Test func `A refused operation ends no other zone's operations`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let answer = try await server.send(
                "private/records/modify",
                """
                {"operations":[{"operationType":"update","record":{"recordName":"n","fields":{},\
                "zoneID":{"zoneName":"Notes"}}},{"operationType":"create","record":{"recordName":"d",\
                "recordType":"Note","fields":{}}}]}
                """,
                web: web
            )
            let codes = answer.list("records").map { $0["serverErrorCode"] as? String }
            #expect(codes == ["NOT_FOUND", nil], "\(answer.text)")
        }
    }

    @Test(arguments: [
        ("private/records/modify", "operations"), ("private/records/lookup", "records"),
        ("private/zones/lookup", "zones"), ("private/zones/modify", "operations"),
        ("private/changes/zone", "zones"), ("private/subscriptions/lookup", "subscriptions"),
        ("private/subscriptions/modify", "operations"), ("private/assets/upload", "tokens"),
        ("private/assets/rereference", "assets"), ("public/records/resolve", "shortGUIDs"),
        ("public/records/accept", "shortGUIDs"), ("public/users/lookup/email", "users"),
        ("public/users/lookup/id", "users"),
    ])
    func `A list that a request must have is named if it is missing`(
        endpoint: String,
        list: String
    ) async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            for body in ["", "{}", "{\"\(list)\":null}", "{\"\(list)x\":[]}"] {
                let answer = try await server.send(endpoint, body, web: web)
                #expect(answer.status == 400 && answer.code == "BAD_REQUEST", "\(body)")
                #expect(answer.json["reason"] as? String == "The member \"\(list)\" is missing.")
            }
            let empty = try await server.send(endpoint, "{\"\(list)\":[]}", web: web)
            #expect(empty.status == 200, "\(empty.text)")
        }
    }

    @Test func `A created default zone is not atomic`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            for (name, isAtomic) in [("_defaultZone", false), ("Notes", true)] {
                let answer = try await server.send(
                    "private/zones/modify",
                    #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#,
                    web: web
                )
                #expect(answer.status == 200)
                #expect(answer.list("zones").first?["atomic"] as? Bool == (isAtomic ? true : nil))
            }
        }
    }

    // MARK: Shares and queries

    @Test func `One unknown short GUID fails the whole request`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            try await server.createZone(ann)
            _ = try await server.saveNotes(["root"], ann)
            let share = """
                {"zoneID":{"zoneName":"Notes"},"atomic":true,"operations":[{"operationType":"create","record":\
                {"recordType":"cloudkit.share","recordName":"s","fields":{},"forRecord":{"recordName":"root"},\
                "publicPermission":"READ_ONLY"}}]}
                """
            let shared = try await server.send("private/records/modify", share, web: ann)
            let guid = try #require(shared.list("records").first?["shortGUID"] as? String)
            for endpoint in ["public/records/resolve", "public/records/accept"] {
                let both = try await server.send(
                    endpoint,
                    #"{"shortGUIDs":[{"value":"\#(guid)"},{"value":"nothing"}]}"#,
                    web: ben
                )
                #expect(both.status == 404, "\(endpoint)")
                #expect(both.json["results"] == nil, "\(endpoint)")
            }
            let one = try await server.send(
                "public/records/resolve",
                #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#,
                web: ben
            )
            let result = try #require(one.list("results").first)
            let echo = result["shortGUID"] as? [String: Any]
            #expect(echo?["shouldFetchRootRecord"] as? Bool == true)
            #expect(result["rootRecord"] is [String: Any])
        }
    }

    @Test func `Several links can be accepted under one request id, and again`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let ann = try await server.signIn("ann")
            try await server.createZone(ann)
            _ = try await server.saveNotes(["r0", "r1"], ann)
            let operations = (0...1).map { number in
                """
                {"operationType":"create","record":{"recordType":"cloudkit.share",\
                "recordName":"s\(number)","fields":{},"forRecord":{"recordName":"r\(number)"},\
                "publicPermission":"READ_ONLY"}}
                """
            }
            let shared = try await server.send(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Notes"},"operations":[\#(operations.joined(separator: ","))]}"#,
                web: ann
            )
            let links = shared.list("records").compactMap { $0["shortGUID"] as? String }
                .map { #"{"value":"\#($0)"}"# }
            #expect(links.count == 2)
            let ben = try await server.signIn("ben")
            let id = try #require(HTTPField.Name(HeaderValue.requestID))
            for _ in 1...2 {
                let answer = try await server.send(
                    "public/records/accept",
                    #"{"shortGUIDs":[\#(links.joined(separator: ","))]}"#,
                    web: ben,
                    headers: [id: "acc-1"]
                )
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.list("results").count == 2)
            }
        }
    }

    @Test func `A page has 200 records at most, and a query finds what was just saved`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            try await server.createZone(web)
            let names = (0..<205).map { "n\($0)" }
            for part in [names[..<200], names[200...]] {
                #expect(try await server.saveNotes(Array(part), web).status == 200)
            }
            let query = #""zoneID":{"zoneName":"Notes"},"query":{"recordType":"Note"}"#
            let first = try await server.send(
                "private/records/query",
                "{\(query),\"resultsLimit\":1000}",
                web: web
            )
            #expect(first.list("records").count == 200)
            let marker = try #require(first.json["continuationMarker"] as? String)
            let rest = try await server.send(
                "private/records/query",
                "{\(query),\"resultsLimit\":1000,\"continuationMarker\":\"\(marker)\"}",
                web: web
            )
            #expect(rest.list("records").count == 5)
            #expect(rest.json["continuationMarker"] == nil)
            let own = #""filterBy":{"fieldName":"title","comparator":"EQUALS","fieldValue":"#
            for number in 0..<20 {
                _ = try await server.saveNotes(["new \(number)"], web)
                let found = try await server.send(
                    "private/records/query",
                    #"{"zoneID":{"zoneName":"Notes"},"query":{"recordType":"Note",\#(own)"#
                        + #"{"value":"new \#(number)"}}}}"#,
                    web: web
                )
                #expect(found.list("records").count == 1, "\(number)")
            }
        }
    }
}
#endif
