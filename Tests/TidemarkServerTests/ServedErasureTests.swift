// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import NIOCore
import TestSupport
import Testing
import Tidemark
import TidemarkAdministration
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// Erasing from a store that a server has open.
@Suite struct ServedErasureTests {
    /// A client that saves notes until it is told to stop.
    private final class Saving: Sendable {
        private let isOver = Lock(false)
        private let saved: (AsyncStream<Void>, AsyncStream<Void>.Continuation) =
            AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))

        func end() { isOver.withLock { $0 = true } }

        /// Waits until something was saved.
        func waitForFirst() async {
            for await _ in saved.0 { break }
        }

        /// The names of the notes that were saved.
        func run(_ server: ServerUnderTest, _ web: String) async throws -> [String] {
            defer { saved.1.finish() }
            var names: [String] = []
            while !isOver.withLock({ $0 }) {
                let name = "n\(names.count)"
                let body = """
                    {"zoneID":{"zoneName":"Notes"},"operations":[{"operationType":"forceReplace",
                    "record":{"recordName":"\(name)","recordType":"Note",
                    "fields":{"title":{"value":"\(name)"}}}}]}
                    """
                let answer = try await server.send(
                    "private/records/modify?clientId=a",
                    body,
                    web: web
                )
                if answer.status == 200 {
                    #expect(!answer.text.contains("serverErrorCode"), "\(answer.text)")
                    names.append(name)
                    saved.1.yield()
                } else {
                    #expect(answer.status == 503)
                    #expect(answer.code == "TRY_AGAIN_LATER")
                    #expect(answer.json["retryAfter"] is Int)
                    #expect(answer.header("Retry-After") != nil)
                    try await Task.sleep(for: .milliseconds(10))
                }
            }
            return names
        }
    }

    /// A transport whose calls do not wait for other requests of the test.
    private struct OwnConnection: AdministrationTransport {
        let port: Int
        let secret: String

        func send(
            _ call: [UInt8],
            to name: String,
            receive: ([UInt8]) async throws -> Void
        ) async throws {
            let url = "http://localhost:\(port)/tidemark/1/administration/\(name)"
            var request = HTTPClientRequest(url: url)
            request.method = .POST
            request.headers.add(name: "Authorization", value: "Bearer \(secret)")
            request.body = .bytes(ByteBuffer(bytes: call))
            let response = try await HTTPClient.shared.execute(request, timeout: .minutes(10))
            let body = try await response.body.collect(upTo: 1 << 20)
            for line in body.readableBytesView.split(separator: UInt8(ascii: "\n")) {
                try await receive(Array(line))
            }
        }
    }

    /// Saves data of a user, with words that are nowhere else in the store.
    private func live(_ store: Store) async throws {
        let user = UserID("_zelda")
        let zone = ZoneID(zoneName: "quagga")
        let caller = Caller(
            database: DatabaseID(owner: user),
            user: user,
            device: "zelda's phone",
            authentication: .administrator(id: "test")
        )
        let zones = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        _ = try zones.saves[0].get()
        for number in 0..<50 {
            try await store.saveNote(
                RecordID(recordName: "quagga \(number)", zone: zone),
                ["title": "A quagga of Zelda's"],
                as: caller
            )
        }
    }

    /// The files of a store that have a word in them, whatever the letters' case.
    private func files(with word: String, in path: String) throws -> [String] {
        let word = Data(word.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: path).filter { name in
            guard let bytes = FileManager.default.contents(atPath: path + "/" + name) else {
                return false
            }
            return Data(bytes.map { $0 >= 65 && $0 <= 90 ? $0 | 32 : $0 }).range(of: word) != nil
        }
    }

    @Test func `A user is erased over HTTP while others save, fetch and listen`() async throws {
        let folder = try ScratchFolder()
        try await ServerUnderTest.run(in: folder) { server in
            let web = try await server.signIn("ann")
            try await server.subscribe(web)
            let stream = try await StreamReader(server, web, client: "b")
            #expect(try await stream.next()?.name == "ready")
            try await live(server.store)
            let secret = try await server.server.directory.addAdministrator(name: "ops")
            let service = RemoteAdministration(
                over: OwnConnection(port: try #require(server.client.port), secret: secret)
            )
            let saving = Saving()
            let saved = Task { try await saving.run(server, web) }
            await saving.waitForFirst()

            let receipt = try await service.answer(ErasureCall(.user(UserID("_zelda"))))
            #expect(receipt.zoneCount == 1)
            #expect(receipt.removedCount > 50)

            saving.end()
            let names = try await saved.value
            #expect(try await server.request("/health/ready").status == 200)
            // The stream that was open before reports each save, and then the next one.
            try await server.save(["last"], web, client: "a")
            var told: Set<String> = []
            while let event = try await stream.next() {
                #expect(event.name == "notification")
                told.insert(event.record ?? "")
                if event.record == "last" { break }
            }
            #expect(told.isSuperset(of: names + ["last"]))
            let answer = try await server.send(
                "private/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Notes"},"resultsLimit":200}]}"#,
                web: web
            )
            #expect(answer.status == 200)
            let zone = try #require(answer.list("zones").first)
            let records = try #require(zone["records"] as? [[String: Any]])
            #expect(records.count == min(200, names.count + 1))
            // The erasure itself is recorded, without the name.
            let calls = try await server.server.directory.administration().map(\.value)
            #expect(calls.map(\.call).contains("erase"))
            #expect(!calls.contains { $0.content.contains("zelda") })
        }
        let path = folder.path("server.tide")
        for word in ["zelda", "quagga"] {
            #expect(try files(with: word, in: path) == [])
        }
        let store = try Store.open(at: path)
        var lines = 0
        try store.visitCommits { line in
            lines += 1
            let text = "\(line)".lowercased()
            #expect(!text.contains("zelda") && !text.contains("quagga"))
            return true
        }
        #expect(lines > 0)
        try store.close()
    }

    @Test func `Recorded calls that name an erased zone lose their content`() async throws {
        try await ServerUnderTest.run { server in
            try await live(server.store)
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = RemoteAdministration(
                over: OwnConnection(port: try #require(server.client.port), secret: secret)
            )
            for (zone, owner) in [
                ("quagga", nil), ("quagga", "_zelda"), ("quagga", "_dan"), ("quagga farm", nil),
            ] as [(String, String?)] {
                var filter = EventsCall.Filter()
                filter.zone = zone
                filter.owner = owner
                _ = try await service.answer(EventsCall(filter)) { _ in }
            }
            let database = DatabaseID(owner: UserID("_zelda"))
            let zone = ZoneID(zoneName: "quagga")
            let receipt = try await service.answer(ErasureCall(.zone(zone, in: database)))
            #expect(receipt.zoneCount == 1)
            let contents = try await directory.administration().map(\.value.content)
            // The last one is the erasure, which is recorded without the name.
            #expect(contents.map(\.isEmpty) == [true, true, false, false, false])
            #expect(contents.last?.contains("quagga") == false)
        }
    }

    @Test func `An erased name that JSON escapes is found in recorded calls`() async throws {
        try await ServerUnderTest.run { server in
            let user = UserID("_qu\"ag\\ga\u{1b}")
            let caller = Caller(
                database: DatabaseID(owner: user),
                user: user,
                device: "a",
                authentication: .administrator(id: "test")
            )
            let zones = try await server.store.modifyZones(
                ModifyZonesRequest(saves: [ZoneID(zoneName: "Notes")]),
                as: caller
            )
            _ = try zones.saves[0].get()
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = RemoteAdministration(
                over: OwnConnection(port: try #require(server.client.port), secret: secret)
            )
            for owner in [user.userRecordName, "_dan"] {
                var filter = EventsCall.Filter()
                filter.zone = "Notes"
                filter.owner = owner
                _ = try await service.answer(EventsCall(filter)) { _ in }
            }
            _ = try await service.answer(ErasureCall(.user(user)))
            let contents = try await directory.administration().map(\.value.content)
            #expect(contents.map(\.isEmpty) == [true, false, false])
        }
    }

    /// Signs Zelda in to two containers, and leaves records, a courier and a webhook; returns her
    /// account and a web token.
    private func liveSignedIn(
        _ server: ServerUnderTest,
        _ service: some AdministrationService
    ) async throws -> (account: Account, web: String) {
        let directory = server.server.directory
        // This call is recorded with the address, as it was typed.
        _ = try await service.answer(
            AdministrationRequest.addAccount(
                email: "Zelda@Example.org",
                password: "a long password",
                givenName: "Quagga",
                familyName: ""
            )
        )
        let account = try #require(try await directory.account(email: "zelda@example.org"))
        let web = try await directory.signIn(account, to: .standard, in: .development)
        try await server.subscribe(web)
        try await server.save(["quagga"], web, client: "a")
        _ = try await server.courier(web, client: "b")
        let other = ContainerID("iCloud.other")
        _ = try await directory.signIn(account, to: other, in: .development)
        for container in [.standard, other] {
            let user = account.user(in: container)
            let caller = Caller(
                database: DatabaseID(container: container, owner: user),
                user: user,
                device: "zelda's phone",
                authentication: .administrator(id: "test")
            )
            let zone = ZoneID(zoneName: "quagga")
            let zones = try await server.store.modifyZones(
                ModifyZonesRequest(saves: [zone]),
                as: caller
            )
            _ = try zones.saves[0].get()
            _ = try await directory.addWebhook(
                Webhook(
                    url: "https://example.org/quagga",
                    container: container,
                    environment: .development,
                    user: user.userRecordName
                )
            )
        }
        return (account, web)
    }

    @Test func `An account is erased over HTTP, with its users in all containers`() async throws {
        let folder = try ScratchFolder()
        let words = Lock(["zelda", "quagga"])
        try await ServerUnderTest.run(in: folder) { server in
            let directory = server.server.directory
            let secret = try await directory.addAdministrator(name: "ops")
            let service = RemoteAdministration(
                over: OwnConnection(port: try #require(server.client.port), secret: secret)
            )
            let ben = try await server.signIn("ben")
            try await server.subscribe(ben)
            try await server.save(["kept"], ben, client: "a")
            let (account, web) = try await liveSignedIn(server, service)
            words.withLock { words in
                words += [
                    account.id.text, account.password.lowercased(),
                    AccountAddress.recordName(of: account.email).text,
                    account.user(in: .standard).userRecordName,
                    account.user(in: ContainerID("iCloud.other")).userRecordName,
                ]
            }
            func isIn(_ web: String) async throws -> Bool {
                try await server.send("private/zones/list", web: web).status == 200
            }
            let subject = ErasureSubject.user(UserID(account.id.text))
            let estimate = try await service.answer(ErasureCall(subject, isDryRun: true))
            #expect(estimate.removedCount > 0)
            #expect(try await isIn(web))

            let receipt = try await service.answer(ErasureCall(subject))
            // Nothing that stays names the account: its records, and those of its users, are gone.
            #expect(receipt.mentionCount == 0)
            #expect(receipt.zoneCount >= 3)
            #expect(try await isIn(web) == false)
            #expect(try await isIn(ben))
            #expect(try await directory.accounts().map(\.value.email) == ["ben@example.org"])
            #expect(try await directory.webhooks().isEmpty)
            let couriers = try await directory.registry.couriers.all(CourierToken.self)
            #expect(couriers.isEmpty)
            // What administrators did is still known, but not to whom.
            let calls = try await directory.administration().map(\.value)
            #expect(calls.map(\.call) == ["directory", "erase", "erase"])
            #expect(calls[0].content.isEmpty && !calls[1].content.isEmpty)
        }
        let path = folder.path("server.tide")
        let store = try Store.open(at: path)
        var texts: [String] = []
        try store.visitCommits { line in
            texts.append("\(line)".lowercased())
            return true
        }
        try store.close()
        #expect(texts.contains { $0.contains("ben@example.org") })
        for word in words.withLock(\.self) {
            #expect(try files(with: word, in: path) == [], "\(word)")
            #expect(!texts.contains { $0.contains(word) }, "\(word)")
        }
    }
}
#endif
