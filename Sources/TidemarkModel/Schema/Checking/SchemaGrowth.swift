// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The rules by which saves and queries extend a schema.
///
/// A schema grows by itself in development, and never in production.
public struct SchemaGrowth: Hashable, Sendable {
    /// The environment in which the schema is used.
    public var environment: Environment
    /// True if a new field gets every index that queries can use, as in CloudKit.
    ///
    /// Otherwise queries in development add the indexes that they need.
    public var indexesNewFields = true
    /// True if the first share creates the record type of shares in production too.
    ///
    /// CloudKit requires that a share is saved in development first. That has no use here.
    public var addsShareType = true

    /// Creates the default rules of an environment.
    public init(in environment: Environment) {
        self.environment = environment
    }
}

extension SchemaGrowth {
    /// Returns the changes that a save requires; none if the save fits.
    ///
    /// Removing a field requires none.
    ///
    /// Throws `invalidArguments` if the save is refused. In production this applies to a new record
    /// type or field. Everywhere it applies to a type other than the field's, to encrypted values
    /// in the public database, and to names that are reserved for the system. Throws
    /// `limitExceeded` for one type or field too many.
    public func changes(
        of schema: Schema,
        saving fields: Fields,
        as recordType: Name,
        in scope: DatabaseScope = .private,
        limits: Limits = Limits()
    ) throws(SyncError) -> [SchemaChange] {
        let known = schema[recordType]
        var wanted =
            if let known { known } else { try new(recordType, in: schema, limits: limits) }
        var added: [Schema.Field] = []
        for field in fields {
            guard let type = field.type else { continue }
            let name = Name(field.name)
            if field.isEncrypted, scope == .public { throw .encryptedInPublic(recordType, name) }
            if let own = wanted[name] {
                guard own.type.admits(type, isEncrypted: field.isEncrypted) else {
                    throw .valueTypeDiffers(recordType, own, type, isEncrypted: field.isEncrypted)
                }
            } else {
                let isEncrypted = field.isEncrypted
                added.append(try new(name, type, isEncrypted, in: recordType, limits: limits))
            }
        }
        let own = wanted.fields.count { !$0.isSystem } + added.count
        // A type that is above a lowered limit still accepts saves without new fields.
        guard added.isEmpty || own <= limits.fieldsPerRecordType else {
            throw .tooManyFields(own, of: recordType, limit: limits.fieldsPerRecordType)
        }
        // A new type is one change together with its fields.
        guard known == nil else { return added.map { .fieldAdded(recordType, $0) } }
        for field in added { wanted.set(field) }
        return [.recordTypeAdded(wanted)]
    }

    /// Returns the change that adds a save's record type.
    private func new(
        _ name: Name,
        in schema: Schema,
        limits: Limits
    ) throws(SyncError) -> Schema.RecordType {
        let isShare = name == Schema.RecordType.share.name
        guard environment == .development || isShare && addsShareType else {
            throw .newRecordType(name)
        }
        // The type of shares has a reserved name and fixed fields, so the checks of names do not
        // apply.
        if isShare { return .share }
        try limits.check(recordType: name)
        guard !name.isReservedForSystem else { throw .reservedName("record type", name) }
        guard schema.recordTypes.count < limits.recordTypesPerSchema else {
            throw .tooManyRecordTypes(name, limit: limits.recordTypesPerSchema)
        }
        return Schema.RecordType(name, grants: Schema.Grant.standard)
    }

    /// Returns the change that adds a save's field.
    private func new(
        _ name: Name,
        _ type: FieldType,
        _ isEncrypted: Bool,
        in recordType: Name,
        limits: Limits
    ) throws(SyncError) -> Schema.Field {
        guard environment == .development else { throw .newField(name, in: recordType) }
        try limits.check(fieldName: name)
        guard !name.isReservedForSystem else { throw .reservedName("field", name) }
        guard !isEncrypted || Schema.DeclaredType.canEncrypt(type) else {
            throw .cannotEncrypt(recordType, name, type)
        }
        let declared: Schema.DeclaredType = isEncrypted ? .encrypted(type) : .plain(type)
        return Schema.Field(name, declared, indexesNewFields ? declared.automaticIndexes : [])
    }
}

extension SchemaGrowth {
    /// Returns the changes that a query of a record type requires; none if all indexes exist.
    ///
    /// A search in all words requires one SEARCHABLE field; in development all texts become
    /// SEARCHABLE. The keys that no schema can name (`parent`, `share`) require no index.
    ///
    /// Throws `unknownItem` if the record type does not exist. Throws `invalidArguments` if a field
    /// does not exist or cannot be queried in this way, and in production if an index is missing.
    public func changes(
        of schema: Schema,
        querying recordType: Name,
        using requirements: [Query.IndexRequirement]
    ) throws(SyncError) -> [SchemaChange] {
        guard let type = schema[recordType] else { throw .recordTypeNotFound(recordType) }
        var grown = type
        for requirement in requirements {
            guard let key = requirement.key else {
                try addSearchable(to: &grown)
                continue
            }
            if !key.isInSchemas { continue }
            guard var field = grown[key.schemaName] else {
                throw .fieldNotFound(key.schemaName, in: recordType)
            }
            // Each schema has these, and no query can compare them.
            if case .field(let name) = key, Schema.SystemField(name) != nil {
                throw .fieldNotFound(name, in: recordType)
            }
            let index = requirement.kind.indexes
            switch field.type.use(of: index) {
            // CloudKit accepts an idle index in a schema file, but a query cannot use it.
            case .refused(let reason), .idle(let reason):
                throw .cannotIndex(key, field.type, index, reason)
            case .used where field.indexes.contains(index): continue
            case .used where environment == .production:
                throw .indexMissing(key, recordType, index)
            case .used:
                field.indexes.insert(index)
                grown.set(field)
            }
        }
        // Only indexes were added, so both have the same fields in the same order.
        return zip(type.fields, grown.fields).compactMap { old, new in
            guard old.indexes != new.indexes else { return nil }
            return .indexesChanged(recordType, old.name, from: old.indexes, to: new.indexes)
        }
    }

    private func addSearchable(to type: inout Schema.RecordType) throws(SyncError) {
        if type.fields.contains(where: { $0.indexes.contains(.searchable) }) { return }
        if environment == .production { throw .indexMissing(nil, type.name, .searchable) }
        for var field in type.fields where field.type.use(of: .searchable) == .used {
            if field.isSystem { continue }
            field.indexes.insert(.searchable)
            type.set(field)
        }
    }
}

extension Query.Key {
    /// The name in a schema.
    var schemaName: Name {
        switch self {
        case .field(let name): name
        case .system(let field): Name(field.schemaName)
        }
    }

    /// True if a schema can declare the key.
    var isInSchemas: Bool {
        guard case .system = self else { return true }
        return Schema.SystemField(schemaName) != nil
    }
}

extension Query.IndexKind {
    /// The index as an option in a schema.
    var indexes: Schema.Indexes {
        switch self {
        case .queryable: .queryable
        case .sortable: .sortable
        case .searchable: .searchable
        }
    }
}
