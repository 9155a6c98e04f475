// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Returns the identity that a caller may see of the user in a lookup; `nil` if there is no
    /// such user, or the user is not discoverable.
    private func identity(
        of lookup: UserLookup,
        as caller: Caller,
        asOf position: SequenceNumber?,
        _ picture: ViewPicture
    ) throws(SyncError) -> UserIdentity? {
        let found = try account(of: lookup, in: caller.database, asOf: position, picture)
        // A user who is not discoverable and one who does not exist give the same result.
        if let found, found.isDiscoverable || found.user == caller.user {
            return found.identity(by: lookup)
        }
        // Callers find themselves, even if no operator has set anything for them.
        guard let user = caller.user, lookup == .user(user) else { return nil }
        return UserAccount(user).identity(by: lookup)
    }

    private func account(
        of lookup: UserLookup,
        in database: DatabaseID,
        asOf position: SequenceNumber?,
        _ picture: ViewPicture
    ) throws(SyncError) -> UserAccount? {
        if let position { return try account(of: lookup, in: database, asOf: position) }
        return try picture.facts.account(of: lookup, in: database)?.account
    }

    /// See ``Store/currentUser(as:)``.
    func currentUser(as caller: Caller) throws(SyncError) -> UserID {
        try admit(caller)
        guard let user = caller.user else { throw .notAuthenticated(caller.database) }
        let status = try accountStatus(of: user, in: caller.database)
        if let error = status.refusal(of: user) { throw error }
        return user
    }

    /// See ``Store/accountStatus(as:)``.
    func accountStatus(as caller: Caller) throws(SyncError) -> AccountStatus {
        try admit(caller)
        guard let user = caller.user else { return .noAccount }
        return try accountStatus(of: user, in: caller.database)
    }

    /// See ``Store/lookUpUsers(_:as:)``, and as of a position ``Store/lookUpUsers(_:as:asOf:)``.
    func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> [UserIdentity?] {
        _ = try currentUser(as: caller)
        try options.limits.check(itemCount: lookups.count)
        let picture = try picture(.visible)
        return try lookups.map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, asOf: position, picture)
        }
    }

    /// See ``Store/contacts(as:)``, and as of a position ``Store/contacts(as:asOf:)``.
    func contacts(
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> [UserIdentity] {
        let user = try currentUser(as: caller)
        let picture = try picture(.visible)
        let account = try account(of: .user(user), in: caller.database, asOf: position, picture)
        return try (account?.contacts ?? []).map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, asOf: position, picture)
        }.compactMap(\.self)
    }
}
