// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Refuses a token of a database, or of zones that are shared with its user, if something is gone
    /// that could not be told.
    ///
    /// An erasure takes away what says that a zone, or a part in a share, was there; so it leaves a
    /// mark where it did. Of a user who was erased nothing is left, so whoever has a token from before
    /// an erasure, and nothing in the database from before that token, may be one who has come anew.
    /// `position` is where the store stood when the client began to fetch what the token goes on with.
    func checkErasures(
        since position: SequenceNumber,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) {
        guard try lastErasure(in: .ofStore, picture) > position else { return }
        let isGone = try lastErasure(in: caller.markedDatabase, picture) > position
        if isGone { throw .tokenExpired("something that it counts was erased") }
        guard try !wasThere(caller, at: position, picture) else { return }
        throw .tokenExpired("it is older than the user is here")
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
            do throws(ViewIndexError) {
                return try picture.zones(of: caller.database, after: 0, quiet: 0, limit: .max)
                    .contains { $0.key.creation <= position && !$0.identity.isErasureMark }
            } catch {
                throw SyncError(error)
            }
        case .shared:
            let parts = try participations(of: caller.participant, in: caller.database, picture)
            for part in parts where try began(part, by: position) { return true }
            return false
        }
    }

    /// Returns true if a user first took part in a share at or before a position.
    private func began(
        _ part: KnownParticipation,
        by position: SequenceNumber
    ) throws(SyncError) -> Bool {
        var event = part.sequence
        while event > position {
            event = try views.records(at: [event])[0].event.previous
        }
        return event != .zero
    }
}

extension Caller {
    /// The database that says what was erased of what the caller sees.
    fileprivate var markedDatabase: DatabaseID {
        guard database.scope == .shared else { return database }
        return DatabaseID(
            container: database.container,
            environment: database.environment,
            scope: .shared,
            owner: participant
        )
    }
}
