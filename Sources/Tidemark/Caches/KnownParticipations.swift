// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The shares in which users participate, as of one picture of the views.
struct KnownParticipations: Sendable {
    private struct Key: Hashable {
        var user: UserID
        var database: DatabaseID
    }

    private static let countLimit = 256
    private var known: [Key: [KnownParticipation]] = [:]
    private var sequence: SequenceNumber = 0

    func participations(
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: SequenceNumber
    ) -> [KnownParticipation]? {
        sequence == self.sequence ? known[Key(user: user, database: database)] : nil
    }

    mutating func keep(
        _ participations: [KnownParticipation],
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: SequenceNumber
    ) {
        // A request over an older picture must not replace newer participations.
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || known.count >= Self.countLimit { known = [:] }
        self.sequence = sequence
        known[Key(user: user, database: database)] = participations
    }
}
