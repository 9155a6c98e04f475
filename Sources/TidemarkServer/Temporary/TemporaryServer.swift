// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import ServiceLifecycle
package import Tidemark
import TidemarkLock
package import TidemarkModel
import TidemarkWire

/// A server for one run of a program, on a new store: `tidemark exec`.
///
/// It listens on the loopback interface, on a free port. `POST /tidemark/1/reset` empties it: a new
/// store replaces the old one, with the same API token and the same user, who stays signed in.
package final class TemporaryServer: Sendable {
    /// The current store, and the state that belongs to it.
    private struct Current: Sendable {
        let store: Store
        /// The store's folder.
        let path: String
        let server: Server
        let responder: RouterResponder<ServerContext>
        let counts: RequestCounts
        let token: String
        let webToken: String?
        let person: Person?
    }

    /// The person who is signed in.
    private struct Person: Sendable {
        let account: Account
        /// The id of the session.
        let session: String
    }

    /// The container of the server's own records.
    package static let ownContainer = Registry.container
    /// The path at which it is emptied.
    static let resetPath = "/tidemark/1/reset"

    private let folder: String
    private let container: ContainerID
    private let faults: RequestFaults
    /// The key that signs tokens, which keeps issued tokens valid across resets.
    private let key: Data
    private let current: Lock<Current>
    /// The number of stores that were created.
    private let storeCount = Lock(1)
    /// Stores that were replaced, and are being closed and removed.
    private let removals = Lock<[Task<Void, Never>]>([])

    /// Returns the path of the first store in a folder; an existing one is used.
    package static func firstStore(in folder: String) -> String { store(1, in: folder) }

    private static func store(_ number: Int, in folder: String) -> String {
        "\(folder)/\(number).tide"
    }

    private static func keyFile(inStoreAt path: String) -> String { path + "/server.key" }

    /// Opens the first store in a folder, and prepares its server.
    ///
    /// `user` is an address, or a name, which becomes the address of an account. `fill` adds the
    /// initial content to the store.
    package init(
        in folder: String,
        container: ContainerID,
        user: String?,
        faults: RequestFaults,
        fill: (Store) async throws -> Void
    ) async throws {
        self.folder = folder
        self.container = container
        self.faults = faults
        let person = user.map { user in
            let email = Account.normalized(user.contains("@") ? user : user + "@tidemark.test")
            return Person(
                account: Account(
                    // The same id in each run, so that the person's data can be imported.
                    id: Account.recordName([UInt8].sha256(email).prefix(16).hexadecimal),
                    email: email,
                    givenName: String(user.prefix { $0 != "@" }),
                    familyName: "",
                    password: ""
                ),
                session: [UInt8].random(16).hexadecimal
            )
        }
        let path = Self.firstStore(in: folder)
        let store = try Self.open(path)
        do {
            try await fill(store)
            let first = try await Self.begin(store, at: path, container, person, faults)
            current = Lock(first)
            key = try Data(contentsOf: URL(filePath: Self.keyFile(inStoreAt: path)))
        } catch {
            try? store.close()
            throw error
        }
    }

    private static func open(_ path: String) throws -> Store {
        var options = StoreOptions()
        options.requiresAuthentication = true
        options.journal = .full
        // The store ends with the run, so it need not survive a loss of power.
        options.durability = .none
        return try Store.open(at: path, access: .creating, options: options)
    }

    private static func begin(
        _ store: Store,
        at path: String,
        _ container: ContainerID,
        _ person: Person?,
        _ faults: RequestFaults
    ) async throws -> Current {
        var options = ServerOptions()
        // Tests sign in often, and all from one address.
        options.rateLimits = [:]
        // The passwords of its accounts are no secrets.
        options.passwordCost = 5
        let server = try await Server(store: store, at: path, options: options)
        let directory = server.directory
        let token = try await directory.developmentToken(for: container)
        var webToken: String?
        var person = person
        if let wanted = person {
            // An imported store may have the person's account, which is then kept by every reset.
            let known = try await directory.account(email: wanted.account.email)
            if known == nil { try await directory.add(wanted.account) }
            let account = known ?? wanted.account
            person = Person(account: account, session: wanted.session)
            webToken = try await directory.signIn(
                account,
                to: container,
                in: .development,
                isKept: true,
                session: wanted.session
            )
        }
        let router = Router(context: ServerContext.self)
        server.addRoutes(to: router)
        try await server.push.begin()
        return Current(
            store: store,
            path: path,
            server: server,
            responder: router.buildResponder(),
            counts: RequestCounts(faults),
            token: token,
            webToken: webToken,
            person: person
        )
    }

    /// The text of the API token for the container, in development.
    package var token: String { current.withLock { $0.token } }

    /// A token of the user's session; `nil` if no user was named.
    package var webToken: String? { current.withLock { $0.webToken } }

    /// The store that answers now.
    package var store: Store { current.withLock { $0.store } }

    /// The folder of the store that answers now.
    package var path: String { current.withLock { $0.path } }

    // MARK: Running

    /// Answers requests while a body runs; passes the port to the body, and returns its result.
    ///
    /// The store stays open.
    package func run<Value: Sendable>(
        _ body: @Sendable (Int) async throws -> Value
    ) async throws -> Value {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let quiet = Logger(label: "tidemark") { _ in SwiftLogNoOpLogHandler() }
        let application = Application(
            responder: Responder(server: self),
            server: try current.withLock { $0.server }.serverBuilder(nil),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: 0),
                serverName: nil,
                backlog: 1024
            ),
            onServerRunning: { channel in listening.yield(channel.localAddress?.port ?? 0) },
            logger: quiet
        )
        var configuration = ServiceGroupConfiguration(services: [application], logger: quiet)
        // A request that is still open was started by the body and has outlived it.
        configuration.maximumGracefulShutdownDuration = .milliseconds(500)
        let group = ServiceGroup(configuration: configuration)
        async let ended: Void = Self.run(group, listening)
        guard let port = await ports.first(where: { _ in true }) else {
            try await ended
            throw SyncError(.serviceUnavailable, "The server ended before it accepted connections.")
        }
        let outcome: Result<Value, any Error>
        do {
            outcome = .success(try await body(port))
        } catch {
            outcome = .failure(error)
        }
        // Otherwise the shutdown would wait for listening clients.
        await current.withLock { $0.server }.push.end()
        await group.triggerGracefulShutdown()
        // A service that could not end in time throws; the body's result counts.
        _ = try? await ended
        return try outcome.get()
    }

    private static func run(
        _ group: ServiceGroup,
        _ listening: AsyncStream<Int>.Continuation
    ) async throws {
        defer { listening.finish() }
        try await group.run()
    }

    /// Closes the store, after those before it are closed.
    package func close() async throws {
        // The caller removes the folder afterwards, and a replaced store must not write into it any
        // more.
        for removal in removals.withLock({ $0 }) { await removal.value }
        try store.close()
    }

    // MARK: Requests

    /// Resets the server, or passes a request on to the store of now, with the faults of now.
    private struct Responder: HTTPResponder {
        let server: TemporaryServer

        func respond(to request: Request, context: ServerContext) async throws -> Response {
            let path = request.uri.path
            if path == TemporaryServer.resetPath { return await server.reset(request) }
            // Read once for each request: a reset replaces store, token and faults together, and a
            // request sees only one of the two states.
            let current = server.current.withLock { $0 }
            // A preflight request has no fault: a browser hides its answer from the page.
            guard request.method != .options, let fate = current.counts.next(to: path) else {
                return try await current.responder.respond(to: request, context: context)
            }
            if fate.wait > .zero { try await Task.sleep(for: fate.wait) }
            switch fate.end {
            case .answered:
                return try await current.responder.respond(to: request, context: context)
            case .throttled: return TemporaryServer.throttled(request)
            case .requestLost: return try await lost(context)
            case .answerLost:
                _ = try await current.responder.respond(to: request, context: context)
                return try await lost(context)
            }
        }

        /// Closes the connection, so that nobody receives the response.
        private func lost(_ context: ServerContext) async throws -> Response {
            // The returned response is dropped, because its connection is closed.
            try? await context.channel.close()
            return Response(status: .internalServerError)
        }
    }

    private static func throttled(_ request: Request) -> Response {
        let incoming = Incoming(request, ServerOptions())
        let error = WebError.throttled(
            "This request was rejected on purpose, because of --throttle.",
            retryAfter: 1
        )
        var response = Response(error, incoming)
        if let origin = incoming.origin { response.allow(origin) }
        return response
    }

    private func reset(_ request: Request) async -> Response {
        let incoming = Incoming(request, ServerOptions())
        guard request.method == .post else { return .wrongMethod("POST", incoming) }
        do {
            try await reset()
            return Response(json: Array("{}".utf8), incoming)
        } catch {
            return Response(WebError(any: error), incoming)
        }
    }

    /// Replaces the current store by an empty one.
    private func reset() async throws {
        // No number is used twice, because the folder of a replaced store may still be there.
        let number = storeCount.withLock { count in
            count += 1
            return count
        }
        let path = Self.store(number, in: folder)
        let person = current.withLock { $0.person }
        let store = try Self.open(path)
        let next: Current
        do {
            // Before the server opens its directory, which would create another key. Tokens from
            // before the reset would then be invalid.
            try key.write(to: URL(filePath: Self.keyFile(inStoreAt: path)))
            next = try await Self.begin(store, at: path, container, person, faults)
        } catch {
            try? store.close()
            try? FileManager.default.removeItem(atPath: path)
            throw error
        }
        // Requests that have begun keep the old store until the task below closes it.
        let replaced = current.withLock { current in
            defer { current = next }
            return current
        }
        removals.withLock { removals in
            removals.append(
                Task {
                    await replaced.server.push.end()
                    try? replaced.store.close()
                    try? FileManager.default.removeItem(atPath: replaced.path)
                }
            )
        }
    }
}
#endif
