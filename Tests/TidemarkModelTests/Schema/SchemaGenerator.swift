// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport

@testable import TidemarkModel

/// Schemas without errors, made by a generator.
extension Schema {
    private static let names: [Name] = [
        "Note", "note", "a", "Z9", "a_b", "grant", "SORTABLE", "preferred", "type", "to",
        "list", "record", "READ", "title", "due", "done", "a.b", "CD_name", "zzzzzzzzzzzzzzzzzzzz",
    ]

    static func random(using generator: inout SeededGenerator) -> Schema {
        let roles = names.shuffled(using: &generator).prefix(
            Int.random(in: 0...3, using: &generator)
        )
        .map { Role($0) }
        var schema = Schema(roles: roles, recordTypes: [])
        for name in names.shuffled(using: &generator)
            .prefix(Int.random(in: 0...4, using: &generator))
        {
            schema.set(.random(name, roles: roles, using: &generator))
        }
        if Bool.random(using: &generator) { schema.set(.share) }
        if Bool.random(using: &generator) {
            var users = RecordType.users
            users.set(Field("nickname", .plain(.string), .queryable))
            schema.set(users)
        }
        return schema
    }

    /// The schema with some things added, removed and changed.
    func varied(using generator: inout SeededGenerator) -> Schema {
        let other = Schema.random(using: &generator)
        var schema = self
        for role in other.roles where Bool.random(using: &generator) { schema.set(role) }
        for recordType in other.recordTypes {
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: schema.set(recordType)
            case 1: schema.remove(recordType: recordType.name)
            case 2:
                guard var own = schema[recordType.name] else { continue }
                for field in recordType.fields {
                    if Bool.random(using: &generator) { own.set(field) }
                }
                if let field = own.fields.randomElement(using: &generator) {
                    own.remove(field: field.name)
                }
                for grant in recordType.grants { own.set(grant.permissions, for: grant.role) }
                schema.set(own)
            default: break
            }
        }
        return schema
    }
}

extension Schema.RecordType {
    static func random(
        _ name: Name,
        roles: [Schema.Role],
        using generator: inout SeededGenerator
    ) -> Schema.RecordType {
        var recordType = Schema.RecordType(name)
        let count = Int.random(in: 0...8, using: &generator)
        for field in Schema.fieldNames.shuffled(using: &generator).prefix(count) {
            recordType.set(.random(field, using: &generator))
        }
        for field in Schema.SystemField.allCases where Bool.random(using: &generator) {
            recordType.set(
                Schema.Field(
                    field.name,
                    field.type,
                    Schema.Indexes(rawValue: .random(in: 0...7, using: &generator))
                )
            )
        }
        for role in [.world, .icloud, .creator] + roles where Bool.random(using: &generator) {
            recordType.set(
                Schema.Permissions(rawValue: .random(in: 0...7, using: &generator)),
                for: role
            )
        }
        return recordType
    }
}

extension Schema {
    fileprivate static var fieldNames: [Name] { names }
}

extension Schema.Field {
    static func random(_ name: Name, using generator: inout SeededGenerator) -> Schema.Field {
        let type = Schema.DeclaredType.all.randomElement(using: &generator) ?? .plain(.string)
        let indexes = Schema.Indexes.all.each.filter { index in
            if case .refused = type.use(of: index) { return false }
            return Bool.random(using: &generator)
        }
        return Schema.Field(name, type, Schema.Indexes(indexes))
    }
}

extension Schema.DeclaredType {
    /// Every type that there is.
    static var all: [Schema.DeclaredType] {
        let plain = FieldType.allCases.map(Schema.DeclaredType.plain)
        let encrypted = FieldType.allCases.filter(canEncrypt).map(Schema.DeclaredType.encrypted)
        return plain + encrypted + [.number, .numberList]
    }
}
