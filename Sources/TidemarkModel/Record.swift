// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The time, the user and the device of a change to a record.
public struct Authorship: Hashable, Sendable {
    /// Milliseconds since 1970.
    public var time: Int64
    /// The user; `nil` if it is not known.
    public var user: UserID?
    /// The device it was done from, as the device calls itself.
    public var device: String? {
        get { deviceName?.string }
        set { deviceName = newValue.map { Name($0) } }
    }

    private(set) var deviceName: Name?

    /// Creates the time, the user and the device of a change.
    public init(time: Int64, user: UserID?, device: String? = nil) {
        self.time = time
        self.user = user
        deviceName = device.map { Name($0) }
    }
}

/// One version of a record: its identity, its change tag and its bytes.
///
/// Nothing is decoded before it is accessed.
public struct Record: Hashable, Sendable {
    /// The zone it is in.
    public let zone: ZoneID
    /// The tag of this version; `nil` if no store has seen the version.
    public let changeTag: RecordChangeTag?
    /// The record's bytes.
    public let body: RecordBody

    /// Creates a record from its parts.
    public init(zone: ZoneID, changeTag: RecordChangeTag?, body: RecordBody) {
        self.zone = zone
        self.changeTag = changeTag
        self.body = body
    }

    /// The record's identity.
    public var recordID: RecordID { RecordID(recordName: body.recordName, zone: zone) }

    /// The record's type.
    public var recordType: String { body.recordType }

    /// The time of the first save, and the user that made it.
    public var created: Authorship { body.created }

    /// The time of the save of this version, and the user that made it.
    public var modified: Authorship { body.modified }

    /// Its fields, in the order of their names' bytes.
    public var fields: Fields { body.fields }

    /// The value of a field; `nil` if the record has none of that name.
    ///
    /// O(log fields).
    public subscript(_ fieldName: String) -> FieldValue? { body.fields[fieldName] }
}

extension Record: CustomStringConvertible {
    /// The type, the identity, the version, and the fields that have values.
    public var description: String {
        let fields = fields.present.map { "\($0.name): \($0.value.map { "\($0)" } ?? "invalid")" }
        let version = changeTag.map { ", version \($0)" } ?? ""
        return "\(recordType) \(recordID)\(version): [\(fields.joined(separator: ", "))]"
    }
}

/// The three records of a conflict.
public struct ConflictRecords: Hashable, Codable, Sendable {
    /// The record that the client tried to save.
    public let client: Record
    /// The version that the client had; `nil` if it had none, or the store no longer has it.
    public let ancestor: Record?
    /// The version that the server has: put the merged values onto this one and save it.
    public let server: Record

    /// Creates a conflict.
    public init(client: Record, ancestor: Record?, server: Record) {
        self.client = client
        self.ancestor = ancestor
        self.server = server
    }
}
