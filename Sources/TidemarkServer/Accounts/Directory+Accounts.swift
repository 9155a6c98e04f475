// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
public import TidemarkDatabase
import TidemarkModel

/// The accounts of people, and their passwords.
extension Directory {
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

    static func noAccount(_ email: String) -> SyncError {
        SyncError(
            .unknownItem,
            "There is no account with the address \(email).",
            remedy: "Give an address that `tidemark accounts list` prints."
        )
    }
}
#endif
