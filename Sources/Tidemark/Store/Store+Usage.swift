// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel
import TidemarkViews

/// Usage for operators: no permissions of users are checked.
extension Store {
    /// Returns the current usage of a database, counted from its records.
    ///
    /// O(records of the database): every body is read, but only its assets are decoded.
    public func usage(of database: DatabaseID) throws(SyncError) -> DatabaseUsage {
        let parts = try parts
        return try parts.reader.usage(of: database, try parts.reader.picture(.visible))
    }

    /// Returns the usage of every database that has a zone, in the order of their creation.
    ///
    /// O(records).
    public func usages() throws(SyncError) -> [DatabaseUsage] {
        let parts = try parts
        let picture = try parts.reader.picture(.visible)
        return try parts.reader.databases(picture).map { (database) throws(SyncError) in
            try parts.reader.usage(of: database, picture)
        }
    }

    /// Sets the quotas of single containers, replacing earlier ones, until the store is closed.
    ///
    /// A request that would exceed the quota of a container or of one of its databases fails with
    /// `quotaExceeded`; one that frees space does not. The first commit to a container with a limit
    /// on `bytes` counts all of the container's data. Throws in a store that is open for reading.
    public func setQuotas(_ quotas: [ContainerID: ContainerQuota]) throws(SyncError) {
        let writer = try parts.writer()
        writer.quotas.state.withLock { $0.set(quotas) }
        // Commits to databases without a quota are not reported to the counts.
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
