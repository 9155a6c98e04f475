// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel

/// Requests a record, as it is or as it was.
public struct RecordCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "record"
    /// See `AdministrationCall`.
    public typealias Answer = Record

    /// The record.
    public var record: RecordID
    /// The database that holds it.
    public var database: DatabaseID
    /// The event after which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(_ record: RecordID, in database: DatabaseID, asOf position: SequenceNumber?) {
        self.record = record
        self.database = database
        self.position = position
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Record {
        try administration.store.record(record, of: database, asOf: position)
    }
}

/// Requests all records of a database, by zone and name.
public struct RecordsCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "export"
    /// See `AdministrationCall`.
    public typealias Piece = Record

    /// The database.
    public var database: DatabaseID
    /// One of its zones; `nil` for all.
    public var zone: ZoneID?
    /// The event after which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(of database: DatabaseID, in zone: ZoneID?, asOf position: SequenceNumber?) {
        self.database = database
        self.zone = zone
        self.position = position
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (Record) async throws -> Void
    ) async throws -> Nothing {
        let store = try administration.store
        return try await passing(to: receive) { take in
            try store.visitRecords(of: database, in: zone, asOf: position, take)
            return Nothing()
        }
    }
}

/// Requests the commits of all databases as a change stream, oldest first.
public struct CommitsCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "export-changes"
    /// See `AdministrationCall`.
    public typealias Piece = ChangeStreamLine

    /// The zone whose changes are wanted; `nil` for all.
    public var zone: ZoneID?
    /// The event with which the last whole commit may end; `nil` for now.
    public var position: SequenceNumber?
    /// The container whose changes are wanted; `nil` for all but the server's own.
    public var container: ContainerID?

    /// Describes the call.
    public init(
        in zone: ZoneID?,
        through position: SequenceNumber?,
        of container: ContainerID? = nil
    ) {
        self.zone = zone
        self.position = position
        self.container = container
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (ChangeStreamLine) async throws -> Void
    ) async throws -> Nothing {
        let store = try administration.store
        // A part of a commit under its request's id would stand against the whole one.
        let end = try position.map { try store.commitEnd(atOrBefore: $0) }
        return try await passing(to: receive) { take in
            try store.visitCommits(through: end) { line in
                guard let line = wanted(line) else { return true }
                return take(line)
            }
            return Nothing()
        }
    }

    /// Returns the wanted part of a commit; `nil` for nothing.
    private func wanted(_ line: ChangeStreamLine) -> ChangeStreamLine? {
        let found = line.database.container
        guard container.map({ $0 == found }) ?? (found != .server) else { return nil }
        guard let zone else { return line }
        var wanted = line
        wanted.changes.removeAll { $0.zone != zone }
        if wanted.changes.isEmpty { return nil }
        // A part of a line under the id of the whole request would keep an import from taking the
        // rest later.
        if wanted.changes.count < line.changes.count { wanted.requestID = nil }
        return wanted
    }
}

/// Requests a page of the records that fulfil a query, as an app would.
public struct QueryCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "query"
    /// See `AdministrationCall`.
    public typealias Answer = QueryPageResult

    /// The request.
    public var request: QueryRequest
    /// The caller.
    public var caller: Caller
    /// The event after which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(_ request: QueryRequest, as caller: Caller, asOf position: SequenceNumber?) {
        self.request = request
        self.caller = caller
        self.position = position
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> QueryPageResult {
        let store = try administration.store
        let caller = administration.vouching(for: caller)
        var request = request
        // An operator gets the largest pages. Without a limit, the store would use
        // `recordsPerQueryPage`.
        let most = store.options.limits.recordsPerPage
        request.limit = min(request.limit ?? most, most)
        guard let position else { return try await store.query(request, as: caller) }
        return try await store.query(request, as: caller, asOf: position)
    }
}

/// Requests a page of the changes in a zone after a token, as a device would.
public struct ChangesCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "changes"
    /// See `AdministrationCall`.
    public typealias Answer = ZoneChanges

    /// The request.
    public var request: ZoneChangesRequest
    /// The caller.
    public var caller: Caller
    /// The event up to which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(
        _ request: ZoneChangesRequest,
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) {
        self.request = request
        self.caller = caller
        self.position = position
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> ZoneChanges {
        let store = try administration.store
        let caller = administration.vouching(for: caller)
        guard let position else { return try await store.zoneChanges(request, as: caller) }
        return try await store.zoneChanges(request, as: caller, asOf: position)
    }
}
