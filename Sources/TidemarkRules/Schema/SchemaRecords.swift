// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkModel

/// The encoding of a schema as records of the zone `_schema`.
///
/// Each record has one field, `definition`, with the text of the record type or role in a `.ckdb`
/// file. The names of role records have another form, since a record type may have a role's name.
package enum SchemaRecords {
    private static let definition = "definition"
    private static let rolePrefix = "role/"

    /// Returns the saves that turn a schema into another one.
    package static func saves(from old: Schema, to new: Schema) throws(SyncError) -> [RecordSave] {
        var saves: [RecordSave] = []
        // A role has no content besides its name, so it is only added or removed.
        for role in new.roles where !old.knows(role) {
            saves.append(try save(rolePrefix + role.name.string, "Role", role.text))
        }
        for type in new.recordTypes where old[type.name] != type {
            saves.append(try save(type.name.string, "RecordType", type.text))
        }
        return saves
    }

    /// Returns the records that are deleted when a schema becomes another one.
    ///
    /// `Users` always exists: its form in a new container is not stored.
    package static func deletions(from old: Schema, to new: Schema) -> [Name] {
        old.roles.filter { !new.knows($0) }.map { Name(rolePrefix + $0.name.string) }
            + old.recordTypes.map(\.name).filter { new[$0] == nil }
    }

    private static func save(
        _ name: String,
        _ type: String,
        _ text: String
    ) throws(SyncError) -> RecordSave {
        RecordSave(
            RecordID(recordName: name, zone: SystemZone.schema.zone),
            type: type,
            fields: try Fields([definition: .string(text)]),
            policy: .replace
        )
    }

    /// Returns the schema in some records of the zone.
    ///
    /// Throws `internalError` if the records cannot be read, which only an import could cause.
    package static func schema(of bodies: [RecordBody]) throws(SyncError) -> Schema {
        var text = "DEFINE SCHEMA\n"
        for body in bodies {
            guard case .string(let definition)? = body.fields[definition] else {
                throw unreadable("the record \(body.recordName) has no text \"\(definition)\"")
            }
            // Parsed once for all records: together they are the text of one `.ckdb` file.
            text += definition
        }
        do throws(SchemaSyntaxError) {
            return try SchemaFile(text).schema
        } catch {
            throw unreadable(error.message)
        }
    }

    /// Rejects a save of an import that would make the schema unreadable.
    package static func check(_ save: RecordSave) throws(SyncError) {
        guard save.recordID.zone.zoneName == SystemZone.schema.rawValue else { return }
        guard case .string(let definition)? = save.fields[definition] else {
            throw invalid(save, "it has no text \"\(Self.definition)\"")
        }
        let schema: Schema
        do throws(SchemaSyntaxError) {
            schema = try SchemaFile("DEFINE SCHEMA\n" + definition).schema
        } catch {
            throw invalid(save, error.message)
        }
        let name = save.recordID.recordName
        // The name of the record must match its content: `excerpt(_:)` finds a type by the name of
        // its record.
        let says =
            schema.roles.map { rolePrefix + $0.name.string }
            + schema.recordTypes.map(\.name.string)
        // Two at most, because every schema has `Users` besides what it defines.
        guard says.contains(name), schema.roles.count + schema.recordTypes.count <= 2 else {
            throw invalid(save, "its definition is not of what the record is named after")
        }
    }

    private static func invalid(_ save: RecordSave, _ reason: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "The record \(save.recordID.recordName) cannot be part of a schema: \(reason). Import "
                + "schemas with `tidemark schema import`."
        )
    }

    private static func unreadable(_ reason: String) -> SyncError {
        SyncError(
            .internalError,
            "The schema in the zone \(SystemZone.schema.rawValue) cannot be read: \(reason). Import "
                + "it again with `tidemark schema import`."
        )
    }
}

extension SystemChange {
    /// Returns the change that turns a schema into another one.
    package static func schema(from old: Schema, to new: Schema) throws(SyncError) -> SystemChange {
        SystemChange(
            zone: .schema,
            saves: try SchemaRecords.saves(from: old, to: new),
            deletions: SchemaRecords.deletions(from: old, to: new)
        )
    }
}
