// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// An account as a store holds it.
package struct StoredAccount: Sendable {
    /// What is said about the user.
    package let account: UserAccount
    /// Position of the last event that it rests on.
    package let lastSequence: SequenceNumber
}

extension Facts {
    /// The account that an address, a number or a name leads to, whether or not its user wants to be
    /// found; `nil` if there is none.
    ///
    /// What an owner needs who adds somebody to a share. O(1), however many users there are.
    package func account(
        of lookup: UserLookup,
        in database: DatabaseID
    ) throws(SyncError) -> StoredAccount? {
        let name = AccountRecords.recordName(of: lookup)
        guard let record = try record(named: name, of: .users, in: database) else {
            return nil
        }
        let body = try record.readBody()
        guard case .user = lookup else {
            guard let user = AccountRecords.owner(in: body),
                let found = try account(of: .user(user), in: database)
            else { return nil }
            let last = max(found.lastSequence, record.sequence)
            return StoredAccount(account: found.account, lastSequence: last)
        }
        return AccountRecords.account(in: body).map {
            StoredAccount(account: $0, lastSequence: record.sequence)
        }
    }
}
