// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
package import TidemarkViews

extension Store {
    /// Returns the contents of a database's zones in numbers, ordered by the bytes of the zones'
    /// names.
    ///
    /// Unlike ``zones(as:)`` this checks no permission, and lists a default zone only if it was
    /// ever written. O(zones, and events in the overlay).
    package func zoneFigures(of database: DatabaseID) throws(SyncError) -> [ZoneFigures] {
        let picture = try parts.reader.picture(.visible)
        return try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zoneFigures(of: database)
        }
    }

    /// The log of the store: its events, damage, and the remains of interrupted writes.
    package var eventSource: any EventSource {
        get throws(SyncError) { try parts.reader.source }
    }
}
