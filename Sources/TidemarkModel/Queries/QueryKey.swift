// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Query {
    /// The subject of a comparison or of an order: a field, or a system field of the record.
    public enum Key: Hashable, Codable, Sendable {
        /// A field that the app defined.
        case field(Name)
        /// A field that every record has.
        case system(SystemField)

        /// Creates a key from its CloudKit name.
        ///
        /// `creationDate` and the other names of ``SystemField`` in either spelling are system
        /// fields, even if a record has a field of that name. Every other name is a field.
        public init(_ text: String) {
            self = SystemField(text).map(Key.system) ?? .field(Name(text))
        }
    }

    /// The system fields of a record, under their names in predicates.
    public enum SystemField: String, Hashable, CaseIterable, Codable, Sendable {
        /// The record itself, compared by its name.
        case recordID
        /// The time of the first save.
        case creationDate
        /// The time of the save of the newest version.
        case modificationDate
        /// The user that saved the record first.
        case creatorUserRecordID
        /// The user that saved the newest version.
        case lastModifiedUserRecordID
        /// The record above it in a tree that is shared as a whole.
        case parent
        /// The share that it is the root of.
        case share

        /// The name in the schema language, such as `___createTime`.
        public var schemaName: String {
            switch self {
            case .recordID: "___recordID"
            case .creationDate: "___createTime"
            case .modificationDate: "___modTime"
            case .creatorUserRecordID: "___createdBy"
            case .lastModifiedUserRecordID: "___modifiedBy"
            case .parent: "___parent"
            case .share: "___share"
            }
        }

        /// The name in CloudKit JS, as a REST filter's `systemFieldName`.
        public var webName: String {
            switch self {
            case .recordID: "recordName"
            case .creationDate: "createdTimestamp"
            case .modificationDate: "modifiedTimestamp"
            case .creatorUserRecordID: "createdUserRecordName"
            case .lastModifiedUserRecordID: "modifiedUserRecordName"
            case .parent: "parent"
            case .share: "share"
            }
        }

        /// TIMESTAMP or REFERENCE.
        public var type: FieldType {
            switch self {
            case .creationDate, .modificationDate: .timestamp
            default: .reference
            }
        }

        /// Reads the name that predicates or the schema language have for it.
        public init?(_ text: String) {
            let name = Name(text)
            let found = Self.allCases.first {
                Name($0.rawValue) == name || Name($0.schemaName) == name
            }
            guard let found else { return nil }
            self = found
        }

        /// Reads the name in any of the three spellings.
        public init?(webName text: String) {
            let name = Name(text)
            let found = Self.allCases.first { Name($0.webName) == name } ?? Self(text)
            guard let found else { return nil }
            self = found
        }
    }
}

extension Query.Key: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Reads a key of CloudKit's.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The key as a person reads it: a field's name, or the name of a system field.
    public var description: String {
        switch self {
        case .field(let name): name.string
        case .system(let field): field.rawValue
        }
    }
}
