// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkDatabase
import TidemarkModel

/// The removal of sessions that nobody can use any more: each sign-in adds a record.
extension Directory {
    /// Milliseconds between two sweeps, and from the expiry of a session to its removal.
    private static let sweepInterval: Int64 = 60 * 60_000

    /// Sweeps at most once an hour.
    func sweepSessionsNowAndThen() async throws {
        let now = Clock.now()
        let isDue = state.withLock { state in
            guard now > state.lastSweep + Self.sweepInterval else { return false }
            state.lastSweep = now
            return true
        }
        if isDue { try await sweepSessions(now) }
    }

    /// Deletes sessions that were ended or have expired.
    ///
    /// O(sessions).
    func sweepSessions(_ now: Int64) async throws {
        let all = try await registry.sessions.all(Session.self)
        // A response that takes long carries a token that is later than the use of the session. So an
        // expired session is kept for longer than any response takes.
        let over = uses.withLock { uses in
            all.filter { $0.hasEnded || !uses.continues($0.value, now: now - Self.sweepInterval) }
        }
        for session in over {
            try await registry.sessions.delete(session.value.id)
            knownSessions.drop(session.value.id.text)
        }
    }
}
#endif
