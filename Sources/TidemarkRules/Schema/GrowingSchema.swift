// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A schema during the decision of one request: the saves that it rejects, and its growth by the
/// other saves.
package struct GrowingSchema: Sendable {
    /// A record type that the request adds to.
    private struct Place {
        let name: Name
        /// The current schema.
        let stored: StoredSchema
        /// The schema with the additions of all saves judged so far.
        var wanted: StoredSchema
    }

    private let types: any SchemaTypes
    private let growth: SchemaGrowth
    private let scope: DatabaseScope
    /// The current schema of the last save's type, since the next save usually has the same type.
    private var last: StoredSchema?
    /// The place of that type in the schema's checks; `nil` if the schema does not have it.
    private var lastPlace: RecordChecks.TypePlace?
    private var lastName = Name("")
    /// Empty unless the schema grows.
    private var places: [Place] = []
    /// The number of record types that the saves judged so far would add.
    private var newTypeCount = 0
    /// The saves that add to the schema.
    private var bringers: [Int] = []

    /// Creates the schema for a request to a database.
    package init(_ types: any SchemaTypes, in environment: Environment, _ scope: DatabaseScope) {
        self.types = types
        growth = SchemaGrowth(in: environment)
        self.scope = scope
    }

    /// The position of the last event that the schema depends on.
    package var lastSequence: SequenceNumber { types.lastSequence }

    /// Returns the error of the save with an index; `nil` if the save fits, or the schema can grow
    /// so that it fits.
    ///
    /// If two saves of a request need one new field with different types, the later one is
    /// rejected. Throws if the schema cannot be read.
    package mutating func refusal(
        of saves: [RecordSave],
        at index: Int,
        _ limits: Limits
    ) throws(SyncError) -> SyncError? {
        let name = saves[index].typeName
        let stored = try stored(name)
        // Not by `fits`, whose call from here would copy the schema and the save.
        if stored.checks.admit(saves[index].fields, as: name, in: scope) { return nil }
        return try refusal(ofGrowing: stored, for: saves[index], at: index, limits)
    }

    /// True if a save so far brings a growth.
    var mayGrow: Bool { !bringers.isEmpty }

    /// Returns true if a save has the type of the save judged before it and fits that type, without
    /// removing a field; false says nothing.
    ///
    /// Reads nothing. It is mutating so that a caller's optional schema is not copied for the call.
    package mutating func surelyAdmits(_ saves: [RecordSave], at index: Int) -> Bool {
        guard let last, let lastPlace, lastName == saves[index].typeName,
            // The schema need not know a field that is removed.
            !saves[index].fields.mayHave(.removals)
        else { return false }
        return last.checks.admit(saves[index].fields, at: lastPlace, in: scope)
    }

    private mutating func refusal(
        ofGrowing stored: StoredSchema,
        for save: RecordSave,
        at index: Int,
        _ limits: Limits
    ) throws(SyncError) -> SyncError? {
        let place = places.firstIndex { $0.name == save.typeName }
        let wanted = place.map { places[$0].wanted }
        // Other saves of the request usually add the same.
        // Noted although nothing grows here: if the earlier save is rejected, this one brings the
        // growth.
        if let wanted, fits(save, wanted) {
            bringers.append(index)
            return nil
        }
        // Over the growth by earlier saves, so that two saves with different types for one new
        // field conflict.
        let old = wanted ?? stored
        let isNew = old.schema[save.typeName] == nil
        do throws(SyncError) {
            let grown = try grow(old, for: save, limits)
            if isNew { try checkRoom(for: save.typeName, limits) }
            if let place {
                places[place].wanted = grown
            } else {
                places.append(Place(name: save.typeName, stored: stored, wanted: grown))
            }
        } catch {
            return error
        }
        if isNew { newTypeCount += 1 }
        bringers.append(index)
        return nil
    }

    /// Returns the record types that the successful saves change, before and after; `nil` if the
    /// schema is unchanged.
    ///
    /// Changes nothing. It is mutating so that a caller's optional schema is not copied for the call.
    package mutating func grown(
        by saves: [RecordSave],
        _ verdicts: [Verdict],
        _ limits: Limits
    ) throws(SyncError) -> (old: Schema, new: Schema)? {
        var grown: [Int: StoredSchema] = [:]
        for index in bringers where verdicts.isSave(index) {
            guard let place = places.firstIndex(where: { $0.name == saves[index].typeName }) else {
                continue
            }
            // Grown again from the stored schema: `wanted` also has the additions of saves that
            // were rejected since.
            let old = grown[place] ?? places[place].stored
            if !fits(saves[index], old) { grown[place] = try grow(old, for: saves[index], limits) }
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

    private mutating func stored(_ name: Name) throws(SyncError) -> StoredSchema {
        if let last, lastName == name { return last }
        let stored = try types.excerpt(name)
        last = stored
        lastPlace = stored.checks.place(of: name)
        lastName = name
        return stored
    }

    /// Rejects a record type above the limit; the type of shares is always allowed.
    private func checkRoom(for name: Name, _ limits: Limits) throws(SyncError) {
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
        for save: RecordSave,
        _ limits: Limits
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
