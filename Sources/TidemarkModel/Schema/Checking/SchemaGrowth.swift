// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// How a schema grows with what is saved and asked: by itself in development, never in production.
public struct SchemaGrowth: Hashable, Sendable {
    /// Where the schema is used.
    public var environment: Environment
    /// Whether a new field gets every index that queries can use, as CloudKit does it.
    ///
    /// Without them, queries in development add those that they need.
    public var indexesNewFields = true
    /// Whether the type of shares comes into being with the first share in production too.
    ///
    /// CloudKit wants a share to be saved in development first, which teaches nobody anything.
    public var addsShareType = true

    /// How a schema grows in an environment.
    public init(in environment: Environment) {
        self.environment = environment
    }
}

extension SchemaGrowth {
    /// What the schema lacks for a save; nothing if the save fits.
    ///
    /// Removing a field needs none. Throws `invalidArguments` for what is refused: in production a
    /// new record type or field, everywhere another type than the field has, encrypted values in the
    /// public database, and names that are kept for the system; `limitExceeded` for one type or
    /// field too many.
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
        guard added.isEmpty || own <= limits.fieldsPerRecordType else {
            throw .tooManyFields(own, of: recordType, limit: limits.fieldsPerRecordType)
        }
        guard known == nil else { return added.map { .fieldAdded(recordType, $0) } }
        for field in added { wanted.set(field) }
        return [.recordTypeAdded(wanted)]
    }

    /// A record type that a save brings.
    private func new(
        _ name: Name,
        in schema: Schema,
        limits: Limits
    ) throws(SyncError) -> Schema.RecordType {
        let isShare = name == Schema.RecordType.share.name
        guard environment == .development || isShare && addsShareType else {
            throw .newRecordType(name)
        }
        if isShare { return .share }
        try limits.check(recordType: name)
        guard !name.isReservedForSystem else { throw .reservedName("record type", name) }
        guard schema.recordTypes.count < limits.recordTypesPerSchema else {
            throw .tooManyRecordTypes(name, limit: limits.recordTypesPerSchema)
        }
        return Schema.RecordType(name, grants: Schema.Grant.standard)
    }

    /// A field that a save brings.
    private func new(
        _ name: Name,
        _ type: FieldType,
        _ isEncrypted: Bool,
        in recordType: Name,
        limits: Limits
    ) throws(SyncError) -> Schema.Field {
        guard environment == .development else { throw .newField(name, in: recordType) }
        try limits.check(recordType: name)
        guard !name.isReservedForSystem else { throw .reservedName("field", name) }
        guard !isEncrypted || Schema.DeclaredType.canEncrypt(type) else {
            throw .cannotEncrypt(recordType, name, type)
        }
        let declared: Schema.DeclaredType = isEncrypted ? .encrypted(type) : .plain(type)
        return Schema.Field(name, declared, indexesNewFields ? declared.automaticIndexes : [])
    }
}

extension SchemaGrowth {
    /// What the schema lacks for a query of a record type that needs some indexes; nothing if it has
    /// them all.
    ///
    /// A search in all words needs one field that is SEARCHABLE; development makes all texts so. What
    /// no schema can name (`parent`, `share`) needs no index.
    ///
    /// Throws `unknownItem` for a record type that does not exist, `invalidArguments` for a field that
    /// does not exist or cannot be asked for so, and in production for an index that is missing.
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
            let index = requirement.kind.indexes
            if field.indexes.contains(index) { continue }
            switch field.type.use(of: index) {
            case .refused(let reason), .idle(let reason):
                throw .cannotIndex(key, field.type, index, reason)
            case .used where environment == .production:
                throw .indexMissing(key, recordType, index)
            case .used:
                field.indexes.insert(index)
                grown.set(field)
            }
        }
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

    /// Whether a schema can say something about it.
    var isInSchemas: Bool {
        guard case .system = self else { return true }
        return Schema.SystemField(schemaName) != nil
    }
}

extension Query.IndexKind {
    /// The same, as a schema has it.
    var indexes: Schema.Indexes {
        switch self {
        case .queryable: .queryable
        case .sortable: .sortable
        case .searchable: .searchable
        }
    }
}
