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

        /// Creates the system field of a name in a schema.
        public init?(_ name: Name) {
            guard let field = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = field
        }

        /// Creates the system field for a key of a predicate or a filter.
        ///
        /// The keys are `creationDate` and so on in predicates, `createdTimestamp` and so on in
        /// CloudKit Web Services.
        public init?(key: Name) {
            // For ASCII, equal strings have equal bytes.
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
    /// Returns the field for a key of a query: the type's own field of that name, or else a system
    /// field under any of its names.
    public func field(key: Name) -> Schema.Field? {
        self[key] ?? Schema.SystemField(key: key).flatMap { self[$0.name] }
    }
}
