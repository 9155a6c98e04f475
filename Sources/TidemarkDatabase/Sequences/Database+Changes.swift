// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// Which zones changed after a token: every zone at most once, by its last change, oldest first.
    ///
    /// Pages are fetched as they are needed, until there is no more. A token that can no longer be answered
    /// gives ``DatabaseChanged/Event/reset``, then all there is. Ask each zone what changed in it:
    /// ``ZoneHandle/changes(since:limit:)``.
    public func changes(since token: ChangeToken? = nil) -> ChangesOfDatabase {
        ChangesOfDatabase(database: self, token: token)
    }
}

/// One thing that a device has to do to catch up with a database.
public struct DatabaseChanged: Sendable {
    /// What there is to do.
    public enum Event: Sendable {
        /// Ask the zone what changed in it.
        case changed(ZoneHandle)
        /// Forget a zone, for a reason.
        case deleted(ZoneID, ZoneDeletionReason)
        /// Forget all zones that do not follow: the token could no longer be answered.
        case reset
    }

    /// What there is to do.
    public let event: Event
    /// The token to go on from once this is done; `nil` to begin anew.
    public let token: ChangeToken?
}

/// Which zones of a database changed; see ``Database/changes(since:)``.
public struct ChangesOfDatabase: AsyncSequence, Sendable {
    fileprivate let database: Database
    fileprivate let token: ChangeToken?

    /// Begins at the token.
    public func makeAsyncIterator() -> Iterator { Iterator(database, token) }

    /// Takes one change at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        /// Where the next page begins.
        private var next: ChangeToken?
        /// What was told reaches as far as this.
        private var token: ChangeToken?
        private var events: ArraySlice<DatabaseChanged.Event> = []
        private var isAtEnd = false

        fileprivate init(_ database: Database, _ token: ChangeToken?) {
            self.database = database
            self.token = token
            next = token
        }

        /// The next change; `nil` once there is no more.
        public mutating func next() async throws -> DatabaseChanged? {
            while events.isEmpty, !isAtEnd { try await fetch() }
            guard let event = events.popFirst() else { return nil }
            if events.isEmpty { token = next }
            return DatabaseChanged(event: event, token: token)
        }

        private mutating func fetch() async throws {
            try Task.checkCancellation()
            let (answer, isReset) = try await database.answer(DatabaseChangesRequest(since: next))
            if isReset {
                token = nil
                events = [.reset]
            }
            next = answer.token
            isAtEnd = !answer.moreComing
            events += answer.changes.map { change in
                switch change {
                case .changed(let zone): .changed(database.zone(zone))
                case .deleted(let zone, let reason): .deleted(zone, reason)
                }
            }
        }
    }
}

extension Database {
    /// One page, and whether everything begins anew with it because the token cannot be answered any more.
    fileprivate func answer(
        _ request: DatabaseChangesRequest
    ) async throws(SyncError) -> (DatabaseChanges, isReset: Bool) {
        do throws(SyncError) {
            return (try await service.databaseChanges(request, as: caller), false)
        } catch {
            guard error.code == .changeTokenExpired, request.since != nil else { throw error }
        }
        return (try await service.databaseChanges(DatabaseChangesRequest(), as: caller), true)
    }
}
