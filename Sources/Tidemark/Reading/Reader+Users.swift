// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Returns the identity that a caller may see of the user in a lookup; `nil` if there is no
    /// such user, or the user is not discoverable.
    func identity(
        of lookup: UserLookup,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> UserIdentity? {
        // A user who is not discoverable and one who does not exist give the same result.
        guard let found = try picture.facts.account(of: lookup, in: caller.database)?.account,
            found.isDiscoverable || found.user == caller.user
        else { return nil }
        return found.identity(by: lookup)
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

    /// See ``Store/lookUpUsers(_:as:)``.
    func lookUpUsers(
        _ lookups: [UserLookup],
        as caller: Caller
    ) throws(SyncError) -> [UserIdentity?] {
        _ = try currentUser(as: caller)
        try options.limits.check(itemCount: lookups.count)
        let picture = try picture(.visible)
        return try lookups.map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, picture)
        }
    }

    /// See ``Store/contacts(as:)``.
    func contacts(as caller: Caller) throws(SyncError) -> [UserIdentity] {
        let user = try currentUser(as: caller)
        let picture = try picture(.visible)
        let account = try picture.facts.account(of: .user(user), in: caller.database)?.account
        return try (account?.contacts ?? []).map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, picture)
        }.compactMap(\.self)
    }
}
