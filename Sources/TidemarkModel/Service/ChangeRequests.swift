// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A request for the changes in a zone.
public struct ZoneChangesRequest: Hashable, Codable, Sendable {
    /// The zone.
    public var zone: ZoneID
    /// The token of the last fetch; `nil` fetches everything.
    public var since: ChangeToken?
    /// The maximum number of records to return; `nil` leaves it to the store.
    ///
    /// A store may return fewer.
    public var limit: Int?
    /// The maximum bytes of records in the response; `nil` leaves it to the store.
    ///
    /// A page ends with the record that reaches it. If a store limits its pages to a number of
    /// records, it returns more of them to a request with this limit, unless it is strict.
    public var byteLimit: Int?
    /// The names of the fields to return; `nil` for all of them.
    ///
    /// They limit the content of each record, not the set of records.
    public var desiredKeys: [String]?

    /// Creates a request.
    public init(
        zone: ZoneID,
        since: ChangeToken? = nil,
        limit: Int? = nil,
        byteLimit: Int? = nil,
        desiredKeys: [String]? = nil
    ) {
        self.zone = zone
        self.since = since
        self.limit = limit
        self.byteLimit = byteLimit
        self.desiredKeys = desiredKeys
    }
}

/// A deletion, as clients receive it.
public struct DeletedRecord: Hashable, Codable, Sendable {
    /// The record that is gone.
    public let recordID: RecordID
    /// The type of the deleted record.
    public var recordType: String { recordTypeName.string }

    private let recordTypeName: Name
    /// The version that the deletion is.
    public let changeTag: RecordChangeTag

    private enum CodingKeys: String, CodingKey {
        case recordID, changeTag
        case recordTypeName = "recordType"
    }

    /// Creates a deletion.
    public init(recordID: RecordID, recordType: String, changeTag: RecordChangeTag) {
        self.recordID = recordID
        recordTypeName = Name(recordType)
        self.changeTag = changeTag
    }
}

/// One line of a zone's delta.
public enum RecordChange: Hashable, Codable, Sendable {
    /// The record is new or has changed; this is its latest version.
    case changed(Record)
    /// The record is gone.
    case deleted(DeletedRecord)
}

/// The changes in a zone after a token.
///
/// Every record occurs at most once, by its last change, oldest first.
public struct ZoneChanges: Hashable, Codable, Sendable {
    /// The zone.
    public let zone: ZoneID
    /// Changes in the order of the log.
    public let changes: RecordChanges
    /// The token that this response reaches.
    public let token: ChangeToken
    /// True if there are already more changes after the token.
    public let moreComing: Bool

    /// Collects an answer.
    public init(zone: ZoneID, changes: RecordChanges, token: ChangeToken, moreComing: Bool) {
        self.zone = zone
        self.changes = changes
        self.token = token
        self.moreComing = moreComing
    }
}

/// A request for the zones of the caller's database that changed.
public struct DatabaseChangesRequest: Hashable, Codable, Sendable {
    /// The token of the last fetch; `nil` fetches everything.
    public var since: ChangeToken?
    /// The maximum number of zones to return; `nil` leaves it to the store.
    public var limit: Int?

    /// Creates a request.
    public init(since: ChangeToken? = nil, limit: Int? = nil) {
        self.since = since
        self.limit = limit
    }
}

/// One line of a database's delta.
public enum ZoneChange: Hashable, Codable, Sendable {
    /// The zone is new, or its content has changed.
    case changed(ZoneID)
    /// The zone is gone.
    case deleted(ZoneID, ZoneDeletionReason)

    /// The zone of the change.
    public var zone: ZoneID {
        switch self {
        case .changed(let zone), .deleted(let zone, _): zone
        }
    }
}

/// The zones of a database that changed after a token.
///
/// Every zone occurs at most once, by its last change, oldest first.
public struct DatabaseChanges: Hashable, Codable, Sendable {
    /// Changes in the order of the log.
    public let changes: [ZoneChange]
    /// The token that this response reaches.
    public let token: ChangeToken
    /// True if there are already more changes after the token.
    public let moreComing: Bool

    /// Collects an answer.
    public init(changes: [ZoneChange], token: ChangeToken, moreComing: Bool) {
        self.changes = changes
        self.token = token
        self.moreComing = moreComing
    }
}
