// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Names of schemas in the words of a program, where they are `String`s.

extension Schema {
    /// The record type of a name.
    ///
    /// O(log record types).
    public subscript(name: String) -> RecordType? { self[Name(name)] }
}

extension Schema.RecordType {
    /// Creates a record type; of two fields with one name the later counts.
    public init(_ name: String, fields: [Schema.Field] = [], grants: [Schema.Grant] = []) {
        self.init(Name(name), fields: fields, grants: grants)
    }

    /// The field of a name.
    ///
    /// O(log fields).
    public subscript(name: String) -> Schema.Field? { self[Name(name)] }
}

extension Schema.Field {
    /// Creates a field.
    public init(_ name: String, _ type: Schema.DeclaredType, _ indexes: Schema.Indexes = []) {
        self.init(Name(name), type, indexes)
    }
}

extension Schema.Role {
    /// Names a role.
    public init(_ name: String) {
        self.init(Name(name))
    }
}
