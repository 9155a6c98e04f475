// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
package import TidemarkViews

extension Store {
    /// What the zones of a database hold, ordered by their names' bytes.
    ///
    /// Unlike ``zones(as:)`` it asks for no permission, and a default zone is there only if
    /// something was written to it. O(zones, and events in the overlay).
    package func zoneFigures(of database: DatabaseID) throws(SyncError) -> [ZoneFigures] {
        let picture = try parts.reader.picture(.visible)
        return try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zoneFigures(of: database)
        }
    }

    /// The log behind the store: its events, what is damaged, what a stop has left.
    package var eventSource: any EventSource {
        get throws(SyncError) { try parts.reader.source }
    }
}
