// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// The fields that every record has automatically.
    ///
    /// A schema names them to set their indexes.
    public enum SystemField: String, Hashable, CaseIterable, Sendable {
        /// The time of the record's first save.
        case createTime = "___createTime"
        /// The user that saved the record first.
        case createdBy = "___createdBy"
        /// Its change tag.
        case etag = "___etag"
        /// The time of this version's save.
        case modTime = "___modTime"
        /// The user that saved this version.
        case modifiedBy = "___modifiedBy"
        /// The record itself.
        case recordID = "___recordID"

        /// The name in a schema.
        public var name: Name { Name(rawValue) }

        /// The type of the field's values, which cannot be changed.
        public var type: DeclaredType {
            switch self {
            case .createTime, .modTime: .plain(.timestamp)
            case .createdBy, .modifiedBy, .recordID: .plain(.reference)
            case .etag: .plain(.string)
            }
        }

        /// The system field of a name in a schema.
        public init?(_ name: Name) {
            guard let field = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = field
        }

        /// The system field that a predicate or a filter means by a key: `creationDate` and its
        /// like natively, `createdTimestamp` and its like in CloudKit Web Services.
        public init?(key: Name) {
            // Among ASCII, equal strings are equal bytes.
            guard key.string.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
            switch key.string {
            case "recordID", "recordName": self = .recordID
            case "creationDate", "createdTimestamp": self = .createTime
            case "creatorUserRecordID", "createdUserRecordName": self = .createdBy
            case "modificationDate", "modifiedTimestamp": self = .modTime
            case "lastModifiedUserRecordID", "modifiedUserRecordName": self = .modifiedBy
            default: self.init(key)
            }
        }
    }
}

extension Schema.RecordType {
    /// The field that a query means by a key: the type's own field of that name, or else a system
    /// field under any of its names.
    public func field(key: Name) -> Schema.Field? {
        self[key] ?? Schema.SystemField(key: key).flatMap { self[$0.name] }
    }
}
