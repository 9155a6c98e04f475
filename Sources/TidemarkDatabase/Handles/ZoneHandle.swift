// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// One zone as one device of one user sees it, to save, fetch and query records.
///
/// A handle is a value without connection and state; the zone need not exist. Functions throw as
/// those of ``Database`` do.
public struct ZoneHandle: Sendable {
    /// The database of the zone, with the caller.
    public let database: Database
    /// The zone.
    public let id: ZoneID

    /// Creates a handle of a zone.
    public init(_ database: Database, _ id: ZoneID) {
        self.database = database
        self.id = id
    }

    /// The zone's name.
    public var name: String { id.zoneName }

    package var service: any DatabaseService { database.service }
    package var caller: Caller { database.caller }

    /// Returns the id of a named record, if it is in this zone.
    package func recordID(_ record: some RecordNamed) throws(SyncError) -> RecordID {
        let found = record.recordID(in: id)
        guard found.zone == id else {
            throw SyncError(
                .invalidArguments,
                "The record \(found.recordName) is in the zone \(found.zone), but this is the "
                    + "handle of the zone \(id).",
                remedy: "Use the handle of the record's zone."
            )
        }
        return found
    }
}
