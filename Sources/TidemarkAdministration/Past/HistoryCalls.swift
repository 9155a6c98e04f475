// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel
public import TidemarkReplay

/// Requests the history of a record, newest first.
public struct HistoryCall: StoreCall {
    /// See `AdministrationCall`.
    public static let name = "history"
    /// See `AdministrationCall`.
    public typealias Piece = RecordHistory.Entry

    /// The record.
    public var record: RecordID
    /// The database that holds it.
    public var database: DatabaseID
    /// At most how many entries; `nil` for all.
    public var limit: Int?

    /// Describes the call.
    public init(of record: RecordID, in database: DatabaseID, limit: Int? = nil) {
        self.record = record
        self.database = database
        self.limit = limit
    }

    /// See `StoreCall`.
    public func answer(
        from administration: StoreAdministration,
        receive: (RecordHistory.Entry) async throws -> Void
    ) async throws -> Nothing {
        var left = limit ?? .max
        guard left > 0 else { return Nothing() }
        // Entries are read one by one as they are received, so no thread waits for a slow receiver.
        for try await entry in try await administration.store.history(of: record, in: database) {
            try await receive(entry)
            left -= 1
            if left == 0 { break }
        }
        return Nothing()
    }
}

/// Requests the event that set each field of a record.
public struct BlameCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "blame"
    /// See `AdministrationCall`.
    public typealias Answer = Blame

    /// The record.
    public var record: RecordID
    /// The database that holds it.
    public var database: DatabaseID
    /// The event after which; `nil` for now.
    public var position: SequenceNumber?

    /// Describes the call.
    public init(of record: RecordID, in database: DatabaseID, asOf position: SequenceNumber?) {
        self.record = record
        self.database = database
        self.position = position
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Blame {
        try await administration.store.blame(of: record, in: database, asOf: position)
    }
}

/// Asks why a device does not have a version of a record.
public struct AbsenceCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "why"
    /// See `AdministrationCall`.
    public typealias Answer = Explanation

    /// The record.
    public var record: RecordID
    /// The database that holds it.
    public var database: DatabaseID
    /// The event after which the version stood; `nil` for the newest.
    public var position: SequenceNumber?
    /// The device.
    public var device: String
    /// The user of the device; `nil` for the user that the journal last saw with it.
    public var user: UserID?

    /// Describes the call.
    public init(
        of record: RecordID,
        in database: DatabaseID,
        asOf position: SequenceNumber?,
        from device: String,
        of user: UserID?
    ) {
        self.record = record
        self.database = database
        self.position = position
        self.device = device
        self.user = user
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Explanation {
        try await administration.store.explainAbsence(
            of: record,
            in: database,
            asOf: position,
            from: device,
            of: user
        )
    }
}

/// Requests a case that reproduces the history of some records.
public struct CaseCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "case"
    /// See `AdministrationCall`.
    public typealias Answer = Case

    /// The values that are replaced.
    public enum Masking: String, Codable, Sendable {
        /// None.
        case nothing
        /// Values of fields.
        case values
        /// Values, and names of users, devices, zones and records.
        case names
    }

    /// The records.
    public var records: [RecordID]
    /// The database that holds them.
    public var database: DatabaseID
    /// The values to mask.
    public var masking: Masking

    /// Describes the call.
    public init(of records: [RecordID], in database: DatabaseID, masking: Masking = .nothing) {
        self.records = records
        self.database = database
        self.masking = masking
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Case {
        let found = try await administration.store.makeCase(of: records, in: database)
        return masking == .nothing ? found : try found.masked(names: masking == .names)
    }
}
