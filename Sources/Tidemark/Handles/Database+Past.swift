// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkDatabase
import TidemarkModel

extension Database {
    /// The store that answers about the past.
    ///
    /// Throws `serviceUnavailable` where something else than a store answers.
    package var store: Store {
        get throws(SyncError) {
            guard let store = service as? Store else {
                throw SyncError(
                    .serviceUnavailable,
                    "\(type(of: service)) cannot read the past.",
                    remedy: "Make the handle from the Store itself."
                )
            }
            return store
        }
    }
}

extension Database {
    /// The zones there were, in the order of their names' bytes.
    ///
    /// O(zones that the database has or had).
    public func zones(asOf point: PointInTime) async throws -> [ZoneHandle] {
        let store = try store
        return try await store.zones(as: caller, asOf: try point.position(in: store))
            .map { zone($0.zoneID) }
    }
}
