// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// Returns the zones that changed after a token.
    ///
    /// Every zone occurs at most once, by its last change, oldest first. Pages are fetched as they
    /// are needed, until there are no more. If a token has expired, the sequence begins with
    /// ``DatabaseChanged/Event/reset`` and contains all zones. To get the changes in each
    /// zone, use ``ZoneHandle/changes(since:limit:)``.
    public func changes(since token: ChangeToken? = nil) -> ChangesOfDatabase {
        ChangesOfDatabase(database: self, token: token)
    }
}

/// One change that a device applies to catch up with a database.
public struct DatabaseChanged: Sendable {
    /// A change to apply.
    public enum Event: Sendable {
        /// The zone changed: fetch its changes.
        case changed(ZoneHandle)
        /// Drop a zone, for a reason.
        case deleted(ZoneID, ZoneDeletionReason)
        /// Drop all zones that do not follow: the token has expired.
        case reset
    }

    /// The change to apply.
    public let event: Event
    /// The token from which to continue after this change is applied; `nil` starts again.
    public let token: ChangeToken?
}

/// The zones of a database that changed; see ``Database/changes(since:)``.
public struct ChangesOfDatabase: AsyncSequence, Sendable {
    fileprivate let database: Database
    fileprivate let token: ChangeToken?

    /// Returns an iterator that begins at the token.
    public func makeAsyncIterator() -> Iterator { Iterator(database, token) }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        /// The start of the next page.
        private var next: ChangeToken?
        /// The token up to which changes were returned.
        private var token: ChangeToken?
        private var events: ArraySlice<DatabaseChanged.Event> = []
        private var isAtEnd = false

        fileprivate init(_ database: Database, _ token: ChangeToken?) {
            self.database = database
            self.token = token
            next = token
        }

        /// Returns the next change; `nil` if there are no more.
        public mutating func next() async throws -> DatabaseChanged? {
            while events.isEmpty, !isAtEnd { try await fetch() }
            guard let event = events.popFirst() else { return nil }
            // Only the last event of a page has the token after the page. A client that stops
            // earlier fetches the page again.
            if events.isEmpty { token = next }
            return DatabaseChanged(event: event, token: token)
        }

        private mutating func fetch() async throws {
            try Task.checkCancellation()
            let (answer, isReset) = try await database.answer(DatabaseChangesRequest(since: next))
            // Until the first page is complete, there is no token to resume from.
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
    /// Returns one page, and true if the token has expired and the page is the first of all
    /// changes.
    fileprivate func answer(
        _ request: DatabaseChangesRequest
    ) async throws(SyncError) -> (DatabaseChanges, isReset: Bool) {
        do throws(SyncError) {
            return (try await service.databaseChanges(request, as: caller), false)
        } catch {
            guard error.code == .changeTokenExpired, request.since != nil else { throw error }
        }
        // Outside of the `do`: a request without a token cannot expire, so there is only one second
        // attempt.
        return (try await service.databaseChanges(DatabaseChangesRequest(), as: caller), true)
    }
}
