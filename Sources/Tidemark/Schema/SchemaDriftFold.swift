// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// Finds in the log's events the parts of the schema that builds of an app have written or indexed
/// in development and that production's schema lacks.
struct SchemaDriftFold {
    /// The gaps found so far.
    private(set) var drift = SchemaDrift()

    private let container: ContainerID
    private let production: Schema
    private let checks: RecordChecks
    /// The zones of the container's development, by key.
    private var zones: [ZoneKey: ZoneIdentity] = [:]
    /// The record types of development's schema, as of the last event.
    private var types: [Name: Schema.RecordType] = [:]
    /// The commit whose envelope was read last, and its build.
    private var lastCommit: (first: SequenceNumber, build: Name?)?

    /// Begins before the log's first event.
    init(of container: ContainerID, against production: Schema) {
        self.container = container
        self.production = production
        checks = RecordChecks(production)
    }

    /// Adds the next event.
    ///
    /// If `counts` is false, the event only updates the known schema.
    mutating func add(_ event: LogEvent, counts: Bool) throws(SyncError) {
        try SyncError.wrapping { () throws(EventFormatError) in
            let bytes = event.payload
            let payload = bytes.span.bytes
            switch EventKind(of: payload) {
            case .zoneCreated:
                let identity = try ZoneEvent.readCreation(payload).identity
                let database = identity.database
                // Only these zones are noted, so events of all others are passed over without being
                // decoded.
                guard database.container == container, database.environment == .development else {
                    return
                }
                zones[ZoneKey(createdAt: event.sequence)] = identity
            case .recordSaved:
                guard let zone = zones[event.zone] else { return }
                let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
                if zone.isSystem {
                    try addDefinition(try stored.body(), zone, event, counts: counts)
                } else if counts {
                    try add(try stored.body(), in: zone.database.scope, event)
                }
            default:
                return
            }
        }
    }

    /// Counts the parts of a save that production lacks.
    ///
    /// Only fields that the save named count for it.
    private mutating func add(
        _ body: RecordBody,
        in scope: DatabaseScope,
        _ event: LogEvent
    ) throws(EventFormatError) {
        if checks.admit(body, in: scope) { return }
        let fields = body.fields
        let gaps = production.gaps(saving: fields, as: Name(body.recordType)).filter { gap in
            guard let name = gap.fieldName, let index = fields.index(of: name.string) else {
                return true
            }
            // Stamp 0 marks the fields that this event has set. Others were noted at the event that
            // set them.
            return fields[index].stamp == 0
        }
        try note(gaps, event)
    }

    /// Counts the indexes that a query added, and records development's schema.
    ///
    /// Only clients state their build: an operator's import of a schema is not drift.
    private mutating func addDefinition(
        _ body: RecordBody,
        _ zone: ZoneIdentity,
        _ event: LogEvent,
        counts: Bool
    ) throws(EventFormatError) {
        guard SystemZone(zone.zoneName) == .schema,
            let type = try? SchemaRecords.schema(of: [body])[Name(body.recordName)]
        else { return }
        let old = types.updateValue(type, forKey: type.name)
        // A definition without a build was changed by an operator, which is no use by an app.
        guard counts, let old, let released = production[type.name],
            try build(of: event) != nil
        else { return }
        let gaps = type.fields.compactMap { field -> SchemaDrift.Gap? in
            guard let before = old[field.name], let after = released[field.name] else { return nil }
            let missing = field.indexes.subtracting(before.indexes).subtracting(after.indexes)
            return missing.isEmpty ? nil : .indexes(type.name, field.name, missing)
        }
        try note(gaps, event)
    }

    private mutating func note(
        _ gaps: [SchemaDrift.Gap],
        _ event: LogEvent
    ) throws(EventFormatError) {
        let gaps = gaps.filter { !$0.isClosedByProduction }
        if gaps.isEmpty { return }
        drift.note(gaps, build: try build(of: event), at: event.commit.time)
    }

    private mutating func build(of event: LogEvent) throws(EventFormatError) -> Name? {
        // All events of a commit share one envelope, so it is decoded once.
        if let lastCommit, lastCommit.first == event.commit.first { return lastCommit.build }
        let envelope = event.envelope
        let build = try CommitEnvelope(envelope.span.bytes).build.map { Name($0) }
        lastCommit = (event.commit.first, build)
        return build
    }
}
