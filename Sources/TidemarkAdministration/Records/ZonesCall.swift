// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel

/// Requests the zones of a database.
public struct ZonesCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "zones"
    /// See `AdministrationCall`.
    public typealias Answer = [Entry]

    /// The database; a shared one is read as its owner.
    public var database: DatabaseID
    /// The event after which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(of database: DatabaseID, asOf position: SequenceNumber? = nil) {
        self.database = database
        self.position = position
    }

    /// A zone, and its contents.
    public struct Entry: Codable, Hashable, Sendable {
        /// The zone.
        public var zone: ZoneID
        /// The current content; `nil` in a shared database, and as of a point.
        public var content: Content?
    }

    /// The current content of a zone.
    public struct Content: Codable, Hashable, Sendable {
        /// The number of records.
        public var recordCount: Int64
        /// The number of deletions that are remembered.
        public var tombstoneCount: Int64
        /// The last event.
        public var last: SequenceNumber
        /// The time at which the zone was created, in milliseconds since 1970.
        public var createdTime: Int64
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [Entry] {
        let store = try administration.store
        // The store lists zones for a caller, and the owner of the database may see all of them.
        let caller = administration.vouching(for: Caller(database: database, user: database.owner))
        // Views have figures as of now only.
        if let position {
            return try await store.zones(as: caller, asOf: position).map { Entry(zone: $0.zoneID) }
        }
        // Figures are of whole zones, of which a participant may see only parts.
        if database.scope == .shared {
            return try await store.zones(as: caller).map { Entry(zone: $0.zoneID) }
        }
        return try store.zoneFigures(of: database).map { figures in
            Entry(
                zone: figures.standing.identity.zone,
                content: Content(
                    recordCount: figures.liveCount,
                    tombstoneCount: figures.tombstoneCount,
                    last: figures.standing.head,
                    createdTime: figures.standing.createdTime
                )
            )
        }
    }
}
