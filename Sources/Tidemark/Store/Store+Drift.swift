// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Reads the schema drift: the uses of the schema in development that production's schema does not
/// allow.
extension Store {
    /// Returns the parts of the schema that each build has used in development and that
    /// production's schema lacks now, since an event or ever.
    ///
    /// A build uses a part by writing it, or by a query that has it indexed. Production would
    /// reject all of these uses. Computed from the log: O(events).
    public func schemaDrift(
        of container: ContainerID = .standard,
        since first: SequenceNumber = 1
    ) throws(SyncError) -> SchemaDrift {
        try parts.reader.schemaDrift(of: container, since: first)
    }

    /// Returns later reports of schema drift as they occur: schema parts that a build uses in
    /// development and production lacks, and those that production rejects.
    ///
    /// In development nothing is reported before the first promotion. Each gap is reported once for
    /// each build while the store is open. The stream ends when the store is closed. If more than
    /// 1,000 reports are waiting, the oldest are dropped.
    public func schemaDriftReports() throws(SyncError) -> AsyncStream<SchemaDriftReport> {
        try parts.reader.driftReports.listen()
    }
}
