// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkDatabase
public import TidemarkModel

/// The sessions of people who have signed in.
extension Directory {
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

    func session(_ id: String) async throws -> Session? {
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
}
#endif
