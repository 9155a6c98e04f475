// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel
public import TidemarkReplay

/// Finds the event with which some record first matched a predicate.
public struct BisectionCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "bisect"
    /// See `AdministrationCall`.
    public typealias Answer = Holding

    /// The predicate that a record must match.
    public var predicate: Query.Predicate
    /// The type of the records that count; `nil` for all.
    public var recordType: String?
    /// The database.
    public var database: DatabaseID
    /// The zone of the records that count; `nil` for all.
    public var zone: ZoneID?
    /// The event after which the search begins.
    public var first: SequenceNumber
    /// The event with which it ends.
    public var last: SequenceNumber

    /// Describes the call.
    public init(
        for predicate: Query.Predicate,
        type recordType: String? = nil,
        in database: DatabaseID,
        zone: ZoneID? = nil,
        after first: SequenceNumber,
        through last: SequenceNumber
    ) {
        self.predicate = predicate
        self.recordType = recordType
        self.database = database
        self.zone = zone
        self.first = first
        self.last = last
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Holding {
        try await administration.store.holding(
            of: predicate,
            type: recordType,
            in: database,
            zone: zone,
            after: first,
            through: last
        )
    }
}
