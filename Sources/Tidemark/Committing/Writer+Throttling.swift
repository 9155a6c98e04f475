// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Writer {
    /// Performs a write, unless too many are running in the store or in one of its zones.
    ///
    /// Costs nothing if neither is limited.
    func write<Answer>(
        in zones: @autoclosure () -> [ZoneID],
        as caller: Caller,
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let throttling = reader.options.throttling
        guard throttling.writesPerZone != nil || throttling.writesPerStore != nil else {
            return try await body()
        }
        // Each zone once: a request counts as one write in a zone, however many of the zone's
        // records it names.
        let zones = Set(zones()).map { zone in
            ZoneIdentity(database: caller.database.ofZones(zone.ownerName), zoneName: zone.name)
        }
        if let refusal = reader.requests.withLock({ $0.begin(zones, throttling) }) {
            throw refusal.error(retryAfter: throttling.retryAfter)
        }
        defer { reader.requests.withLock { $0.end(zones) } }
        return try await body()
    }
}
