// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// Shares that were imported before their roots, and begin with the lines that contain the roots.
///
/// An export of a compacted store has the record of a share before its root if the root was changed
/// later, because compaction has dropped the earlier version. The share's record is still saved by
/// its own line. Waiting shares are thus in the store, and a later import finds them again.
package struct WaitingShares: Sendable {
    /// The record that a share shows together with all of its descendants.
    package struct Root: Hashable, Sendable {
        package var zone: ZoneIdentity
        package var name: Name
    }

    /// The names of the shares' records, by root; some may no longer be waiting.
    package private(set) var shares: [Root: Name] = [:]
    /// The databases whose links were read.
    package var consulted: Set<DatabaseID> = []

    package init() {}

    /// Returns the share that may be waiting for a record.
    func share(of root: Name, in zone: ZoneIdentity) -> Name? {
        // Most imports have no waiting share, and then hash no names.
        shares.isEmpty ? nil : shares[Root(zone: zone, name: root)]
    }

    /// Adds a share whose root does not exist.
    package mutating func add(_ share: Name, of root: Name, in zone: ZoneIdentity) {
        shares[Root(zone: zone, name: root)] = share
    }
}
