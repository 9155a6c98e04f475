// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// See ``Store/setUser(_:of:in:)``.
    func setUser(_ account: UserAccount, in database: DatabaseID) async throws(SyncError) {
        try reader.options.limits.check(Caller(database: database, user: account.user))
        guard account.user != .current, !AccountRecords.isReserved(account.user) else {
            throw .invalidName(
                "user",
                account.user.userRecordName,
                "stands for something else; name a user record"
            )
        }
        for address in account.addresses { try address.check(reader.options.limits) }
        for contact in account.contacts { try contact.normalized.check(reader.options.limits) }
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            let old = try picture.facts.account(of: .user(account.user), in: database)
            for address in account.addresses {
                let name = AccountRecords.recordName(of: address)
                let record = try picture.facts.record(named: name, of: .users, in: database)
                guard let record, let owner = AccountRecords.owner(in: try record.readBody()),
                    owner != account.user
                else { continue }
                // The error reveals who owns the address, so the record must be durable before it
                // is visible.
                try await committer.waitUntilDurable(record.sequence)
                throw SyncError(
                    .constraintViolation,
                    "\(address.text) belongs to \(owner.userRecordName); remove it there first."
                )
            }
            let change = try AccountRecords.change(from: old?.account, to: account)
            if change.isEmpty {
                let last = old?.lastSequence ?? 0
                return try await committer.waitUntilDurable(last)
            }
            let caller = Caller(database: database)
            guard let last = try append(change, as: caller, picture) else { continue }
            try await committer.waitUntilDurable(last)
            // Only after the change is durable. A client that is woken reads the durable status,
            // and would otherwise find the old one and wait again.
            let place = AccountPlace(database: database.ofSystemZones, user: account.user)
            return reader.accountNews.tell(about: [place])
        }
    }
}
