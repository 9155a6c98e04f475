// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import ServiceConformance
import TestSupport
import Testing
import Tidemark
import TidemarkDatabase
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkClient
@testable import TidemarkServer

/// `/tidemark/1/…` and the client that calls it.
@Suite struct ServiceTests {
    @Test(arguments: ServerHost.allCases)
    func `The service fulfils every promise`(host: ServerHost) async throws {
        try await host.run { hosted in
            for (number, promise) in ServicePromise.allCases.enumerated() {
                let others = hosted.withOthers("-\(number)")
                await #expect(throws: Never.self, "\(promise.testDescription)") {
                    try await promise.check(others)
                }
                await others.close()
            }
        }
    }

    // MARK: Who asks

    /// An operator's command without `--owner` writes to this database, as the README does.
    @Test func `The database of the default owner is open to nobody who has signed in`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let own = Caller(
                database: .standard,
                user: .current,
                authentication: .administrator(id: "test")
            )
            let id = RecordID(recordName: "secret")
            try await server.store.saveNote(id, ["text": "hidden"], as: own)
            let web = try await server.signIn("ben")
            let fetch = try WireCoding.bytes(of: FetchRecordsRequest([id]))
            let changes = try WireCoding.bytes(of: ZoneChangesRequest(zone: .default))
            let owner = try #require(HTTPField.Name(HeaderValue.owner))
            for scope in ["private", "shared"] {
                for (method, body) in [("fetchRecords", fetch), ("zoneChanges", changes)] {
                    let answer = try await server.request(
                        "/tidemark/1/iCloud.tidemark/development/\(scope)/\(method)"
                            + "?ckAPIToken=\(server.token)&ckWebAuthToken=\(web)",
                        .post,
                        body,
                        [owner: "__defaultOwner__", .contentType: WireForm.json.mediaType]
                    )
                    #expect(!answer.text.contains("\"body\""), "\(scope) \(method)")
                    if scope == "private" { #expect(answer.status == 200, "\(answer.text)") }
                }
            }
            // Nor does the store let a server ask for it.
            var caller = try await server.caller(web)
            caller.authentication = .session(id: "x")
            caller.database = .standard
            let refused = await #expect(throws: SyncError.self) {
                try await server.store.fetchRecords(FetchRecordsRequest([id]), as: caller)
            }
            #expect(refused?.code == .permissionFailure)
        }
    }

    @Test(arguments: [ServerHost.router, .socketJSON])
    func `No caller can impersonate a user or read their database`(host: ServerHost) async throws {
        try await host.run { hosted in
            let anna = try await hosted.device("anna")
            try await anna.createZone()
            try await anna.save("r", ["n": 1])
            let service = try await hosted.service(of: "ben")
            let stolen = HostedDevice(service: service, caller: anna.caller)
            let error = try await #require(throws: SyncError.self) { try await stolen.fetch("r") }
            #expect(error.code == .notAuthenticated)
            var curious = HostedDevice(service: service, caller: Caller(user: .current))
            #expect(
                try await service.currentUser(as: curious.caller)
                    == hosted.user("ben")
            )
            await #expect(throws: SyncError.self) {
                try await curious.fetch("r")
            }
            curious.caller.database = DatabaseID(owner: hosted.user("anna"))
            let refused = try await #require(throws: SyncError.self) {
                try await curious.fetch("r")
            }
            let direct = try await #require(throws: SyncError.self) {
                var caller = curious.caller
                caller.user = hosted.user("ben")
                caller = hosted.trusted(caller)
                _ = try await hosted.store.fetchRecords(
                    FetchRecordsRequest([curious.id("r")]),
                    as: caller
                )
            }
            #expect(refused == direct)
        }
    }

    @Test func `An anonymous reader reads the public database, and gets a sign-in link`()
        async throws
    {
        try await ServerHost.socket.run { hosted in
            let connection = try hosted.connect(.apiToken(hosted.server.token))
            let service = connection.service
            let open = Caller(database: DatabaseID(scope: .public), user: nil)
            #expect(try await service.zones(as: open).count == 1)
            let error = try await #require(throws: SyncError.self) {
                try await service.zones(as: Caller(user: .current))
            }
            #expect(error.code == .notAuthenticated)
            #expect(error.remedy.hasPrefix("Sign in at http"))
            await connection.close()
            let stranger = try hosted.connect(.apiToken("none"))
            let refused = try await #require(throws: SyncError.self) {
                try await stranger.service.zones(as: open)
            }
            #expect(refused.code == .notAuthenticated)
            await stranger.close()
        }
    }

    @Test(arguments: [ServerHost.socket, .socketJSON])
    func `A server's key signs every kind of call`(host: ServerHost) async throws {
        try await host.run { hosted in
            let key = hosted.server.key.pemRepresentation
            let connection = try hosted.connect(
                .serverKey(id: hosted.server.keyID, privateKey: key)
            )
            let open = Caller(database: DatabaseID(scope: .public))
            let device = HostedDevice(service: connection.service, caller: open)
            var importer = device
            importer.zone = .default
            try await importer.save("shop", ["n": 1])
            #expect(try await importer.fetch("shop")["n"] == 1)
            let asset = try await importer.service.uploadAsset([1, 2, 3], as: open)
            let first = try await importer.save("shop", ["file": .asset(asset)], policy: .allKeys)
            let request = DownloadAssetRequest(first.recordID, field: "file")
            let download = try await importer.service.downloadAsset(request, as: open)
            #expect(try await download.bytes() == [1, 2, 3])
            // Not for what belongs to somebody.
            await #expect(throws: SyncError.self) {
                try await connection.service.zones(as: Caller(user: .current))
            }
            await connection.close()
            let other = P256.Signing.PrivateKey().pemRepresentation
            let forged = try hosted.connect(.serverKey(id: hosted.server.keyID, privateKey: other))
            let error = try await #require(throws: SyncError.self) {
                try await forged.service.zones(as: open)
            }
            #expect(error.code == .notAuthenticated)
            await forged.close()
        }
        #expect(throws: SyncError.self) { try Credentials.serverKey(id: "k", privateKey: "no key") }
    }

    @Test func `A renewed token is kept and reported`() async throws {
        try await ServerHost.socket.run { hosted in
            let told = Lock([String]())
            var options = ConnectionOptions()
            options.onWebAuthToken = { token in told.withLock { $0.append(token) } }
            let first = try await hosted.signIn("anna")
            let connection = try hosted.connect(
                .user(apiToken: hosted.server.token, webAuthToken: first),
                options
            )
            // The time is in the token.
            try await Task.sleep(for: .milliseconds(2))
            _ = try await connection.service.zones(as: Caller())
            let last = try #require(connection.webAuthToken)
            #expect(last != first)
            #expect(told.withLock { $0 } == [last])
            // Anonymous calls are made without it.
            let open = Caller(database: DatabaseID(scope: .public), user: nil)
            _ = try await connection.service.zones(as: open)
            #expect(connection.webAuthToken == last)
            await connection.close()
        }
    }

    @Test func `The caller's properties are logged, also with non-ASCII characters`() async throws {
        try await ServerHost.socket.run { hosted in
            var anna = try await hosted.device("anna", "Annas \u{1F4F1} & Ähnliches")
            try await anna.createZone()
            anna.caller.build = "1.0 ½"
            anna.caller.requestID = "Wunsch 7%ä"
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            anna.caller.trace = TraceContext(traceparent: trace)
            let saved = try await anna.save("r", ["n": 1])
            #expect(saved.modified.device == anna.caller.device)
            var found = false
            try hosted.store.visitCommits { line in
                if line.requestID == anna.caller.requestID {
                    found = line.build == anna.caller.build && line.device == anna.caller.device
                }
                return true
            }
            #expect(found)
        }
    }

    // MARK: Requests that are no calls

    @Test func `Every invalid path, form and method gets an error in its place`() async throws {
        try await ServerHost.socket.run { hosted in
            let server = hosted.server
            let web = try await hosted.signIn("anna")
            let base = "/tidemark/1/iCloud.tidemark/development/private/"
            let end = "?ckAPIToken=\(server.token)&ckWebAuthToken=\(web)"
            func send(
                _ path: String,
                _ body: [UInt8] = Array("{}".utf8),
                _ type: String = "application/json",
                _ method: HTTPRequest.Method = .post
            ) async throws -> (status: Int, error: SyncError?) {
                let answer = try await server.request(path, method, body, [.contentType: type])
                return (answer.status, SyncError(wire: answer.body))
            }
            #expect(try await send(base + "zones" + end).status == 200)
            for path in [
                base + "none" + end, base + "zones/more" + end,
                "/tidemark/1/a/b/private/zones" + end,
                "/tidemark/1/iCloud.tidemark/development/secret/zones" + end,
            ] {
                let (status, error) = try await send(path)
                #expect(status == 400, "\(path)")
                #expect(error?.code == .invalidArguments, "\(path)")
            }
            #expect(
                try await send(base + "zones" + end, [], "application/json", .get).status == 400
            )
            for (method, type) in [
                ("zones", "application/vnd.tidemark.records"), ("zoneChanges", "text/plain"),
                ("zones", ""),
            ] {
                let (status, error) = try await send(base + method + end, [], type)
                #expect(status == 415)
                #expect(error?.code == .incompatibleVersion)
            }
            for type in WireForm.allCases {
                let body = [UInt8](repeating: 9, count: 40)
                let (status, error) = try await send(
                    base + "zoneChanges" + end,
                    body,
                    type.mediaType
                )
                #expect(status == 400)
                #expect(error?.code == .invalidArguments)
            }
            let large = [UInt8](repeating: 32, count: 5 << 20)
            let (_, error) = try await send(base + "zones" + end, large)
            #expect(error?.code == .limitExceeded)
            // Uploads say what they are for, and other tokens are for other places.
            #expect(try await send(base + "uploadAsset" + end).error?.code == .invalidArguments)
            let elsewhere = base.replacing("development", with: "production")
            #expect(try await send(elsewhere + "zones" + end).error?.code == .notAuthenticated)
        }
    }

    @Test func `Generated bytes get an error of the service in both forms`() async throws {
        try await ServerHost.router.run { hosted in
            let connection = try await hosted.connection(of: "anna")
            let transport = HTTPTransport(connection)
            var random = SeededGenerator(seed: 25)
            for round in 0..<(runsLongTests ? 20_000 : 300) {
                let method = try #require(DatabaseMethods.all.randomElement(using: &random))
                let form: WireForm =
                    method.has(.records) && Bool.random(using: &random) ? .records : .json
                let count = Int.random(in: 0..<300, using: &random)
                var bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                if form == .records {
                    bytes = [1, UInt8.random(in: 1...6, using: &random)] + bytes
                }
                if form == .json, round % 2 == 0 { bytes = Array("{\"zone\":\(round)}".utf8) }
                do throws(SyncError) {
                    _ = try await transport.send(
                        WireMessage(form, bytes),
                        to: method.name,
                        as: Caller()
                    )
                } catch {
                    #expect(error.code != .internalError, "\(method.name): \(error)")
                }
            }
        }
    }

    // MARK: The way

    @Test func `Lost requests and responses are retried, and each save exists once`() async throws {
        try await ServerHost.socket.run { hosted in
            let web = try await hosted.signIn("anna")
            var options = ConnectionOptions()
            options.patience = Patience(repetitions: 50, wait: { _ in })
            options = options.resolved(for: "localhost")
            let real = try AsyncHTTPSender(options, connectionLimit: 8, pause: .seconds(20))
            let losing = LosingSender(real, percent: 40)
            let connection = try ServerConnection(
                to: "http://localhost:\(hosted.server.client.port ?? 0)",
                credentials: .user(apiToken: hosted.server.token, webAuthToken: web),
                options: options,
                requests: losing,
                streams: losing
            )
            let anna = HostedDevice(
                service: connection.service,
                caller: Caller(user: hosted.user("anna"), device: "phone")
            )
            try await anna.createZone()
            for number in 0..<40 { try await anna.save("r\(number)", ["n": 1]) }
            #expect(try await anna.changes(limit: 7).changes.count == 40)
            var count = 0
            try hosted.store.visitCommits { line in
                if line.database.container == .standard, line.requestID != nil { count += 1 }
                return true
            }
            #expect(count == 41)
            #expect(losing.lostCount > 20)
            await connection.close()
        }
    }

    @Test func `A server without the binary form is sent JSON`() async throws {
        try await ServerHost.socket.run { hosted in
            let web = try await hosted.signIn("anna")
            let options = ConnectionOptions().resolved(for: "localhost")
            let real = try AsyncHTTPSender(options, connectionLimit: 8, pause: .seconds(20))
            let old = OldServerSender(sender: real)
            let connection = try ServerConnection(
                to: "http://localhost:\(hosted.server.client.port ?? 0)",
                credentials: .user(apiToken: hosted.server.token, webAuthToken: web),
                options: options,
                requests: old,
                streams: old
            )
            let anna = HostedDevice(service: connection.service, caller: Caller())
            #expect(connection.form == .records)
            try await anna.createZone()
            try await anna.save("r", ["n": 1])
            #expect(connection.form == .json)
            #expect(try await anna.changes().changes.count == 1)
            await connection.close()
        }
    }

    @Test func `Streams do not use connections that requests need`() async throws {
        try await ServerHost.socket.run { hosted in
            let anna = try await hosted.device("anna")
            try await anna.createZone()
            let token = try await anna.service.notificationToken(as: anna.caller)
            // AsyncHTTPClient has eight connections for a host.
            var streams: [AsyncThrowingStream<TidemarkModel.Subscription.Push, any Error>] = []
            for _ in 0..<20 {
                streams.append(
                    try await anna.service.notifications(since: token, as: anna.caller)
                )
            }
            for number in 0..<5 { try await anna.save("r\(number)", ["n": 1]) }
            #expect(try await anna.changes().changes.count == 5)
            withExtendedLifetime(streams) {}
        }
    }

    @Test func `A cancelled call ends, and a call without a server fails`() async throws {
        try await ServerHost.socket.run { hosted in
            let anna = try await hosted.device("anna")
            let token = try await anna.service.notificationToken(as: anna.caller)
            let stream = try await anna.service.notifications(since: token, as: anna.caller)
            // Nothing is told: it would wait until the server ends.
            let hearing = Task { for try await _ in stream {} }
            hearing.cancel()
            _ = await hearing.result
        }
        var options = ConnectionOptions()
        options.patience = Patience(repetitions: 1, wait: { _ in })
        options.connectTimeout = .seconds(3_600)
        let nowhere = try ServerConnection(
            to: "http://127.0.0.1:1",
            credentials: .apiToken("a"),
            options: options
        )
        let start = ContinuousClock.now
        let error = try await #require(throws: SyncError.self) {
            try await nowhere.service.zones(as: Caller())
        }
        #expect(error.code == .networkUnavailable)
        // The server's machine refuses at once, and nobody waits for the time for connecting.
        #expect(ContinuousClock.now - start < .seconds(600))
        await nowhere.close()
        for address in ["", "localhost", "ftp://h", "http://", "http://u:p@h", "http://h?q"] {
            #expect(throws: SyncError.self, "\(address)") {
                try ServerConnection(to: address, credentials: .apiToken("a"))
            }
        }
    }

    @Test func `An upload may take longer than a stream may be silent`() async throws {
        try await ServerHost.socket.run { hosted in
            var options = ConnectionOptions()
            options.streamTimeout = .seconds(1)
            let web = try await hosted.signIn("anna")
            let connection = try ServerConnection(
                to: "http://localhost:\(hosted.server.client.port ?? 0)",
                credentials: .user(apiToken: hosted.server.token, webAuthToken: web),
                options: options
            )
            let pieces = AsyncStream(unfolding: { [count = Lock(0)] () -> [UInt8]? in
                try? await Task.sleep(for: .milliseconds(500))
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number <= 4 ? [UInt8(number)] : nil
            })
            let anna = Caller(user: hosted.user("anna"), device: "phone")
            let asset = try await connection.service.uploadAsset(
                pieces,
                UploadAssetRequest(),
                as: anna
            )
            #expect(asset.byteCount == 4)
            await connection.close()
        }
    }

    @Test func `A rate-limited call waits as long as the server requests`() async throws {
        var options = ServerOptions()
        options.rateLimits[.user] = Throttling.Rate(1, per: .seconds(9))
        try await ServerHost.socket.run(options: options) { hosted in
            let waits = Lock([Duration]())
            var options = ConnectionOptions()
            options.patience = Patience(wait: { wait in
                waits.withLock { $0.append(wait) }
                throw CancellationError()
            })
            let web = try await hosted.signIn("anna")
            let connection = try hosted.connect(
                .user(apiToken: hosted.server.token, webAuthToken: web),
                options
            )
            let error = try await #require(throws: SyncError.self) {
                while true { _ = try await connection.service.zones(as: Caller()) }
            }
            #expect(error.code == .requestRateLimited)
            #expect(waits.withLock { $0 } == [try #require(error.retryAfter)])
            await connection.close()
        }
    }

    @Test func `A failed upload leaves nothing, and a rejected one ends`() async throws {
        struct Broken: Error {}
        try await ServerHost.socket.run { hosted in
            let anna = try await hosted.device("anna")
            try await anna.createZone()
            let request = UploadAssetRequest(zone: anna.zone)
            let broken = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([UInt8](repeating: 1, count: 100_000))
                continuation.finish(throwing: Broken())
            }
            await #expect(throws: SyncError.self) {
                try await anna.service.uploadAsset(broken, request, as: anna.caller)
            }
            // Nobody has the zone: the answer comes while there are pieces left.
            let nowhere = UploadAssetRequest(zone: ZoneID(zoneName: "none"))
            let piece = [UInt8](repeating: 1, count: 1 << 20)
            let long = AsyncStream<[UInt8]> { continuation in
                for _ in 0..<64 { continuation.yield(piece) }
                continuation.finish()
            }
            let error = try await #require(throws: SyncError.self) {
                try await anna.service.uploadAsset(long, nowhere, as: anna.caller)
            }
            #expect([.zoneNotFound, .networkFailure].contains(error.code), "\(error)")
            // Pieces that nobody takes are not read either.
            let count = Lock(0)
            let endless = AsyncStream(unfolding: { () -> [UInt8]? in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return number <= 100_000 ? piece : nil
            })
            await #expect(throws: SyncError.self) {
                try await anna.service.uploadAsset(endless, nowhere, as: anna.caller)
            }
            #expect(count.withLock { $0 } < 10_000)
            let good = try await anna.service.uploadAsset([1, 2], request, as: anna.caller)
            #expect(good.byteCount == 2)
        }
    }
}

