// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import Tidemark
public import TidemarkDatabase
import TidemarkLock
public import TidemarkModel

/// The credentials of a server: creates, finds and ends tokens, keys, accounts and sessions.
public final class Directory: Sendable {
    let registry: Registry
    let store: Store
    let secret: ServerSecret
    let passwords: Passwords
    let rotation: TokenRotation
    /// The changes of all credentials below.
    let changes: CredentialChanges
    private let knownTokens: CredentialCache<APIToken>
    private let knownKeys: CredentialCache<ServerKey>
    let knownSessions: CredentialCache<Session>
    /// The accounts of people whom issuers know, by the names of their records.
    let knownAccounts: CredentialCache<Account>
    /// The names of the records of API tokens, by their texts.
    private let tokenNames: CheckedTexts<String>
    /// The sessions and times in web tokens whose signatures are right, by their texts.
    let signedTokens: CheckedTexts<(session: String, issued: Int64)>
    let uses = Lock(SessionUses(from: Clock.now()))
    let state = Lock(State())
    /// Held while limits are read and passed to the store.
    ///
    /// The locks of `state` and of the store are taken within it; neither calls anything that takes
    /// this one.
    let quotaOrder = Lock(())
    /// The last change of limits, after which the next one begins.
    let limitChanges = Lock<Task<Void, any Error>?>(nil)

    struct State {
        /// The containers with limits of their own.
        var containers: [ContainerID: ContainerLimits] = [:]
        /// The address of the server, while one runs.
        var address: String?
        /// The time at which sessions were swept last.
        var lastSweep: Int64 = 0
    }

    /// Opens the directory of a store, and creates missing parts unless the store is open for reading.
    public convenience init(
        of store: Store,
        at folder: String,
        rotation: TokenRotation = .lenient
    ) async throws {
        var options = ServerOptions()
        options.tokenRotation = rotation
        try await self.init(of: store, at: folder, options: options)
    }

    /// Opens the directory of a store; `cacheLimit` is the maximum number of entries of each kind
    /// in memory.
    convenience init(
        of store: Store,
        at folder: String,
        options: ServerOptions,
        cacheLimit: Int = 10_000
    ) async throws {
        if store.access == .reading {
            // A reader lists what is there. It signs nothing, and may not be allowed to read the key.
            try await self.init(of: store, ServerSecret(), options, cacheLimit)
            return
        }
        // Before the next line, which creates the key.
        let isNew = !ServerSecret.isThere(inStoreAt: folder)
        try await self.init(of: store, ServerSecret(inStoreAt: folder), options, cacheLimit)
        // Their tokens were signed with another key: the store was restored or forked.
        if isNew { try await end(openSessions()) }
    }

    private init(
        of store: Store,
        _ secret: ServerSecret,
        _ options: ServerOptions,
        _ cacheLimit: Int
    ) async throws {
        self.store = store
        self.secret = secret
        rotation = options.tokenRotation
        passwords = Passwords(cost: options.passwordCost)
        let changes = CredentialChanges()
        self.changes = changes
        knownTokens = CredentialCache(limit: cacheLimit, counting: changes)
        knownKeys = CredentialCache(limit: cacheLimit, counting: changes)
        knownSessions = CredentialCache(limit: cacheLimit, counting: changes)
        knownAccounts = CredentialCache(limit: cacheLimit, counting: changes)
        tokenNames = CheckedTexts(limit: cacheLimit)
        signedTokens = CheckedTexts(limit: cacheLimit)
        registry = try await Registry(store, creating: store.access != .reading)
        try await readLimits()
    }

    // MARK: Tokens

    /// Creates a token and returns its text, which is not stored.
    public func makeToken(
        name: String,
        container: ContainerID,
        environment: Environment,
        origins: [String] = [],
        callback: String? = nil,
        asksDiscoverable: Bool = false
    ) async throws -> String {
        try await makeToken(
            APIToken(
                "",
                name: name,
                container: container,
                environment: environment,
                origins: origins,
                callback: callback,
                asksDiscoverable: asksDiscoverable
            )
        )
    }

