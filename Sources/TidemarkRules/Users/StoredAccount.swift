// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// An account as a store holds it.
package struct StoredAccount: Sendable {
    /// The user's account.
    package let account: UserAccount
    /// The position of the last event that the account depends on.
    package let lastSequence: SequenceNumber
}

extension Facts {
    /// Returns the account of an address, a number or a name, even if its user is not discoverable;
    /// `nil` if there is none.
    ///
    /// Required when an owner adds a participant to a share. O(1), regardless of the number of
    /// users.
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
            // An address leads to its user in a second lookup. The result rests on both records.
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
