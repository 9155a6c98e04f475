// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Engine {
    /// What a caller may know of the user that a look-up leads to; `nil` if there is nobody, or
    /// nobody who wants to be found.
    func identity(
        of lookup: UserLookup,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> UserIdentity? {
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
        let account = try picture.facts.account(of: .user(user), in: caller.database)?.account
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
            let old = try picture.facts.account(of: .user(account.user), in: database)
            for address in account.addresses {
                let name = AccountRecords.recordName(of: address)
                let record = try picture.facts.record(named: name, of: .users, in: database)
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
