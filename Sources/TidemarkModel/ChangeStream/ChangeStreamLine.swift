// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One line of a change stream: one commit (Docs/formats/changes.md).
public struct ChangeStreamLine: Hashable, Sendable {
    /// One change of a commit.
    public enum Change: Hashable, Sendable {
        /// A record is saved as a whole: fields that it does not name are gone, and so is a parent.
        case save(recordID: RecordID, recordType: Name, fields: Fields, parent: Name? = nil)
        /// A record is deleted, if it exists.
        case delete(RecordID)
        /// A zone is created, if it does not exist.
        case createZone(ZoneID)
        /// A zone is deleted with its content, if it exists.
        case deleteZone(ZoneID, reason: ZoneDeletionReason = .deleted)

        /// The zone of the change.
        package var zone: ZoneID {
            switch self {
            case .save(let record, _, _, _), .delete(let record): record.zone
            case .createZone(let zone), .deleteZone(let zone, _): zone
            }
        }
    }

    /// The claimed time in milliseconds since 1970.
    public var time: Int64
    /// The user that made the changes.
    public var user: UserID
    /// From which device.
    public var device: String? {
        get { deviceName?.string }
        set { deviceName = newValue.map { Name($0) } }
    }

    private var deviceName: Name?
    /// With which build of the app.
    public var build: String? {
        get { buildName?.string }
        set { buildName = newValue.map { Name($0) } }
    }

    private var buildName: Name?
    /// The id that makes the commit idempotent; `nil` derives one from the line's content.
    public var requestID: String? {
        get { requestIDName?.string }
        set { requestIDName = newValue.map { Name($0) } }
    }

    private var requestIDName: Name?
    /// The database of the changes.
    public var database: DatabaseID
    /// The changes, in order.
    public var changes: [Change]

    /// Creates a commit.
    public init(
        time: Int64,
        user: UserID,
        device: String? = nil,
        build: String? = nil,
        requestID: String? = nil,
        database: DatabaseID = .standard,
        changes: [Change]
    ) {
        self.time = time
        self.user = user
        deviceName = device.map { Name($0) }
        buildName = build.map { Name($0) }
        requestIDName = requestID.map { Name($0) }
        self.database = database
        self.changes = changes
    }
}

extension ChangeStreamLine {
    /// Appends the line's content in a form that does not depend on how the JSON is written, for a
    /// hash that must never change (Docs/formats/changes.md, "Content").
    package func appendContent(to bytes: inout [UInt8]) {
        // The version of this form. With another version, the derived ids change, and a repeated
        // import would apply its lines again.
        bytes.append(1)
        bytes.append(littleEndian: time)
        // Each text has its length before it. Otherwise "a" and "bc" would have the content of "ab"
        // and "c".
        for text in [
            database.container.identifier, database.environment.rawValue, database.scope.name,
            database.owner.userRecordName, user.userRecordName, device ?? "", build ?? "",
            requestID ?? "",
        ] {
            bytes.append(counted: text)
        }
        bytes.append(littleEndian: UInt32(truncatingIfNeeded: changes.count))
        for change in changes {
            switch change {
            case .save(let recordID, let recordType, let fields, let parent):
                // A save without a parent keeps the form of op 1, and a deletion without a reason
                // that of op 4. The ids of such lines must stay the same.
                bytes.append(parent == nil ? 1 : 5)
                bytes.append(counted: recordID.zone.zoneName)
                bytes.append(counted: recordID.recordName)
                bytes.append(counted: recordType.string)
                if let parent { bytes.append(counted: parent.string) }
                bytes.append(littleEndian: UInt32(truncatingIfNeeded: fields.bytes.count))
                bytes.append(contentsOf: fields.bytes)
            case .delete(let recordID):
                bytes.append(2)
                bytes.append(counted: recordID.zone.zoneName)
                bytes.append(counted: recordID.recordName)
            case .createZone(let zone):
                bytes.append(3)
                bytes.append(counted: zone.zoneName)
            case .deleteZone(let zone, let reason):
                bytes.append(reason == .deleted ? 4 : 6)
                bytes.append(counted: zone.zoneName)
                if reason != .deleted { bytes.append(reason.rawValue) }
            }
        }
    }
}

extension [UInt8] {
    /// Appends a text after its length.
    fileprivate mutating func append(counted text: String) {
        append(littleEndian: UInt32(truncatingIfNeeded: text.utf8.count))
        append(text: text)
    }
}
