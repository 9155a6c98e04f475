// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// Which versions of records a caller may be shown beside a refusal.
package struct VersionAccess {
    /// What the caller may do in a public database, if that is limited.
    package let access: PublicAccess?
    /// What others share with the caller, in a shared database.
    package let shared: SharedZones?

    package init(
        access: PublicAccess?,
        shared: SharedZones?
    ) {
        self.access = access
        self.shared = shared
    }

    /// What the caller may do in a zone of somebody else; `nil` outside of a shared database.
    package func access(of zone: ZoneID) -> ZoneAccess? {
        shared.map { $0.zones[zone] ?? ZoneAccess() }
    }

    /// Whether an earlier version may be shown.
    ///
    /// A tag is only text, and easily made up: it may be of a version from before the record was
    /// shared, or of a record that somebody else had under the name.
    package func shows(_ old: StoredRecord, in zone: ZoneID) throws(SyncError) -> Bool {
        if let access { return try access.refusal(of: .read, on: old.readBody()) == nil }
        guard let shared else { return true }
        guard let access = shared.zones[zone] else { return false }
        // The share of a whole zone leaves no trace in the zone's events.
        if access.showsAll { return old.sequence > shared.lookedAt }
        return old.event.audience.map { access.parts[$0.key] != nil } ?? false
    }
}
