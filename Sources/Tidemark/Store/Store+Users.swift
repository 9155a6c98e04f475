// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
public import TidemarkModel
import TidemarkRules

/// The operator's door to users: no permission of a user matters here.
extension Store {
    /// Returns the account of a user of a container, in one of its environments; `nil` if none was
    /// set.
    public func account(
        of user: UserID,
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) throws(SyncError) -> UserAccount? {
        let parts = try parts
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        let picture = try parts.reader.picture(.visible)
        return try picture.facts.account(of: .user(user), in: database)?.account
    }

    /// Returns all accounts that were set, in the order of their names' bytes.
    ///
    /// O(users).
    public func accounts(
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) throws(SyncError) -> [UserAccount] {
        let parts = try parts
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        let records = try parts.reader.picture(.visible).facts.records(of: .users, in: database)
        let accounts = try records.map { (record) throws(SyncError) in
            AccountRecords.account(in: try record.readBody())
        }
        return accounts.compactMap(\.self).sorted { $0.user < $1.user }
    }

    /// Returns true if a container has an account of a user, or if the user's private database has
    /// a zone.
    ///
    /// Records in the public database and subscriptions do not count.
    ///
    /// O(zones of the user).
    package func hasUser(_ user: UserID, of container: ContainerID) throws(SyncError) -> Bool {
        let parts = try parts
        let picture = try parts.reader.picture(.visible)
        for environment in Environment.allCases {
            let own = DatabaseID(
                container: container,
                environment: environment,
                scope: .private,
                owner: user
            )
            if try !LivePicture(views: picture).livingZones(of: own).isEmpty { return true }
            if try account(of: user, of: container, in: environment) != nil { return true }
        }
        return false
    }

    /// Sets the account of a user, replacing the earlier one; with an operator's authority.
    ///
    /// Durable when it returns. The account is in the log, including its status and changes. Throws
    /// `constraintViolation` for an address or number that another user has, `invalidArguments` for
    /// a malformed one.
    public func setUser(
        _ account: UserAccount,
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) async throws(SyncError) {
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        try await parts.writer().setUser(account, in: database)
    }
}

extension Store {
    /// Returns the status of the caller's account.
    ///
    /// A caller without a user has no account. `__defaultOwner__`, the user of an embedded store,
    /// always has one, and so does a user whose account was never set.
    public func accountStatus(as caller: Caller) async throws(SyncError) -> AccountStatus {
        let parts = try parts
        return try await parts.reader.answer(.users, caller) { () throws(SyncError) in
            try parts.reader.accountStatus(as: caller)
        }
    }

    /// Returns the user id of the caller, which is the name of the caller's user record in the
    /// default zones of the public and the private database.
    ///
    /// Throws `notAuthenticated` or `accountTemporarilyUnavailable` if the account cannot be used.
    public func currentUser(as caller: Caller) async throws(SyncError) -> UserID {
        let parts = try parts
        return try await parts.reader.answer(.users, caller) { () throws(SyncError) in
            try parts.reader.currentUser(as: caller)
        }
    }

    /// Looks up users, in the order of the lookups: `nil` if there is no such user, or the user is
    /// not discoverable.
    ///
    /// O(lookups). Throws as ``currentUser(as:)``, and `limitExceeded`.
    public func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) async throws(SyncError) -> [UserIdentity?] {
        let parts = try parts
        return try await parts.reader.answer(.users, caller) { () throws(SyncError) in
            try parts.reader.lookUpUsers(lookups, as: caller)
        }
    }

    /// Returns those of the caller's contacts that are discoverable, in the order of the contacts.
    ///
    /// Throws as ``currentUser(as:)``.
    public func contacts(as caller: Caller) async throws(SyncError) -> [UserIdentity] {
        let parts = try parts
        return try await parts.reader.answer(.users, caller) { () throws(SyncError) in
            try parts.reader.contacts(as: caller)
        }
    }
}
