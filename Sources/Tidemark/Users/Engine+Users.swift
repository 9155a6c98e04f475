// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// An account as a store holds it.
package struct StoredAccount: Sendable {
    /// What is said about the user.
    package let account: UserAccount
    /// Position of the last event that it rests on.
    package let lastSequence: UInt64
}

extension Engine {
    /// The account that an address, a number or a name leads to, whether or not its user wants to be
    /// found; `nil` if there is none.
    ///
    /// What an owner needs who adds somebody to a share. O(1), however many users there are.
    func account(
        of lookup: UserLookup,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> StoredAccount? {
        let name = AccountRecords.recordName(of: lookup)
        guard let record = try record(named: name, of: .users, in: database, picture) else {
            return nil
        }
        let body = try record.readBody()
        guard case .user = lookup else {
            guard let user = AccountRecords.owner(in: body),
                let found = try account(of: .user(user), in: database, picture)
            else { return nil }
            let last = max(found.lastSequence, record.sequence.rawValue)
            return StoredAccount(account: found.account, lastSequence: last)
        }
        return AccountRecords.account(in: body).map {
            StoredAccount(account: $0, lastSequence: record.sequence.rawValue)
        }
    }

    /// What a caller may know of the user that a look-up leads to; `nil` if there is nobody, or
    /// nobody who wants to be found.
    func identity(
        of lookup: UserLookup,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> UserIdentity? {
        guard let found = try account(of: lookup, in: caller.database, picture)?.account,
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
        guard lookups.count <= options.limits.itemsPerRequest else {
            throw .tooManyItems(lookups.count, limit: options.limits.itemsPerRequest)
        }
        let picture = try picture(.visible)
        return try lookups.map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, picture)
        }
    }

    /// See ``Store/contacts(as:)``.
    func contacts(as caller: Caller) throws(SyncError) -> [UserIdentity] {
        let user = try currentUser(as: caller)
        let picture = try picture(.visible)
        let account = try account(of: .user(user), in: caller.database, picture)?.account
        return try (account?.contacts ?? []).map { (lookup) throws(SyncError) in
            try identity(of: lookup, as: caller, picture)
        }.compactMap(\.self)
    }

    /// See ``Store/setUser(_:of:in:)``.
    func setUser(_ account: UserAccount, in database: DatabaseID) async throws(SyncError) {
        let committer = try writer().committer
        try options.limits.check(Caller(database: database, user: account.user))
        guard account.user != .current, !AccountRecords.isReserved(account.user) else {
            throw .invalidName(
                "user",
                account.user.userRecordName,
                "stands for something else; name a user record"
            )
        }
        for address in account.addresses { try address.check(options.limits) }
        for contact in account.contacts { try contact.normalized.check(options.limits) }
        try await committer.waitForRoom()
        while true {
            let picture = try picture(.appended)
            let old = try self.account(of: .user(account.user), in: database, picture)
            for address in account.addresses {
                let name = AccountRecords.recordName(of: address)
                let record = try record(named: name, of: .users, in: database, picture)
                guard let record, let owner = AccountRecords.owner(in: try record.readBody()),
                    owner != account.user
                else { continue }
                try await committer.waitUntilDurable(record.sequence)
                throw SyncError(
                    .constraintViolation,
                    "\(address.text) belongs to \(owner.userRecordName); take it away from there "
                        + "first."
                )
            }
            let change = try AccountRecords.change(from: old?.account, to: account)
            if change.isEmpty {
                let last = SequenceNumber(rawValue: old?.lastSequence ?? 0)
                return try await committer.waitUntilDurable(last)
            }
            let caller = Caller(database: database)
            guard let last = try append(change, as: caller, picture, committer) else { continue }
            try await committer.waitUntilDurable(last)
            let place = AccountPlace(database: database.ofSystemZones, user: account.user)
            return accountNews.tell(about: [place])
        }
    }
}
