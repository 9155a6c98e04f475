// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// Shares that were imported before their roots, and begin with the lines that bring these.
///
/// An export of a compacted store has the record of a share before its root where the root was
/// changed later: what it was before is forgotten. The share's record is saved by its own line all
/// the same. What waits is thus in the store, and is found again by an import that goes on later.
package struct WaitingShares: Sendable {
    /// The record that a share is to show, with all below.
    package struct Root: Hashable, Sendable {
        package var zone: ZoneIdentity
        package var name: Name
    }

    /// The names of the shares' records, by root; some may wait no more.
    package private(set) var shares: [Root: Name] = [:]
    /// Databases whose links were read.
    package var consulted: Set<DatabaseID> = []

    package init() {}

    /// The share that may wait for a record.
    func share(of root: Name, in zone: ZoneIdentity) -> Name? {
        shares.isEmpty ? nil : shares[Root(zone: zone, name: root)]
    }

    /// Takes in a share whose root is not there.
    package mutating func add(_ share: Name, of root: Name, in zone: ZoneIdentity) {
        shares[Root(zone: zone, name: root)] = share
    }
}
