// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Store {
    /// Brings a projection up to date with what is durable now; returns how far it came.
    ///
    /// O(what happened since its mark). Throws what the projection throws, and `SyncError` for a log that
    /// cannot be read; what was taken in before that stays.
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
    /// In a store that is open for reading nothing happens any more, and this ends at once. Throws as
    /// ``advance(_:)`` does: call it again when the cause is gone, and it goes on.
    public func follow(_ projection: some Projection) async throws {
        // Not what the store is made of, which whoever closes it lets go of.
        guard let arrivals = try parts.notifications.arrivals else {
            try await advance(projection)
            return
        }
        while !Task.isCancelled, !arrivals.isClosed {
            let generation = arrivals.generation
            guard let parts = try? parts else { return }
            try await parts.reader.advance(projection)
            await arrivals.wait(for: .commit, since: generation)
        }
    }
}
