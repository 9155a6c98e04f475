// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A schema while one request is decided: which saves it refuses, and how it grows with the others.
package struct GrowingSchema: Sendable {
    private let stored: StoredSchema
    private let growth: SchemaGrowth
    private let scope: DatabaseScope
    private let limits: Limits
    /// The schema with all that the saves judged so far would bring; `nil` while they bring nothing.
    private var wanted: Schema?
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
    package var lastSequence: UInt64 { stored.lastSequence }

    /// Why the schema refuses the save with an index; `nil` if the save fits, or the schema can grow
    /// so that it does.
    ///
    /// Two saves of a request that want one new field with two types cannot both be right: the later
    /// is refused.
    package mutating func refusal(of save: RecordSave, at index: Int) -> SyncError? {
        let type = Name(save.recordType)
        if stored.checks.admit(save.fields, as: type, in: scope) { return nil }
        do throws(SyncError) {
            let schema = wanted ?? stored.schema
            let changes = try changes(of: schema, for: save)
            if changes.isEmpty, wanted == nil { return nil }
            wanted = schema.applying(changes)
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
        var grown: Schema?
        for index in bringers where isDone(index) {
            let schema = grown ?? stored.schema
            grown = schema.applying(try changes(of: schema, for: saves[index]))
        }
        return grown
    }

    private func changes(
        of schema: Schema,
        for save: RecordSave
    ) throws(SyncError) -> [SchemaChange] {
        try growth.changes(
            of: schema,
            saving: save.fields,
            as: Name(save.recordType),
            in: scope,
            limits: limits
        )
    }
}
