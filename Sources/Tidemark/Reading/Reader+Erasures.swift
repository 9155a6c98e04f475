// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Rejects a token of a database, or of zones shared with its user, if data was erased whose
    /// removal could not be reported.
    ///
    /// An erasure removes the records of zones and of parts in shares, so it leaves a mark where it
    /// did. Nothing remains of an erased user. So if a user has a token from before an erasure, but
    /// no data in the database from before that token, the user may be a new one. `position` is the
    /// store's position when the client began the fetch that the token continues.
    func checkErasures(
        since position: SequenceNumber,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) {
        // Every erasure leaves a mark there. So in most stores the check is this one lookup.
        guard try lastErasure(in: .ofStore, picture) > position else { return }
        let isGone = try lastErasure(in: caller.markedDatabase, picture) > position
        if isGone { throw .tokenExpired("something that it includes was erased") }
        guard try !wasThere(caller, at: position, picture) else { return }
        throw .tokenExpired("it was made before this user was in the store")
    }

    private func lastErasure(
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.epoch(of: .erasureMark(of: database)).key?.creation ?? 0
        }
    }

    /// Returns true if any current data shows that the caller existed at a position.
    private func wasThere(
        _ caller: Caller,
        at position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> Bool {
        switch caller.database.scope {
        case .public: return true
        case .private:
            return try SyncError.wrapping { () throws(ViewIndexError) in
                try picture.zones(of: caller.database, after: 0, quiet: 0, limit: .max)
                    .contains { $0.key.creation <= position && !$0.identity.isErasureMark }
            }
        case .shared:
            let shared = try sharedZones(of: caller.participant, in: caller.database, picture)
            for part in shared.participations where try began(part, by: position) { return true }
            return false
        }
    }

    /// Returns true if a user first took part in a share at or before a position.
    private func began(
        _ part: KnownParticipation,
        by position: SequenceNumber
    ) throws(SyncError) -> Bool {
        var event = part.sequence
        // Compaction drops no event of `_shares`, so the chain reaches the position.
        while event > position {
            event = try views.records(at: [event])[0].event.previous
        }
        return event != .zero
    }
}

extension Caller {
    /// The database that records the erasures of data that the caller sees.
    fileprivate var markedDatabase: DatabaseID {
        database.scope == .shared ? database.sibling(.shared, of: participant) : database
    }
}
