// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// `/tidemark/1/administration/…`: who may call, and what is kept of it.
@Suite struct AdministrationTests {
    private static let path = "/tidemark/1/administration/"

    private static func headers(_ secret: String?) -> HTTPFields {
        secret.map { [.authorization: "Bearer \($0)"] } ?? [:]
    }

    @Test func `The socket in the store's folder is never open to others`() throws {
        let scratch = try ScratchFolder()
        let files = FileManager.default
        func mode(_ path: String) throws -> Int? {
            try (files.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
        }
        let path = try #require(AdministrationSocket.path(ofStoreAt: scratch.url.path))
        let made = try AdministrationSocket.prepare(path)
        #expect(made.utf8.count <= path.utf8.count)
        let folder = URL(fileURLWithPath: made).deletingLastPathComponent().path
        #expect(try mode(folder) == 0o700)
        // A file in the place of the socket, with the mode that the process's mask allows.
        #expect(files.createFile(atPath: made, contents: nil))
        try files.setAttributes([.posixPermissions: 0o777], ofItemAtPath: made)
        #expect(!files.fileExists(atPath: path))
        try AdministrationSocket.publish(path)
        #expect(try mode(path) == 0o600)
        #expect(!files.fileExists(atPath: folder))
        // As a server does that finds what another one left.
        _ = try AdministrationSocket.prepare(path)
        AdministrationSocket.remove(path)
        #expect(try files.contentsOfDirectory(atPath: scratch.url.path).isEmpty)
    }

    @Test func `Only an administrator's secret grants access`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let entry = try #require(try await directory.administrators().first).value
            let web = try await server.signIn("ann")
            let wrong = [nil, "", "x", entry.id.text, server.token, web, String(secret.dropLast())]
            for text in wrong {
                let answer = try await server.request(
                    Self.path + "usage",
                    .post,
                    [],
                    Self.headers(text)
                )
                #expect(answer.status == 401)
                #expect(answer.header("WWW-Authenticate") == "Bearer")
                #expect(AdministrationLines.failure(in: answer.body)?.code == .notAuthenticated)
            }
            // Nor do other paths take it, or this one another way of carrying it.
            let other = try await server.request(Self.path + "usage?ckAPIToken=\(secret)", .post)
            #expect(other.status == 401)
            let zones = ServerUnderTest.path + "private/zones/list?ckAPIToken=\(secret)"
            #expect(try await server.request(zones, .get, [], Self.headers(secret)).status == 401)

            let own = try await server.request(Self.path + "usage", .post, [], Self.headers(secret))
            #expect(own.status == 200)
            #expect(own.text.hasPrefix("{\"answer\":["))
            try await directory.revokeAdministrator(entry.id.text)
            let late = try await server.request(
                Self.path + "usage",
                .post,
                [],
                Self.headers(secret)
            )
            #expect(late.status == 401)
        }
    }

    @Test func `A web page cannot send calls`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let secret = try await server.server.directory.addAdministrator(name: "ops")
            let page: HTTPFields = [.origin: "https://evil.example.org"]
            let preflight = try await server.request(Self.path + "usage", .options, [], page)
            #expect(preflight.headers[.accessControlAllowOrigin] == nil)
            #expect(preflight.headers[.accessControlAllowHeaders] == nil)
            // What a browser adds by itself is no secret.
            var fields = page
            fields[.cookie] = "tidemark-account=\(secret); secret=\(secret)"
            let bare = try await server.request(Self.path + "usage", .post, [], fields)
            #expect(bare.status == 401)
            // Nor can a page that knows a secret read the answer.
            fields[.authorization] = "Bearer \(secret)"
            let known = try await server.request(Self.path + "usage", .post, [], fields)
            #expect(known.status == 200)
            #expect(known.headers[.accessControlAllowOrigin] == nil)
        }
    }

    @Test func `Invalid calls are rejected, and failing calls end with an error`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let secret = try await server.server.directory.addAdministrator(name: "ops")
            func ask(_ call: String, _ body: String = "") async throws -> Answer {
                try await server.request(
                    Self.path + call,
                    .post,
                    Array(body.utf8),
                    Self.headers(secret)
                )
            }
            for (call, body, status) in [
                ("nothing", "", 404), ("blame", "{}", 400), ("blame", "{", 400),
                ("usage", "[", 400), ("diff", "{\"first\":\"x\"}", 400),
            ] {
                let answer = try await ask(call, body)
                #expect(answer.status == status, "\(call) \(body)")
                #expect(AdministrationLines.failure(in: answer.body)?.code == .invalidArguments)
            }
            let missing = try await ask(
                "record",
                """
                {"record":{"recordName":"a","zone":{"zoneName":"b"}},"database":{"container":"iCloud.tidemark",\
                "environment":"development","scope":2,"owner":"anna"}}
                """
            )
            #expect(missing.status == 200)
            #expect(missing.header("Content-Type") == "application/x-ndjson")
            #expect(AdministrationLines.failure(in: missing.body)?.code == .zoneNotFound)
        }
    }

    @Test func `Calls say whether they write`() {
        for request in [
            AdministrationRequest.tokens, .keys, .accounts, .sessions(account: nil), .webhooks,
            .containers,
        ] { #expect(!request.writes) }
        for request in [
            AdministrationRequest.revokeToken("a"), .endSession("a"), .invite(email: "a"),
            .reset(account: "a"), .setLocked(true, account: "a"),
        ] { #expect(request.writes) }
        let caller = Caller(database: .standard, user: UserID("_ann"))
        #expect(!MethodCall("fetchRecords", "{}", as: caller).writes)
        #expect(MethodCall("modifyRecords", "{}", as: caller).writes)
        #expect(MethodCall("unknown", "{}", as: caller).writes)
    }

    @Test func `A revoked token is recorded by the name of its record`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = server.administration(secret)
            var tokens: [String] = []
            for name in ["a", "b"] { tokens.append(try await server.makeToken(name)) }
            let names = tokens.map { APIToken.recordName(of: $0).text }
            // The first by its text, the second by its name.
            for id in [tokens[0], names[1]] {
                _ = try await service.answer(AdministrationRequest.revokeToken(id))
            }
            _ = try? await service.answer(AdministrationRequest.revokeToken("none"))
            let kept = try await directory.administration().map(\.value.content)
            #expect(kept.count == 3)
            for name in names { #expect(kept.contains { $0.contains(name) }) }
            let text = kept.joined()
            #expect(!text.contains(tokens[0]) && !text.contains("none"))
        }
    }

    @Test func `Once a call is answered, readers of the files see what it has written`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let secret = try await server.server.directory.addAdministrator(name: "ops")
            let service = server.administration(secret)
            for number in 0..<20 {
                _ = try await service.answer(
                    AdministrationRequest.makeToken(
                        APIToken(
                            "",
                            name: "app \(number)",
                            container: .standard,
                            environment: .development
                        )
                    )
                )
                let reader = try Store.open(at: server.folder, access: .reading)
                #expect(reader.lastSequence == server.store.lastSequence)
                try reader.close()
            }
        }
    }

    @Test func `Administrative calls are recorded without secrets`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = server.administration(secret)
            _ = try await service.answer(UsageCall())
            _ = try await service.answer(
                AdministrationRequest.addAccount(
                    email: "ann@example.org",
                    password: "very secret",
                    givenName: "Ann",
                    familyName: ""
                )
            )
            let token = try await service.answer(
                AdministrationRequest.makeToken(
                    APIToken("", name: "app", container: .standard, environment: .development)
                )
            ).text
            _ = try await service.answer(AdministrationRequest.revokeToken(token))
            let kept = try await service.answer(AdministrationRecordsCall())
            #expect(
                kept.map(\.call) == ["usage"] + Array(repeating: "directory", count: 3)
                    + ["administrators-log"]
            )
            #expect(Set(kept.map(\.name)) == ["ops"])
            #expect(kept[1].content.contains("ann@example.org"))
            let text = kept.map(\.content).joined()
            #expect(
                !text.contains("very secret") && !text.contains(token) && !text.contains(secret)
            )
            // No other credential opens the container that has them.
            let answer = try await server.request(
                "/database/1/tidemark.server/development/private/zones/list?ckAPIToken=\(server.token)"
            )
            #expect(answer.status == 401)
        }
    }

    @Test func `A removed account lets nobody in, and is not named by the record of its removal`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = server.administration(secret)
            let webs = [try await server.signIn("ann"), try await server.signIn("ben")]
            func isIn(_ web: String) async throws -> Bool {
                try await server.send("private/zones/list", web: web).status == 200
            }
            #expect(try await isIn(webs[0]))
            for (name, web) in [("ann", webs[0]), ("ben", webs[1])] {
                _ = try await server.courier(web, client: "a")
                let account = try #require(
                    try await directory.account(email: "\(name)@example.org")
                )
                _ = try await directory.addWebhook(
                    Webhook(
                        url: "https://example.org/\(name)",
                        container: .standard,
                        environment: .development,
                        user: account.user(in: .standard).userRecordName
                    )
                )
                _ = try await directory.signInToAccount(account)
            }
            let ann = try #require(try await directory.account(email: "ann@example.org"))
            let removal = AdministrationRequest.removeAccount("Ann@example.org")
            #expect(try await service.answer(removal).text == ann.id.text)

            // As a sign-in that has checked the password before the removal.
            let late = try await #require(throws: SyncError.self) {
                try await directory.signIn(ann, to: .standard, in: .development)
            }
            #expect(late.code == .unknownItem)
            #expect(try await isIn(webs[0]) == false)
            #expect(try await isIn(webs[1]))
            let accounts = try await directory.accounts().map(\.value)
            #expect(accounts.map(\.email) == ["ben@example.org"])
            let ben = try #require(accounts.first)
            let sessions = try await directory.registry.sessions.all(Session.self)
            #expect(sessions.count == 2)
            #expect(sessions.allSatisfy { $0.value.account == ben.id.text })
            let couriers = try await directory.registry.couriers.all(CourierToken.self)
            #expect(couriers.map(\.value.user) == [ben.user(in: .standard).userRecordName])
            #expect(try await directory.webhooks().map(\.value.url) == ["https://example.org/ben"])
            let again = try await #require(throws: SyncError.self) {
                try await service.answer(removal)
            }
            #expect(again.code == .unknownItem)
            let kept = try await directory.administration().map(\.value)
            #expect(kept.map(\.call) == ["directory", "directory"])
            #expect(!kept.contains { $0.content.lowercased().contains("ann@") })
            // Whoever has the address can sign up again, as somebody else.
            _ = try await server.signIn("ann")
            #expect(try await directory.account(email: "ann@example.org")?.id != ann.id)
        }
    }

    @Test func `Administrators are listed and removed over the network`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let secret = try await server.server.directory.addAdministrator(name: "first")
            let service = server.administration(secret)
            let second = try await service.answer(AddAdministratorCall("second"))
            let other = server.administration(second)
            let found = try await other.answer(AdministratorsCall())
            #expect(found.map(\.name) == ["first", "second"])
            _ = try await other.answer(RevokeAdministratorCall(found[0].id))
            let error = try await #require(throws: SyncError.self) {
                try await service.answer(AdministratorsCall())
            }
            #expect(error.code == .notAuthenticated)
            await #expect(throws: SyncError.self) {
                try await other.answer(AddAdministratorCall(""))
            }
        }
    }
}
#endif
