// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// The views that a log makes, and those on disk that they are compared with.
package struct ReplayedViews {
    let views: any ViewSnapshot
    let found: (any ViewSnapshot)?

    /// The tables whose entries belong to one zone each.
    private static let tables: [ViewTable] = [.names, .sync, .zones, .audiences]

    /// The zones of both, in the order of their creation.
    ///
    /// O(entries of the views) with views to compare, else O(zones).
    package func zones() throws(SyncError) -> [ReplayedZone] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            var entries = try Self.entries(of: views)
            if let found { entries.merge(try Self.entries(of: found)) { replayed, _ in replayed } }
            var zones: [ReplayedZone] = []
            for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
                zones.append(ReplayedZone(entry, key: key, isSame: try isSame(key)))
            }
            return zones
        }
    }

    private func isSame(_ zone: ZoneKey) throws(ViewIndexError) -> Bool? {
        guard let found else { return nil }
        // The other tables are keyed by database, request or target. `ViewsCheck` compares those as
        // a whole.
        for table in Self.tables {
            let (replayed, onDisk) = (
                try views.digest(table, zone: zone), try found.digest(table, zone: zone)
            )
            if replayed != onDisk { return false }
        }
        return true
    }

    private static func entries(
        of views: any ViewSnapshot
    ) throws(ViewIndexError) -> [ZoneKey: ZoneEntry] {
        var entries: [ZoneKey: ZoneEntry] = [:]
        try views.visit(.zones, from: .firstZone) { (key, value) throws(ViewIndexError) in
            entries[key.zone] = try ZoneEntry(value, key: key.zone)
        }
        return entries
    }
}

/// The state of a zone after a replay, compared with the views on disk.
package struct ReplayedZone: Sendable {
    /// The identity of the zone.
    package let identity: ZoneIdentity
    /// The position of the event that created it.
    package let key: ZoneKey
    /// The number of live records.
    package let liveCount: Int64
    /// The number of tombstones.
    package let tombstoneCount: Int64
    /// The position of its last event.
    package let head: SequenceNumber
    /// True if the views on disk agree; `nil` if nothing was compared.
    package let isSame: Bool?

    fileprivate init(_ entry: ZoneEntry, key: ZoneKey, isSame: Bool?) {
        identity = entry.identity
        self.key = key
        liveCount = entry.liveCount
        tombstoneCount = entry.tombstoneCount
        head = entry.head
        self.isSame = isSame
    }
}
