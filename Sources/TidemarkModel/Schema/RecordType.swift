// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// A record type: its fields and its permissions in the public database.
    ///
    /// The fields include the six system fields, which every record has.
    public struct RecordType: NamedItem, Hashable, Sendable {
        /// The type's name.
        public let name: Name
        /// The fields in the order of their names' bytes, system fields included.
        public private(set) var fields: [Field]
        /// The permissions of roles in the public database, in the order of the roles' bytes.
        public private(set) var grants: [Grant]

        /// Creates a record type; of two fields with one name the later counts.
        ///
        /// System fields that are not given have no index. Grants to one role add up.
        public init(_ name: Name, fields: [Field] = [], grants: [Grant] = []) {
            self.name = name
            let system = SystemField.allCases.map { Field($0.name, $0.type) }
            // The given fields are last, because of two fields with one name the later one counts.
            self.fields = (system + fields.map(\.withSystemType)).sortedByName()
            self.grants = []
            for grant in grants {
                // A file may have several GRANT lines for one role.
                set(self[grant.role].union(grant.permissions), for: grant.role)
            }
        }

        /// The field of a name.
        ///
        /// O(log fields).
        public subscript(name: Name) -> Field? {
            fields.place(of: name).found.map { fields[$0] }
        }

        /// The permissions of a role.
        public subscript(role: Role) -> Permissions {
            grants.place(of: role.name).found.map { grants[$0].permissions } ?? []
        }

        /// Adds a field, or replaces the one of that name; a system field keeps its type.
        public mutating func set(_ field: Field) {
            fields.set(field.withSystemType)
        }

        /// Removes a field if it exists; a system field stays and loses its indexes.
        public mutating func remove(field name: Name) {
            guard let index = fields.place(of: name).found else { return }
            if fields[index].isSystem {
                fields[index].indexes = []
            } else {
                fields.remove(at: index)
            }
        }

        /// Sets the permissions of a role, replacing previous ones.
        public mutating func set(_ permissions: Permissions, for role: Role) {
            if !permissions.isEmpty {
                grants.set(Grant(permissions, to: role))
            } else if let index = grants.place(of: role.name).found {
                grants.remove(at: index)
            }
        }
    }

    /// A field: its name, its type and its indexes.
    public struct Field: NamedItem, Hashable, Sendable {
        /// The field's name.
        public let name: Name
        /// The type of the field's values.
        public var type: DeclaredType
        /// The indexes of the field.
        public var indexes: Indexes

        /// Creates a field.
        public init(_ name: Name, _ type: DeclaredType, _ indexes: Indexes = []) {
            self.name = name
            self.type = type
            self.indexes = indexes
        }

        /// True if every record type has this field.
        public var isSystem: Bool { SystemField(name) != nil }

        /// The field with the type that it must have if it is a system field.
        var withSystemType: Field {
            SystemField(name).map { Field(name, $0.type, indexes) } ?? self
        }
    }
}

extension Schema.RecordType {
    /// The name of the type of users' records.
    ///
    /// A constant of the program, unlike `users`, whose every access asks if it exists yet.
    @inlinable package static var usersName: Name { Name("Users") }

    /// The type of users' records, as a new container has it.
    public static let users = Schema.RecordType(
        usersName,
        fields: [Schema.Field("roles", .plain(.int64List))],
        grants: [Schema.Grant(.write, to: .creator), Schema.Grant(.read, to: .world)]
    )

    /// The type of shares, as CloudKit creates it with the first share.
    public static let share = Schema.RecordType(
        "cloudkit.share",
        fields: [
            Schema.Field("cloudkit.thumbnailImageData", .plain(.bytes)),
            Schema.Field("cloudkit.title", .plain(.string)),
            Schema.Field("cloudkit.type", .plain(.string)),
        ],
        grants: Schema.Grant.standard
    )

    /// True if the system created this type and gives it a meaning.
    public var isSystem: Bool { name.isUsersType || name.isShareType }
}

extension Name {
    /// True for the name of the type of users' records.
    @inline(__always)
    package var isUsersType: Bool { isText(Schema.RecordType.usersName, byteCount: 5) }

    /// True for the name of the type of share records.
    @inline(__always)
    package var isShareType: Bool {
        isText(Share.typeName, byteCount: Int(Share.recordTypeByteCount))
    }

    /// Compares the lengths first, because most types have another one.
    @inline(__always)
    private func isText(_ text: @autoclosure () -> Name, byteCount: Int) -> Bool {
        self.byteCount == byteCount && self == text()
    }
}