    /// Creates a token from a template, whose record name is ignored.
    func makeToken(_ wanted: APIToken) async throws -> String {
        let text = [UInt8].random(32).hexadecimal
        var token = wanted
        token.id = APIToken.recordName(of: text)
        try await register(token)
        return text
    }

    /// Returns the token for trying out a server: the same each time, for the standard container in
    /// development.
    public func developmentToken(for container: ContainerID = .standard) async throws -> String {
        let token = secret.code(of: container.identifier.utf8, for: "development token").hexadecimal
        if try await self.token(token) == nil {
            try await register(
                APIToken(
                    token,
                    name: "development",
                    container: container,
                    environment: .development
                )
            )
        }
        return token
    }

    private func register(_ token: APIToken) async throws {
        try ContainerID(token.container).checkNotReserved()
        for origin in token.origins { try Origin.check(origin) }
        if let callback = token.callback { try Origin.checkCallback(callback) }
        try await registry.tokens.save(token)
    }

    /// Every token, oldest first.
    public func tokens() async throws -> [Stored<APIToken>] {
        try await registry.tokens.all(APIToken.self)
    }

    /// Ends a token, by its text or the name of its record.
    public func revokeToken(_ id: String) async throws {
        guard let name = try await tokenName(id) else {
            throw SyncError(
                .unknownItem,
                "There is no API token \(id).",
                remedy: "Give the token, or what `tidemark tokens list` prints in its first column."
            )
        }
        try await registry.tokens.delete(name)
        knownTokens.drop(name.text)
    }

    /// Returns the name of a token's record, by the token's text or that name; `nil` if there is
    /// none.
    func tokenName(_ id: String) async throws -> RecordName? {
        let names = [APIToken.recordName(of: id), RecordName(id)]
        for name in names where try await registry.tokens.fetchIfPresent(name) != nil {
            return name
        }
        return nil
    }

    /// Returns the token with a text; `nil` if there is none.
    func token(_ text: String) async throws -> APIToken? {
        if let name = tokenNames[text] { return try await token(named: name) }
        let name = APIToken.recordName(of: text).text
        let token = try await token(named: name)
        if token != nil { tokenNames.keep(name, of: text) }
        return token
    }

    /// Returns the token with the name of its record; `nil` if there is none.
    func token(named text: String) async throws -> APIToken? {
        try await knownTokens.credential(text) {
            try await registry.tokens.fetchIfPresent(APIToken.self, RecordName(text))?.value
        }
    }

    // MARK: Keys

    /// Registers the public half of a key, in PEM, and returns the key's id.
    public func addKey(
        _ publicKey: String,
        name: String,
        container: ContainerID,
        environment: Environment
    ) async throws -> String {
        try await addKey(
            ServerKey(
                id: "",
                name: name,
                container: container,
                environment: environment,
                publicKey: publicKey
            )
        )
    }

    /// Registers a key, and returns its id, which is derived from its public half.
    func addKey(_ wanted: ServerKey) async throws -> String {
        try ContainerID(wanted.container).checkNotReserved()
        let id = try ServerKey.id(ofPEM: wanted.publicKey)
        var key = wanted
        key.id = RecordName(id)
        try await registry.keys.save(key, policy: .replace)
        knownKeys.drop(id)
        return id
    }

    /// Every key, oldest first.
    public func keys() async throws -> [Stored<ServerKey>] {
        try await registry.keys.all(ServerKey.self)
    }

    /// Ends a key.
    public func revokeKey(_ id: String) async throws {
        let name = RecordName(id)
        guard !id.isEmpty, try await registry.keys.fetchIfPresent(name) != nil else {
            throw SyncError(
                .unknownItem,
                "There is no key \(id).",
                remedy: "Give the id that `tidemark keys list` prints in its first column."
            )
        }
        try await registry.keys.delete(name)
        knownKeys.drop(id)
    }

    func key(_ id: String) async throws -> ServerKey? {
        guard !id.isEmpty, id.utf8.count <= 128, id.utf8.allSatisfy({ $0.isASCIIWordByte }) else {
            return nil
        }
        return try await knownKeys.credential(id) {
            try await registry.keys.fetchIfPresent(ServerKey.self, RecordName(id))?.value
        }
    }
}
#endif
