// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension ZoneHandle {
    /// Returns the changes in the zone after a token.
    ///
    /// Every record occurs at most once, by its last change, oldest first.
    ///
    /// ```swift
    /// for try await change in garden.changes(since: token) {
    ///     switch change.event {
    ///     case .changed(let record): chores[record.recordID] = try Chore(record)
    ///     case .deleted(let record): chores[record.recordID] = nil
    ///     case .reset: chores = [:]
    ///     }
    ///     token = change.token
    /// }
    /// ```
    ///
    /// Pages are fetched as they are needed, until there are no more. If the token has expired, the
    /// sequence begins with ``ZoneChanged/Event/reset`` and contains all records. `limit` bounds
    /// the records of a page.
    public func changes(since token: ChangeToken? = nil, limit: Int? = nil) -> ChangesOfZone {
        ChangesOfZone(zone: self, token: token, limit: limit)
    }
}

/// One change that a device applies to catch up with a zone.
public struct ZoneChanged: Hashable, Sendable {
    /// The change to apply.
    public enum Event: Hashable, Sendable {
        /// Store this version of a record.
        case changed(Record)
        /// Drop a record.
        case deleted(DeletedRecord)
        /// Drop all records of the zone: the token has expired, and all records follow.
        case reset
    }

    /// The change to apply.
    public let event: Event
    /// The token from which to continue after this change is applied; `nil` starts again.
    ///
    /// It only advances with the last change of a page: if iteration stops within a page, some
    /// changes are returned again.
    public let token: ChangeToken?
}

/// The changes in a zone; see ``ZoneHandle/changes(since:limit:)``.
public struct ChangesOfZone: AsyncSequence, Sendable {
    fileprivate let zone: ZoneHandle
    fileprivate let token: ChangeToken?
    fileprivate let limit: Int?

    /// The changes in pages as they are fetched, each with a flag for a reset.
    public var pages: Pages { Pages(changes: self) }

    /// Returns an iterator that begins at the token.
    public func makeAsyncIterator() -> Iterator {
        Iterator(pages: pages.makeAsyncIterator(), token)
    }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        private var pages: Pages.Iterator
        private var page: Page?
        private var position = 0
        private var token: ChangeToken?
        private var isReset = false

        fileprivate init(pages: Pages.Iterator, _ token: ChangeToken?) {
            self.pages = pages
            self.token = token
        }

        /// Returns the next change; `nil` if there are no more.
        public mutating func next() async throws -> ZoneChanged? {
            while true {
                // The reset precedes the changes of its page: the client empties its copy first.
                if isReset {
                    isReset = false
                    return ZoneChanged(event: .reset, token: token)
                }
                if let page, position < page.changes.count {
                    let change = page.changes[position]
                    position += 1
                    // A client that stops within a page fetches it again, so only its last change
                    // has the page's token.
                    if position == page.changes.count { token = page.token }
                    switch change {
                    case .changed(let record):
                        return ZoneChanged(event: .changed(record), token: token)
                    case .deleted(let record):
                        return ZoneChanged(event: .deleted(record), token: token)
                    }
                }
                guard let next = try await pages.next() else { return nil }
                page = next
                position = 0
                isReset = next.isReset
                // The old token has expired. Until the first page is complete, a client has to
                // start again. An empty page is complete with the reset itself.
                if isReset { token = next.changes.isEmpty ? next.token : nil }
            }
        }
    }

    /// One page of changes.
    public struct Page: Hashable, Sendable {
        /// True if all records of the zone must be dropped before these changes are applied.
        public let isReset: Bool
        /// The changes, oldest first.
        public let changes: RecordChanges
        /// The token from which to continue after all of them are applied.
        public let token: ChangeToken
    }

    /// The changes in a zone, in pages.
    public struct Pages: AsyncSequence, Sendable {
        fileprivate let changes: ChangesOfZone

        /// Returns an iterator that begins at the token.
        public func makeAsyncIterator() -> Iterator { Iterator(changes) }

        /// Fetches one page at a time.
        public struct Iterator: AsyncIteratorProtocol {
            private let changes: ChangesOfZone
            private var token: ChangeToken?
            private var isAtEnd = false

            fileprivate init(_ changes: ChangesOfZone) {
                self.changes = changes
                token = changes.token
            }

            /// Returns the next page; `nil` after the last.
            public mutating func next() async throws -> Page? {
                if isAtEnd { return nil }
                try Task.checkCancellation()
                let (answer, isReset) = try await changes.zone.answer(since: token, changes.limit)
                token = answer.token
                isAtEnd = !answer.moreComing
                return Page(isReset: isReset, changes: answer.changes, token: answer.token)
            }
        }
    }
}

extension ZoneHandle {
    /// Returns one page, and true if the token has expired and the page is the first of all
    /// changes.
    fileprivate func answer(
        since token: ChangeToken?,
        _ limit: Int?
    ) async throws(SyncError) -> (ZoneChanges, isReset: Bool) {
        var request = ZoneChangesRequest(zone: id, since: token, limit: limit)
        do throws(SyncError) {
            return (try await service.zoneChanges(request, as: caller), false)
        } catch {
            // A request without a token cannot expire, so a second attempt would repeat the error.
            guard error.code == .changeTokenExpired, token != nil else { throw error }
        }
        request.since = nil
        return (try await service.zoneChanges(request, as: caller), true)
    }
}
