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
        let database = line.database
        guard database.environment == .development, database.container != .server else { return }
        for change in line.changes {
            guard case .save(let recordID, let recordType, let fields, _) = change,
                !recordID.zone.isSystem
            else { continue }
            var known = found[database.container] ?? Found()
            if known.checks.admit(fields, as: recordType, in: database.scope) { continue }
            let changes = try? SchemaGrowth(in: .development).changes(
                of: known.schema,
                saving: fields,
                as: recordType,
                in: database.scope
            )
            guard let changes else { continue }
            known.schema = known.schema.applying(changes)
            known.checks = RecordChecks(known.schema)
            found[database.container] = known
        }
    }

    /// Returns what the development schemas of a store lack, by container.
    func missing(in store: Store) throws -> [(container: ContainerID, changes: [SchemaChange])] {
        try found.sorted { $0.key < $1.key }.compactMap { container, found in
            let changes = try store.schema(of: container).changes(to: found.schema)
                .filter { change in
                    switch change {
                    case .recordTypeAdded(let type): !type.isSystem
                    case .fieldAdded(let type, _): found.schema[type]?.isSystem == false
                    default: false
                    }
                }
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
