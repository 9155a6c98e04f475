// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Store {
    /// Returns the status of the caller's account now, and after each later change.
    ///
    /// CloudKit posts `CKAccountChanged` for these changes. Each status differs from the one
    /// before. A slow client misses only statuses that have been replaced. The sequence ends when
    /// the store is closed or the task is cancelled. In a store that is open for reading the status
    /// never changes.
    public func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        let parts = try parts
        let first = try parts.reader.accountStatus(as: caller)
        let feed = AccountFeed(self, parts.reader.accountNews, as: caller, first)
        return AsyncThrowingStream { try await feed.next() }
    }
}

/// The live statuses of one caller's account; a slow client gets the latest.
private actor AccountFeed {
    /// The store, not its parts: closing the store releases the parts.
    private let store: Store
    private let news: Broadcast<AccountPlace>
    private let caller: Caller
    /// The status to report first, without reading it again.
    private var first: AccountStatus?
    private var told: AccountStatus

    init(
        _ store: Store,
        _ news: Broadcast<AccountPlace>,
        as caller: Caller,
        _ first: AccountStatus
    ) {
        self.store = store
        self.news = news
        self.caller = caller
        self.first = first
        told = first
    }

    /// The next status; `nil` when the store is closed or the task cancelled.
    func next() async throws(SyncError) -> AccountStatus? {
        if let first = first.take() { return first }
        let place = AccountPlace(
            database: caller.database.ofSystemZones,
            user: caller.user ?? .current
        )
        while !Task.isCancelled, !news.isClosed {
            // Read before the status. A change after that ends the wait below at once.
            let generation = news.generation
            if let status = try look(), status != told {
                told = status
                return status
            }
            await news.wait(for: place, since: generation)
        }
        return nil
    }

    /// The status now; `nil` where none is kept, when the store was closed a moment ago, and while
    /// something is erased.
    private func look() throws(SyncError) -> AccountStatus? {
        guard let user = caller.user, let parts = try? store.parts else { return nil }
        return try parts.reader.accountStatus(of: user, in: caller.database)
    }
}
