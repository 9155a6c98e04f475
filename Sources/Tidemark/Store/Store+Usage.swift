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

    /// Sets how much single containers may hold, in place of what was set before; for as long as the store is open.
    ///
    /// What would take a container or one of its databases beyond is `quotaExceeded`; what gets smaller is not. The
    /// first commit to a container whose `bytes` are limited counts all that it holds. Throws in a store that is open
    /// for reading.
    public func setQuotas(_ quotas: [ContainerID: ContainerQuota]) throws(SyncError) {
        let writer = try parts.writer()
        writer.quotas.withLock { $0.set(quotas) }
        // Commits to databases without a quota are not told to the counts.
        writer.usages.withLock { $0.forgetAll() }
    }

    /// The containers that have a zone, in the order of their identifiers.
    ///
    /// O(zones).
    public func containers() throws(SyncError) -> [ContainerID] {
        let parts = try parts
        let databases = try parts.reader.databases(try parts.reader.picture(.visible))
        return Set(databases.map(\.container)).sorted { $0.identifier < $1.identifier }
    }
}
