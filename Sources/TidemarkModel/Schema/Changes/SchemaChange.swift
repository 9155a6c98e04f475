// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One difference between two schemas.
///
/// A change of a missing part does nothing, so that applying never fails.
public enum SchemaChange: Hashable, Sendable {
    /// A custom role is added.
    case roleAdded(Schema.Role)
    /// A custom role is removed.
    case roleRemoved(Schema.Role)
    /// A record type is added, with its fields and grants.
    case recordTypeAdded(Schema.RecordType)
    /// A record type is removed, with its fields and grants.
    case recordTypeRemoved(Name)
    /// A field is added to a record type.
    case fieldAdded(Name, Schema.Field)
    /// A field is removed from a record type.
    case fieldRemoved(Name, Name)
    /// A field of a record type has another type than before.
    case fieldTypeChanged(Name, Name, from: Schema.DeclaredType, to: Schema.DeclaredType)
    /// A field of a record type has other indexes than before.
    case indexesChanged(Name, Name, from: Schema.Indexes, to: Schema.Indexes)
    /// The permissions of a role on a record type change.
    case permissionsChanged(Name, Schema.Role, from: Schema.Permissions, to: Schema.Permissions)

    /// The part of the schema that changes.
    public var place: Schema.Place {
        switch self {
        case .roleAdded(let role), .roleRemoved(let role): .role(role.name)
        case .recordTypeAdded(let recordType): .recordType(recordType.name)
        case .recordTypeRemoved(let name): .recordType(name)
        case .fieldAdded(let recordType, let field): .field(recordType, field.name)
        case .fieldRemoved(let recordType, let field): .field(recordType, field)
        case .fieldTypeChanged(let recordType, let field, _, _): .field(recordType, field)
        case .indexesChanged(let recordType, let field, _, _): .field(recordType, field)
        case .permissionsChanged(let recordType, let role, _, _): .grant(recordType, role)
        }
    }
}

extension SchemaChange: CustomStringConvertible {
    /// The change in a few words: `add field Note.title STRING QUERYABLE`.
    public var description: String {
        func spaced(_ indexes: Schema.Indexes) -> String {
            indexes.isEmpty ? "no index" : "\(indexes)"
        }
        func some(_ permissions: Schema.Permissions) -> String {
            permissions.isEmpty ? "nothing" : "\(permissions)"
        }
        return switch self {
        case .roleAdded(let role): "add role \(role)"
        case .roleRemoved(let role): "remove role \(role)"
        case .recordTypeAdded(let recordType):
            "add record type \(recordType.name) with \(recordType.fields.count { !$0.isSystem }) "
                + "fields"
        case .recordTypeRemoved(let name): "remove record type \(name)"
        case .fieldAdded(let recordType, let field):
            "add field \(recordType).\(field.name) \(field.type)"
                + (field.indexes.isEmpty ? "" : " \(field.indexes)")
        case .fieldRemoved(let recordType, let field): "remove field \(recordType).\(field)"
        case .fieldTypeChanged(let recordType, let field, let old, let new):
            "change field \(recordType).\(field) from \(old) to \(new)"
        case .indexesChanged(let recordType, let field, let old, let new):
            "change indexes of \(recordType).\(field) from \(spaced(old)) to \(spaced(new))"
        case .permissionsChanged(let recordType, let role, let old, let new):
            "change what \(role) may do with \(recordType) from \(some(old)) to \(some(new))"
        }
    }
}

extension Schema {
    /// Applies one change.
    public mutating func apply(_ change: SchemaChange) {
        switch change {
        case .roleAdded(let role): set(role)
        case .roleRemoved(let role): remove(role)
        case .recordTypeAdded(let recordType): set(recordType)
        case .recordTypeRemoved(let name): remove(recordType: name)
        case .fieldAdded(let recordType, let field):
            edit(recordType) { $0.set(field) }
        case .fieldRemoved(let recordType, let field):
            edit(recordType) { $0.remove(field: field) }
        case .fieldTypeChanged(let recordType, let field, _, let type):
            edit(recordType, field) { $0.type = type }
        case .indexesChanged(let recordType, let field, _, let indexes):
            edit(recordType, field) { $0.indexes = indexes }
        case .permissionsChanged(let recordType, let role, _, let permissions):
            edit(recordType) { $0.set(permissions, for: role) }
        }
    }

    /// Returns the schema after some changes, in their order.
    public func applying(_ changes: some Sequence<SchemaChange>) -> Schema {
        var schema = self
        for change in changes { schema.apply(change) }
        return schema
    }

    private mutating func edit(_ name: Name, _ edit: (inout RecordType) -> Void) {
        guard var recordType = self[name] else { return }
        edit(&recordType)
        set(recordType)
    }

    private mutating func edit(_ name: Name, _ field: Name, _ edit: (inout Field) -> Void) {
        self.edit(name) { recordType in
            guard var field = recordType[field] else { return }
            edit(&field)
            recordType.set(field)
        }
    }
}
