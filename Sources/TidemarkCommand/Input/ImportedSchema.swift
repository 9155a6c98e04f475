// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkModel

/// The record types and fields of imported records, by container, as saves would have added them to
/// the development schema.
///
/// An import adds nothing to the schema by itself: a stream that a store exported has the schema in it.
struct ImportedSchema {
    private struct Found {
        var schema = Schema()
        var checks = RecordChecks(Schema())
    }

    private var found: [ContainerID: Found] = [:]

    /// Takes in a line's records; those of production and of system zones add nothing to a schema.
    ///
    /// If two records have values of different types in one field, the later one adds nothing.
    mutating func add(_ line: ChangeStreamLine) {
        guard line.database.environment == .development else { return }
        for change in line.changes {
            guard case .save(let recordID, let recordType, let fields, _) = change,
                !recordID.zone.isSystem, line.database.container != .server
            else { continue }
            var known = found[line.database.container] ?? Found()
            if known.checks.admit(fields, as: recordType, in: line.database.scope) { continue }
            let changes = try? SchemaGrowth(in: .development).changes(
                of: known.schema,
                saving: fields,
                as: recordType,
                in: line.database.scope
            )
            guard let changes else { continue }
            known.schema = known.schema.applying(changes)
            known.checks = RecordChecks(known.schema)
            found[line.database.container] = known
        }
    }

    /// Returns what the development schemas of a store lack, by container.
    func missing(in store: Store) throws -> [(container: ContainerID, changes: [SchemaChange])] {
        try found.sorted { $0.key < $1.key }.compactMap { container, found in
            let current = try store.schema(of: container)
            let changes = found.schema.changes(missingIn: current)
            return changes.isEmpty ? nil : (container, changes)
        }
    }

    /// Adds what is missing to a store's development schemas, and returns the changes.
    func grow(_ store: Store) async throws -> [SchemaChange] {
        var all: [SchemaChange] = []
        for (container, changes) in try missing(in: store) {
            let wanted = try store.schema(of: container).applying(changes)
            all += try await store.importSchema(wanted, into: container).changes
        }
        return all
    }
}

extension Schema {
    /// Returns the additions of record types and fields that another schema lacks.
    fileprivate func changes(missingIn other: Schema) -> [SchemaChange] {
        recordTypes.filter { !$0.isSystem }.flatMap { type -> [SchemaChange] in
            guard let known = other[type.name] else { return [.recordTypeAdded(type)] }
            return type.fields.filter { !$0.isSystem && known[$0.name] == nil }
                .map { .fieldAdded(type.name, $0) }
        }
    }
}
