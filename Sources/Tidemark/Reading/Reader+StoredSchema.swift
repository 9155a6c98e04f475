// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Returns the schema of a database's container and environment as of a picture.
    ///
    /// O(1) unless the schema has changed since it was last read; else O(changes).
    func schema(
        of database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> any SchemaTypes {
        try schema(of: database, picture, picture.facts)
    }

    /// Does the same with the facts of the picture, if the caller has them.
    func schema(
        of database: DatabaseID,
        _ picture: ViewPicture,
        _ facts: any Facts
    ) throws(SyncError) -> any SchemaTypes {
        let home = database.ofSystemZones
        let asOf = picture.lastSystemSequence
        // Otherwise this picture shows an older state than the one that is remembered.
        let isNewest = picture.bound >= asOf
        let known = isNewest ? schemas.withLock { $0.known(of: home, asOf: asOf) } : nil
        if let known, known.isCurrent {
            return StandingSchema(known.types, of: home, over: facts)
        }
        let types = try knownTypes(of: home, after: known?.types, picture, facts)
        if isNewest { schemas.withLock { $0.keep(types, of: home, asOf: asOf) } }
        return StandingSchema(types, of: home, over: facts)
    }

    /// Returns the known types of a schema as of a picture, given the types that were known before.
    private func knownTypes(
        of home: DatabaseID,
        after old: KnownTypes?,
        _ picture: ViewPicture,
        _ facts: any Facts
    ) throws(SyncError) -> KnownTypes {
        let zone = ZoneIdentity(database: home, zoneName: SystemZone.schema.zone.name)
        let epoch = try facts.epoch(of: zone)
        guard let key = epoch.key, epoch.end == nil else {
            return KnownTypes(zone: nil, lastSequence: 0)
        }
        let standing = try SyncError.wrapping { () throws(ViewIndexError) in try picture.zone(key) }
        let head = standing.head
        // A dropped deletion is not among the changes.
        guard let old, old.zone == key, old.lastSequence <= head,
            old.lastSequence >= standing.tombstoneHorizon
        else {
            return KnownTypes(zone: key, lastSequence: head)
        }
        if old.lastSequence == head { return old }
        // An import of a schema changes so many types that reading only the requested ones costs
        // less.
        let limit = 64
        let changes = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: key, after: old.lastSequence, quiet: 0, limit: limit)
        }
        guard changes.count < limit else { return KnownTypes(zone: key, lastSequence: head) }
        var state = old.content
        for record in try facts.records(at: changes.map(\.sequence)) { try state.take(record) }
        return KnownTypes(zone: key, lastSequence: head, state)
    }
}

extension KnownTypes.State {
    /// Takes in that a record of the schema's zone was saved or deleted.
    fileprivate mutating func take(_ record: StoredRecord) throws(SyncError) {
        guard record.event.state == .live else {
            excerpts[Name(try record.readTombstone().name)] = nil
            // A role may have the name of a record type, and record types need each other.
            whole = nil
            return
        }
        let body = try record.readBody()
        let name = Name(body.recordName)
        excerpts[name] = nil
        // The record may replace one that is counted already. The count is only an upper bound.
        typeCountBound? += 1
        if whole == nil { return }
        let change = try SchemaRecords.schema(of: [body])
        for role in change.roles { whole?.set(role) }
        if let type = change[name] { whole?.set(type) }
    }
}

/// A schema as of a picture: the known part of it, and the source of the rest.
private final class StandingSchema: SchemaTypes {
    let known: KnownTypes
    let home: DatabaseID
    let facts: any Facts

    init(_ known: KnownTypes, of home: DatabaseID, over facts: any Facts) {
        self.known = known
        self.home = home
        self.facts = facts
    }

    var lastSequence: SequenceNumber { known.lastSequence }

    func excerpt(_ name: Name) throws(SyncError) -> StoredSchema {
        if let excerpt = known.excerpt(name) { return excerpt }
        var schema = Schema()
        if known.zone != nil,
            let record = try facts.record(named: name, of: .schema, in: home)
        {
            schema = try SchemaRecords.schema(of: [try record.readBody()])
        }
        let excerpt = StoredSchema(schema)
        known.keep(excerpt, name)
        return excerpt
    }

    func whole() throws(SyncError) -> Schema {
        try known.whole { () throws(SyncError) in
            let records = try facts.records(of: .schema, in: home)
            return try SchemaRecords.schema(
                of: try records.map { (record) throws(SyncError) in try record.readBody() }
            )
        }
    }

    var typeCountBound: Int {
        get throws(SyncError) {
            try known.typeCountBound { () throws(SyncError) in
                guard let zone = known.zone else { return 1 }
                // Roles are counted too, and `Users` may be among the records or not.
                return try facts.liveVersions(in: zone).count + 1
            }
        }
    }
}
