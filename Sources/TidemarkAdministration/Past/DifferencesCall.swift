// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel
public import TidemarkReplay

/// Requests the differences between two points.
public struct DifferencesCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "diff"
    /// See `AdministrationCall`.
    public typealias Piece = Difference

    /// The event after which the comparison begins.
    public var first: SequenceNumber
    /// The last event of the comparison; `nil` for now.
    public var last: SequenceNumber?
    /// The database.
    public var database: DatabaseID
    /// One of its zones; `nil` for all.
    public var zone: ZoneID?
    /// The name of one record; `nil` for all.
    public var recordName: String?

    /// Describes the call.
    public init(
        after first: SequenceNumber,
        through last: SequenceNumber?,
        of database: DatabaseID,
        in zone: ZoneID? = nil,
        record recordName: String? = nil
    ) {
        self.first = first
        self.last = last
        self.database = database
        self.zone = zone
        self.recordName = recordName
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (Difference) async throws -> Void
    ) async throws -> Nothing {
        let store = try administration.store
        return try await passing(to: receive) { take in
            try await store.visitDifferences(
                after: first,
                through: last,
                of: database,
                in: zone,
                record: recordName,
                take
            )
            return Nothing()
        }
    }
}
