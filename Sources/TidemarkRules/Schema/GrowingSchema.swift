// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A schema while one request is decided: which saves it refuses, and how it grows with the others.
package struct GrowingSchema: Sendable {
    private let stored: StoredSchema
    private let growth: SchemaGrowth
    private let scope: DatabaseScope
    private let limits: Limits
    /// The schema with all that the saves judged so far would bring; `nil` while they bring nothing.
    private var wanted: StoredSchema?
    /// The saves that bring something.
    private var bringers: [Int] = []

    /// Starts with the schema that a request to a database meets.
    package init(_ stored: StoredSchema, for database: DatabaseID, limits: Limits) {
        self.stored = stored
        self.limits = limits
        growth = SchemaGrowth(in: database.environment)
        scope = database.scope
    }

    /// The schema as it is.
    package var current: Schema { stored.schema }
    /// Position of the last event that it rests on.
    package var lastSequence: SequenceNumber { stored.lastSequence }

    /// Why the schema refuses the save with an index; `nil` if the save fits, or the schema can grow
    /// so that it does.
    ///
    /// Two saves of a request that want one new field with two types cannot both be right: the later
    /// is refused.
    package mutating func refusal(of save: RecordSave, at index: Int) -> SyncError? {
        if fits(save, stored) { return nil }
        // Others of the request mostly bring the same.
        if let wanted, fits(save, wanted) {
            bringers.append(index)
            return nil
        }
        do throws(SyncError) {
            wanted = try grow(wanted ?? stored, for: save)
            bringers.append(index)
            return nil
        } catch {
            return error
        }
    }

    /// The schema after the saves that are done; `nil` if it stays as it is.
    package func grown(
        by saves: [RecordSave],
        where isDone: (Int) -> Bool
    ) throws(SyncError) -> Schema? {
        var grown: StoredSchema?
        for index in bringers where isDone(index) {
            if let grown, fits(saves[index], grown) { continue }
            grown = try grow(grown ?? stored, for: saves[index])
        }
        return grown?.schema
    }

    private func fits(_ save: RecordSave, _ schema: StoredSchema) -> Bool {
        schema.checks.admit(save.fields, as: Name(save.recordType), in: scope)
    }

    private func grow(
        _ old: StoredSchema,
        for save: RecordSave
    ) throws(SyncError) -> StoredSchema {
        let changes = try growth.changes(
            of: old.schema,
            saving: save.fields,
            as: Name(save.recordType),
            in: scope,
            limits: limits
        )
        return StoredSchema(old.schema.applying(changes), lastSequence: old.lastSequence)
    }
}
