// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// The key of an account: a user, and the database with the system zones of a container and environment.
struct AccountPlace: Hashable, Sendable {
    var database: DatabaseID
    var user: UserID
}

/// Statuses of accounts that were read, so that request after request does not read them again.
///
/// All of them go when a system zone changes, or when there are too many.
struct AccountStatuses: Sendable {
    private static let countLimit = 10_000

    private var statuses: [AccountPlace: AccountStatus] = [:]
    /// The last change of a system zone when the statuses were read.
    private var sequence: SequenceNumber = 0

    func status(
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: SequenceNumber
    ) -> AccountStatus? {
        // A status is as of one position for all users. Comparing it costs less than tracking which
        // change of a system zone concerned whom.
        guard sequence == self.sequence else { return nil }
        return statuses[AccountPlace(database: database, user: user)]
    }

    mutating func keep(
        _ status: AccountStatus,
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: SequenceNumber
    ) {
        // A request over an older picture must not replace newer statuses.
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || statuses.count >= Self.countLimit { statuses = [:] }
        self.sequence = sequence
        statuses[AccountPlace(database: database, user: user)] = status
    }
}
