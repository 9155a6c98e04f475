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

    /// Reports of drift from here on, as it happens: what a build does in development that production,
    /// once something was promoted to it, does not have, and what production refuses it.
    ///
    /// Each gap is reported once for each build while the store is open. Ends when the store is closed.
    /// The oldest of more than 1,000 reports that nobody takes are dropped.
    public func schemaDriftReports() throws(SyncError) -> AsyncStream<SchemaDriftReport> {
        try parts.reader.driftReports.listen()
    }
}
