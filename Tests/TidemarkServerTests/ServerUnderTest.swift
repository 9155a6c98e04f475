// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import TestSupport
import Tidemark
import TidemarkModel
import Tracing

@testable import TidemarkServer

/// A server on a store of its own, and people who can sign in to it.
struct ServerUnderTest {
    let server: Server
    let store: Store
    /// The store's folder.
    let folder: String
    /// A token for the standard container in development.
    let token: String
    let client: PatientClient
    let key: P256.Signing.PrivateKey
    let keyID: String

    static let path = "/database/1/iCloud.tidemark/development/"

    /// Runs a body with a server; over a real socket unless told otherwise.
    static func run(
        _ setup: TestingSetup = .live,
        options: ServerOptions = ServerOptions(),
        in scratch: ScratchFolder? = nil,
        observer: (any StoreObserver)? = nil,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        tracer: any Tracer = NoOpTracer(),
        _ body: @Sendable (ServerUnderTest) async throws -> Void
    ) async throws {
        let folder = try scratch ?? ScratchFolder()
        let path = folder.path("server.tide")
        var storeOptions = StoreOptions()
        storeOptions.requiresAuthentication = true
        let store = try Store.open(
            at: path,
            access: .creating,
            options: storeOptions,
            observer: observer
        )
        // A hash of the standard cost takes a debug build half a second.
        var options = options
        options.passwordCost = 5
        let server = try await Server(
            store: store,
            at: path,
            options: options,
            logger: logger,
            tracer: tracer
        )
        let token = try await server.directory.developmentToken()
        let key = P256.Signing.PrivateKey()
        let keyID = try await server.directory.addKey(
            key.publicKey.pemRepresentation,
            name: "importer",
            container: .standard,
            environment: .development
        )
        try await server.push.begin()
        try await server.makeApplication().test(setup) { client in
            do {
                try await PatientClient.run(over: client) { client in
                    try await body(
                        ServerUnderTest(
                            server: server,
                            store: store,
                            folder: path,
                            token: token,
                            client: client,
                            key: key,
                            keyID: keyID
                        )
                    )
                }
            } catch {
                await server.push.end()
                throw error
            }
            // Before the application waits for open requests, as in a server that is run.
            await server.push.end()
        }
        try store.close()
    }

    /// Makes an account and signs it in; returns the first web token.
    func signIn(_ name: String, isDiscoverable: Bool = false) async throws -> String {
        let email = "\(name)@example.org"
        var account = try await server.directory.account(email: email)
        if account == nil {
            account = try await server.directory.addAccount(
                email: email,
                password: "a long password of \(name)",
                givenName: name.capitalized,
                isDiscoverable: isDiscoverable
            )
        }
        guard let account else { throw Missing() }
        return try await server.directory.signIn(account, to: .standard, in: .development)
    }

    /// Makes another token.
    func makeToken(
        _ name: String,
        for container: ContainerID = .standard,
        in environment: TidemarkModel.Environment = .development
    ) async throws -> String {
        try await server.directory.makeToken(
            name: name,
            container: container,
            environment: environment
        )
    }

    struct Missing: Error {}

    /// A caller in the private database of a signed-in user, for whom the test vouches.
    func caller(_ web: String) async throws -> Caller {
        let answer = try await send("private/users/current", web: web)
        guard let name = answer.json["userRecordName"] as? String else { throw Missing() }
        return Caller(
            database: DatabaseID(owner: UserID(name)),
            user: UserID(name),
            authentication: .administrator(id: "test")
        )
    }

    /// Sends a request, with a token of the app and, for a user, of the session.
    func send(
        _ endpoint: String,
        _ body: String = "",
        _ method: HTTPRequest.Method = .post,
        web: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        let session = web.map { "&ckWebAuthToken=\($0)" } ?? ""
        let separator = endpoint.contains("?") ? "&" : "?"
        return try await request(
            "\(Self.path)\(endpoint)\(separator)ckAPIToken=\(token)\(session)",
            method,
            Array(body.utf8),
            headers
        )
    }

    /// Sends a request that the server's key has signed.
    func sendSigned(_ endpoint: String, _ body: String = "") async throws -> Answer {
        let path = Self.path + endpoint
        return try await request(path, .post, Array(body.utf8), signature(of: body, for: path))
    }

    /// The fields that sign a request.
    func signature(of body: String, for path: String, at time: Date = Date()) throws -> HTTPFields {
        let date = time.formatted(.iso8601)
        let hash =
            body.isEmpty ? "" : Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
        let signature = try key.signature(for: Data("\(date):\(hash):\(path)".utf8))
        var fields = HTTPFields()
        for (name, value) in [
            ("X-Apple-CloudKit-Request-KeyID", keyID),
            ("X-Apple-CloudKit-Request-ISO8601Date", date),
            (
                "X-Apple-CloudKit-Request-SignatureV1",
                signature.derRepresentation.base64EncodedString()
            ),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }

    /// Sends a request to any path.
    func request(
        _ uri: String,
        _ method: HTTPRequest.Method = .get,
        _ body: [UInt8] = [],
        _ headers: HTTPFields = [:]
    ) async throws -> Answer {
        try await client.execute(
            uri: uri,
            method: method,
            headers: headers,
            body: ByteBuffer(bytes: body)
        )
    }

    /// The path of an address of the server, which is reached at another host here.
    static func path(of url: String) -> String {
        guard let scheme = url.range(of: "://"),
            let slash = url[scheme.upperBound...].firstIndex(of: "/")
        else { return url }
        return String(url[slash...])
    }
}

/// The answer to a request.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }

    /// The objects of a list in the answer.
    func list(_ name: String) -> [[String: Any]] { json[name] as? [[String: Any]] ?? [] }

    /// The code of an answer that is nothing but an error.
    var code: String? { json["serverErrorCode"] as? String }

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}

extension Store {
    /// Saves a note, over any version of it.
    func saveNote(_ id: RecordID, _ fields: Fields, as caller: Caller) async throws {
        let save = RecordSave(id, type: "Note", fields: fields, policy: .allKeys)
        let result = try await modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller)
        _ = try result.saves[0].get()
    }
}
#endif
