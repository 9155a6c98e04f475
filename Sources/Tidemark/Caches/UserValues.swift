// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// The key of an account: a user, and the database with the system zones of a container and environment.
struct AccountPlace: Hashable, Sendable {
    var database: DatabaseID
    var user: UserID
}

/// Values of users that were read, so that request after request does not read them again.
///
/// All of them go when a system zone changes, or when there are too many.
struct UserValues<Value: Sendable>: Sendable {
    private let countLimit: Int
    private var values: [AccountPlace: Value] = [:]
    /// The last change of a system zone when the values were read.
    private var sequence: SequenceNumber = 0

    init(countLimit: Int) {
        self.countLimit = countLimit
    }

    func value(of user: UserID, in database: DatabaseID, asOf sequence: SequenceNumber) -> Value? {
        // A value is as of one position for all users. Comparing it costs less than tracking which
        // change of a system zone concerned whom.
        guard sequence == self.sequence else { return nil }
        return values[AccountPlace(database: database, user: user)]
    }

    mutating func keep(
        _ value: Value,
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: SequenceNumber
    ) {
        // A request over an older picture must not replace newer values.
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || values.count >= countLimit { values = [:] }
        self.sequence = sequence
        values[AccountPlace(database: database, user: user)] = value
    }
}
