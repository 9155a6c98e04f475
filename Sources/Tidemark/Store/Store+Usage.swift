// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel
import TidemarkViews

/// The operator's door to what is used: no permission of a user matters here.
extension Store {
    /// What a database takes up now, counted anew.
    ///
    /// O(records of the database): every body is looked at, none is decoded further than its assets.
    public func usage(of database: DatabaseID) throws(SyncError) -> DatabaseUsage {
        let parts = try parts
        return try parts.reader.usage(of: database, try parts.reader.picture(.visible))
    }

    /// What every database takes up that has a zone, in the order in which they came into being.
    ///
    /// O(records).
    public func usages() throws(SyncError) -> [DatabaseUsage] {
        let parts = try parts
        let picture = try parts.reader.picture(.visible)
        return try parts.reader.databases(picture).map { (database) throws(SyncError) in
            try parts.reader.usage(of: database, picture)
        }
    }
}
