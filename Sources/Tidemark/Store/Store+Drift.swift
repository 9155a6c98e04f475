// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

/// What builds of an app do in development that production's schema does not allow.
extension Store {
    /// What each build has written in development, or has had indexed there by its queries, that
    /// production's schema does not have now; since an event, or ever.
    ///
    /// Production would refuse all of it. Computed from the log: O(events).
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
