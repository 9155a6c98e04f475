// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A schema while one request is decided: which saves it refuses, and how it grows with the others.
package struct GrowingSchema: Sendable {
    /// A record type that the request is about.
    private struct Place {
        let name: Name
        /// The schema as it is.
        let stored: StoredSchema
        /// The same with all that the saves judged so far would bring; `nil` while they bring nothing.
        var wanted: StoredSchema?
    }

    private let types: any SchemaTypes
    private let growth: SchemaGrowth
    private let scope: DatabaseScope
    private let limits: Limits
    private var places: [Place] = []
    /// The place of the last save: the next one is mostly of the same type.
    private var last = 0
    /// How many record types the saves judged so far would bring.
    private var newTypeCount = 0
    /// The saves that bring something.
    private var bringers: [Int] = []

    /// Starts with the schema that a request to a database meets.
    package init(_ types: any SchemaTypes, for database: DatabaseID, limits: Limits) {
        self.types = types
        self.limits = limits
        growth = SchemaGrowth(in: database.environment)
        scope = database.scope
    }

    /// Position of the last event that it rests on.
    package var lastSequence: SequenceNumber { types.lastSequence }

    /// Why the schema refuses the save with an index; `nil` if the save fits, or the schema can grow
    /// so that it does.
    ///
    /// Two saves of a request that want one new field with two types cannot both be right: the later
    /// is refused. Throws if the schema cannot be read.
    package mutating func refusal(
        of save: RecordSave,
        at index: Int
    ) throws(SyncError) -> SyncError? {
        let place = try place(of: save.typeName)
        if fits(save, places[place].stored) { return nil }
        // Others of the request mostly bring the same.
        if let wanted = places[place].wanted, fits(save, wanted) {
            bringers.append(index)
            return nil
        }
        let old = places[place].wanted ?? places[place].stored
        let isNew = old.schema[save.typeName] == nil
        do throws(SyncError) {
            let grown = try grow(old, for: save)
            if isNew { try checkRoom(for: save.typeName) }
            places[place].wanted = grown
        } catch {
            return error
        }
        if isNew { newTypeCount += 1 }
        bringers.append(index)
        return nil
    }

    /// The record types that the saves that are done change, as they are and as they become; `nil` if
    /// the schema stays as it is.
    package func grown(
        by saves: [RecordSave],
        where isDone: (Int) -> Bool
    ) throws(SyncError) -> (old: Schema, new: Schema)? {
        var grown: [Int: StoredSchema] = [:]
        for index in bringers where isDone(index) {
            guard let place = places.firstIndex(where: { $0.name == saves[index].typeName }) else {
                continue
            }
            let old = grown[place] ?? places[place].stored
            if !fits(saves[index], old) { grown[place] = try grow(old, for: saves[index]) }
        }
        if grown.isEmpty { return nil }
        var change = (old: Schema(), new: Schema())
        for (place, schema) in grown {
            let name = places[place].name
            if let type = places[place].stored.schema[name] { change.old.set(type) }
            if let type = schema.schema[name] { change.new.set(type) }
        }
        return change
    }

    private mutating func place(of name: Name) throws(SyncError) -> Int {
        if last < places.count, places[last].name == name { return last }
        if let index = places.firstIndex(where: { $0.name == name }) {
            last = index
        } else {
            last = places.count
            places.append(Place(name: name, stored: try types.excerpt(name)))
        }
        return last
    }

    /// Refuses one record type too many; that of shares always has room.
    private func checkRoom(for name: Name) throws(SyncError) {
        if name == Schema.RecordType.share.name { return }
        let limit = limits.recordTypesPerSchema
        guard try types.hasRoom(for: newTypeCount + 1, limit: limit) else {
            throw .tooManyRecordTypes(name, limit: limit)
        }
    }

    private func fits(_ save: RecordSave, _ schema: StoredSchema) -> Bool {
        schema.checks.admit(save.fields, as: save.typeName, in: scope)
    }

    private func grow(
        _ old: StoredSchema,
        for save: RecordSave
    ) throws(SyncError) -> StoredSchema {
        let changes = try growth.changes(
            of: old.schema,
            saving: save.fields,
            as: save.typeName,
            in: scope,
            limits: limits
        )
        return StoredSchema(old.schema.applying(changes))
    }
}
