// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The versions of records that a caller may see together with a rejection.
package struct VersionAccess {
    /// The caller's access to a public database, if it is limited.
    package let access: PublicAccess?
    /// The zones that others share with the caller, in a shared database.
    package let shared: SharedZones?

    package init(access: PublicAccess?, shared: SharedZones?) {
        self.access = access
        self.shared = shared
    }

    /// Returns the caller's access to a zone of another user; `nil` outside of a shared database.
    package func access(of zone: ZoneID) -> ZoneAccess? {
        shared.map { $0.zones[zone] ?? ZoneAccess() }
    }

    /// Returns true if the caller may see an earlier version.
    ///
    /// A tag is only text and easily forged. It may name a version from before the record was
    /// shared, or a record that another user had under the name.
    package func shows(_ old: StoredRecord, in zone: ZoneID) throws(SyncError) -> Bool {
        if let access { return try access.refusal(of: .read, on: old.readBody()) == nil }
        guard let shared else { return true }
        guard let access = shared.zones[zone] else { return false }
        // The share of a whole zone leaves no trace in the zone's events. So only a version that is
        // newer than all of the caller's participations is certainly one that the caller could see.
        if access.showsAll { return old.sequence > shared.lookedAt }
        return old.event.audience.map { access.participations[$0.key] != nil } ?? false
    }
}