/// Loses requests and answers by seed, as a bad network does.
private final class LosingSender: HTTPSender {
    private let sender: any HTTPSender
    private let percent: Int
    private let state = Lock((random: SeededGenerator(seed: 3), lost: 0))

    init(_ sender: any HTTPSender, percent: Int) {
        self.sender = sender
        self.percent = percent
    }

    var lostCount: Int { state.withLock { $0.lost } }

    private func loses() -> Bool {
        state.withLock { state in
            guard Int.random(in: 0..<100, using: &state.random) < percent else { return false }
            state.lost += 1
            return true
        }
    }

    func send(_ request: OutgoingRequest) async throws(SyncError) -> IncomingAnswer {
        if loses() { throw SyncError(.networkFailure, "The request was lost.") }
        let answer = try await sender.send(request)
        if loses() {
            _ = try await answer.body.all(upTo: .max)
            throw SyncError(.networkFailure, "The answer was lost.")
        }
        return answer
    }

    func close() async { await sender.close() }
}

/// Refuses the binary form, as a server does that does not have it.
private struct OldServerSender: HTTPSender {
    let sender: any HTTPSender

    private struct Nowhere: IncomingBody {
        func all(upTo limit: Int) async throws(SyncError) -> [UInt8] { [] }
        func pieces() -> @Sendable () async throws(SyncError) -> [UInt8]? { { nil } }
    }

    func send(_ request: OutgoingRequest) async throws(SyncError) -> IncomingAnswer {
        if case .message(let message) = request.body, message.form == .records {
            return IncomingAnswer(status: 415, header: { _ in nil }, body: Nowhere())
        }
        return try await sender.send(request)
    }

    func close() async { await sender.close() }
}
#endif
