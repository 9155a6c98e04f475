// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Store {
    /// Brings a projection up to date with the durable log; returns the mark that it has reached.
    ///
    /// O(events since its mark). Throws the errors of the projection, and `SyncError` for a log
    /// that cannot be read; commits that were folded before that stay folded.
    @discardableResult
    public func advance(_ projection: some Projection) async throws -> ProjectionMark {
        try await parts.reader.advance(projection)
    }

    /// Empties a projection and makes it again from all that the log holds.
    @discardableResult
    public func rebuild(_ projection: some Projection) async throws -> ProjectionMark {
        try await projection.reset(.asked)
        return try await advance(projection)
    }

    /// Keeps a projection up to date until the store is closed or the task is cancelled.
    ///
    /// In a store that is open for reading there are no later events, and this returns at once.
    /// Throws as ``advance(_:)`` does: once the cause is fixed, call it again to resume.
    public func follow(_ projection: some Projection) async throws {
        // Not the store's parts, which closing the store releases.
        guard let arrivals = try parts.notifications.arrivals else {
            try await advance(projection)
            return
        }
        while !Task.isCancelled, !arrivals.isClosed {
            // Read before the projection advances: a commit in between ends the wait at once.
            let generation = arrivals.generation
            // There is no reader while something is erased, and once the store is closed. The wait
            // ends after either, so the reader must not be held during it.
            if let reader = try? parts.reader { try await reader.advance(projection) }
            await arrivals.wait(for: .commit, since: generation)
        }
    }
}
