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
    private let passwords: Passwords
    private let rotation: TokenRotation
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
    private let signedTokens: CheckedTexts<(session: String, issued: Int64)>
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

    // MARK: Accounts

    /// Creates an account.
    ///
    /// Throws `constraintViolation` for an address that another account has.
    @discardableResult
    public func addAccount(
        email: String,
        password: String,
        givenName: String = "",
        familyName: String = "",
        isDiscoverable: Bool = false
    ) async throws -> Account {
        let address = try Account.address(email)
        try Self.check(password)
        let id = [UInt8].random(16).hexadecimal
        let account = Account(
            id: Account.recordName(id),
            email: address,
            givenName: givenName,
            familyName: familyName,
            password: try await passwords.hash(password),
            isDiscoverable: isDiscoverable
        )
        try await add(account)
        return account
    }

    /// Adds an account as it is; without a password hash, its password cannot be used to sign in.
    func add(_ account: Account) async throws {
        do {
            try await registry.accounts.modify { batch in
                batch.save(
                    AccountAddress(
                        id: AccountAddress.recordName(of: account.email),
                        account: account.id.text
                    )
                )
                batch.save(account)
            }
        } catch let error as SyncError where error.code == .serverRecordChanged {
            throw SyncError(
                .constraintViolation,
                "An account with the address \(account.email) already exists.",
                remedy: "Sign in, or ask an administrator for a new password."
            )
        }
    }

    private static func check(_ password: String) throws {
        guard (8...200).contains(password.utf8.count) else {
            throw SyncError(.invalidArguments, "A password must have 8 to 200 bytes.")
        }
    }

    /// Every account, oldest first.
    public func accounts() async throws -> [Stored<Account>] {
        try await registry.accounts.all(Account.self)
    }

    /// Returns the account with an address; `nil` if there is none.
    public func account(email: String) async throws -> Account? {
        let name = AccountAddress.recordName(of: email)
        guard
            let address = try await registry.accounts.fetchIfPresent(AccountAddress.self, name)
        else { return nil }
        return try await account(named: address.account)
    }

    /// Returns the account with an address; throws if there is none.
    func existingAccount(_ email: String) async throws -> Account {
        do {
            if let account = try await account(email: email) { return account }
        } catch let error as SyncError where error.code == .zoneNotFound {
            // No server has had the store open for writing.
        }
        throw Self.noAccount(email)
    }

    func account(named name: String) async throws -> Account? {
        try await registry.accounts.fetchIfPresent(Account.self, RecordName(name))?.value
    }

    /// Returns the account with an address and a password; `nil` if there is none.
    ///
    /// Both results take the same time.
    func account(email: String, password: String) async throws -> Account? {
        let account = try await account(email: email)
        let matches = try await passwords.matches(password, account?.password)
        guard matches, let account, !account.isLocked else { return nil }
        return account
    }

    /// Sets a password, and ends all sessions.
    public func setPassword(_ password: String, ofAccount email: String) async throws {
        try await setPassword(password, ofAccount: email, replacing: nil)
    }

    /// Sets a password if the hash of the old one is still the given one, and ends all sessions.
    func setPassword(
        _ password: String,
        ofAccount email: String,
        replacing old: String?
    ) async throws {
        try Self.check(password)
        let account = try await accountWithPassword(email)
        let hash = try await passwords.hash(password)
        // The password changes first. In the other order, the old password could begin a session
        // after the others have ended.
        try await registry.accounts.update(Account.self, account.id) { account in
            if let old, account.password != old {
                throw SyncError(.notAuthenticated, "The password has been changed meanwhile.")
            }
            account.password = hash
        }
        try await endSessions(ofAccount: account.id.text)
    }

    /// Locks or unlocks an account; locking ends all its sessions.
    public func setLocked(_ isLocked: Bool, account email: String) async throws {
        let account = try await existingAccount(email)
        try await registry.accounts.update(Account.self, account.id) { $0.isLocked = isLocked }
        knownAccounts.drop(account.id.text)
        if isLocked { try await endSessions(ofAccount: account.id.text) }
    }

    private static func noAccount(_ email: String) -> SyncError {
        SyncError(
            .unknownItem,
            "There is no account with the address \(email).",
            remedy: "Give an address that `tidemark accounts list` prints."
        )
    }

    // MARK: Sessions

    /// Signs a user in to a container, and returns the first token of the session.
    ///
    /// `isDiscoverable` is the person's answer whether others may find them in this container; without
    /// an answer, the one before remains.
    public func signIn(
        _ account: Account,
        to container: ContainerID,
        in environment: Environment,
        isKept: Bool = false,
        isDiscoverable: Bool? = nil
    ) async throws -> String {
        try await signIn(
            account,
            to: container,
            in: environment,
            isKept: isKept,
            isDiscoverable: isDiscoverable,
            session: nil
        )
    }

    /// Signs a user in, in a session with an id of 32 hexadecimal digits.
    ///
    /// Throws the errors of ``begin(_:user:in:_:isKept:session:)``.
    func signIn(
        _ account: Account,
        to container: ContainerID,
        in environment: Environment,
        isKept: Bool,
        isDiscoverable: Bool? = nil,
        session: String?
    ) async throws -> String {
        let user = account.user(in: container)
        let id = session ?? [UInt8].random(16).hexadecimal
        let token = try await begin(
            account,
            user: user.userRecordName,
            in: container,
            environment,
            isKept: isKept,
            session: id
        )
        try await introduce(account, as: user, container, environment, isDiscoverable)
        return token
    }

    /// Begins a session and returns its first token; the default id is random.
    ///
    /// Throws `unknownItem` if the account was removed, and `notAuthenticated` if it was locked or
    /// has another password since it was read.
    func begin(
        _ account: Account,
        user: String,
        in container: ContainerID,
        _ environment: Environment,
        isKept: Bool,
        session id: String? = nil
    ) async throws -> String {
        let session = Session(
            id: RecordName(id ?? [UInt8].random(16).hexadecimal),
            account: account.id.text,
            user: user,
            container: container.identifier,
            environment: environment.rawValue,
            isKept: isKept
        )
        try await sweepSessionsNowAndThen()
        // First: without a use, a session that is there may look as if it had expired.
        uses.withLock { $0.begin(session, now: Clock.now()) }
        try await registry.sessions.save(session)
        do {
            try await confirm(account)
        } catch {
            try await registry.sessions.delete(session.id)
            throw error
        }
        return webToken(of: session)
    }

    /// Throws unless an account still admits a person whose password was checked earlier.
    ///
    /// Checking a password takes time, in which the account may be removed, locked or given another
    /// password. Each of these changes the account and then ends its sessions: it ends a session
    /// that begins meanwhile, or this function reads the change.
    private func confirm(_ checked: Account) async throws {
        guard let account = try await account(named: checked.id.text) else {
            throw Self.noAccount(checked.email)
        }
        guard !account.isLocked, account.password == checked.password else {
            throw SyncError(
                .notAuthenticated,
                "The account is locked, or its password has changed. Sign in again."
            )
        }
    }

    /// Passes a user's identity to the store, so that other users can find the user.
    private func introduce(
        _ account: Account,
        as user: UserID,
        _ container: ContainerID,
        _ environment: Environment,
        _ isDiscoverable: Bool?
    ) async throws {
        // The rest of the store's account, which this server does not set, is kept.
        let known = try store.account(of: user, of: container, in: environment)
        let before = known ?? UserAccount(user)
        var told = before
        told.emails = [account.email]
        told.name = account.personName
        // Not the account's, which is for containers that the person has not answered for.
        if let isDiscoverable {
            told.isDiscoverable = isDiscoverable
        } else if known == nil {
            told.isDiscoverable = account.isDiscoverable
        }
        if told != before { try await store.setUser(told, of: container, in: environment) }
    }

    /// Returns the sessions that continue, oldest first.
    func sessions(ofAccount account: String? = nil) async throws -> [Stored<Session>] {
        let now = Clock.now()
        let open = try await openSessions(ofAccount: account)
        return uses.withLock { uses in open.filter { uses.continues($0.value, now: now) } }
    }

    /// Returns the sessions that nobody has ended, oldest first.
    ///
    /// Some may have expired. A restart of the server forgets when they were used last, so an end of all
    /// sessions includes them.
    func openSessions(ofAccount account: String? = nil) async throws -> [Stored<Session>] {
        try await registry.sessions.all(Session.self).filter {
            !$0.hasEnded && (account == nil || $0.account == account)
        }
    }

    /// Ends all sessions of an account.
    public func endSessions(ofAccount account: String) async throws {
        try await refuseEarlierTokens(ofAccount: account)
        try await end(openSessions(ofAccount: account))
    }

    /// Ends sessions, unless they were deleted after they were read.
    func end(_ sessions: [Stored<Session>]) async throws {
        for session in sessions {
            do {
                try await endSession(session.value.id.text)
            } catch let error as SyncError where error.code == .unknownItem {
                // It was deleted with its account, or by the sign-in that began it.
            }
        }
    }

    /// Ends a session: its tokens become invalid.
    func endSession(_ id: String) async throws {
        try await registry.sessions.update(Session.self, RecordName(id)) { $0.hasEnded = true }
        knownSessions.drop(id)
    }

    private func session(_ id: String) async throws -> Session? {
        try await knownSessions.credential(id) {
            let found = try await registry.sessions.fetchIfPresent(Session.self, RecordName(id))
            return found.flatMap { $0.hasEnded ? nil : $0.value }
        }
    }

    /// Returns true if a session continues; a listening client uses its session.
    func keepsSession(_ id: String, isUse: Bool) async throws -> Bool {
        guard let session = try await session(id) else { return false }
        let now = Clock.now()
        return uses.withLock { uses in
            isUse ? uses.use(session, now: now) : uses.continues(session, now: now)
        }
    }

    // MARK: Web tokens

    /// Returns a token of a session: derived, so that handing one out writes nothing.
    func webToken(of session: Session) -> String {
        let now = Clock.now()
        let isStrict = isStrict(session)
        let (issued, known) = uses.withLock { uses in
            let issued = isStrict ? uses.nextToken(of: session, now: now) : now
            return (issued, uses.token(of: session, issued: issued))
        }
        // A client with many requests at once gets several answers within a millisecond.
        if let known { return known }
        var token = Array(session.id.text.utf8)
        Swift.withUnsafeBytes(of: issued.bigEndian) { token.append(contentsOf: $0) }
        token.append(contentsOf: secret.code(of: token, for: "web token").prefix(16))
        let text = token.base64URL
        // A client that uses each token once sends this one next.
        signedTokens.keep((session.id.text, issued), of: text)
        uses.withLock { $0.keep(text, issued: issued, of: session) }
        return text
    }

    /// True if each token of a session is good once; on the account page a person may have several
    /// tabs open.
    private func isStrict(_ session: Session) -> Bool {
        rotation == .strict && session.container != Registry.container.identifier
    }

    /// Returns the session of a valid token; `nil` for any other text.
    ///
    /// The tokens of a session stay valid as long as one of them was used within the session's
    /// lifetime.
    func session(ofWebToken text: String) async throws -> Session? {
        guard let (id, issued) = content(ofWebToken: text), let session = try await session(id)
        else { return nil }
        let now = Clock.now()
        let isStrict = isStrict(session)
        let isGood = uses.withLock {
            $0.take(issued, of: session, isStrict: isStrict, now: now)
        }
        return isGood ? session : nil
    }

    /// Returns the session and the time in a web token; `nil` if this server did not sign it.
    private func content(ofWebToken text: String) -> (session: String, issued: Int64)? {
        // The key stays the same while the server runs, so a signature stays right.
        if let known = signedTokens[text] { return known }
        guard let bytes = [UInt8](base64URL: text), bytes.count == 32 + 8 + 16 else { return nil }
        let head = bytes[..<40]
        let code = secret.code(of: head, for: "web token").prefix(16)
        guard code.isSame(as: bytes[40...]) else { return nil }
        let session = String(decoding: bytes[..<32], as: UTF8.self)
        let issued = bytes[32..<40].reduce(Int64(0)) { $0 << 8 | Int64($1) }
        signedTokens.keep((session, issued), of: text)
        return (session, issued)
    }
}
#endif
