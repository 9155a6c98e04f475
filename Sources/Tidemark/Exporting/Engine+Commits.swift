// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Engine {
    /// See ``Store/visitCommits(from:through:_:)``.
    func visitCommits(
        from first: SequenceNumber,
        through last: SequenceNumber?,
        _ visit: (ChangeStreamLine) -> Bool
    ) throws(SyncError) {
        let picture = try picture(.visible)
        let end = min(last?.rawValue ?? picture.bound, picture.bound)
        var builder = LineBuilder()
        var failure: SyncError?
        var goesOn = true
        do throws(LogError) {
            try source.scan(from: first, through: SequenceNumber(rawValue: end)) { event in
                do throws(SyncError) {
                    if let line = try builder.finish(before: event) { goesOn = visit(line) }
                    if goesOn { try builder.add(event) { key in try? picture.zone(key).identity } }
                } catch {
                    failure = error
                }
                return goesOn && failure == nil
            }
        } catch {
            throw SyncError(error)
        }
        if let failure { throw failure }
        if goesOn, let line = try builder.finish() { _ = visit(line) }
    }

    /// The commit whose first event is at a position, as a line of a change stream.
    func line(ofCommitAt first: SequenceNumber) throws(SyncError) -> ChangeStreamLine? {
        var last = first
        do throws(LogError) {
            try source.read([first]) { event in
                last = event.commit.last
                return false
            }
        } catch {
            throw SyncError(error)
        }
        var found: ChangeStreamLine?
        try visitCommits(from: first, through: last) { line in
            found = line
            return false
        }
        return found
    }
}

/// Puts the events of one commit together into a line of a change stream.
private struct LineBuilder {
    private var commit: LogCommit?
    private var envelope: ArraySlice<UInt8> = []
    private var changes: [ChangeStreamLine.Change] = []
    /// Zones that the commit creates and that no save of it has brought into being yet.
    private var emptyZones: Set<ZoneID> = []
    private var database = DatabaseID.standard
    private var lastZone: (key: UInt64, identity: ZoneIdentity)?

    /// Takes in an event of the commit that is under way, or begins with it.
    mutating func add(
        _ event: LogEvent,
        zone: (UInt64) -> ZoneIdentity?
    ) throws(SyncError) {
        commit = event.commit
        envelope = event.envelope
        // Events of the store itself change no record.
        if event.zone == 0 { return }
        let identity = try identity(of: event, zone)
        let bytes = event.payload
        let payload = bytes.span.bytes
        // Who sees what follows from parents and shares, which the line says.
        if identity.isAudience || AudienceEvent.isOne(payload) { return }
        // System zones go without saying: they are in the public database of the same container.
        if changes.isEmpty || !identity.isSystem { database = identity.database }
        switch payload.byteCount > 0 ? EventKind(rawValue: payload.byte(at: 0)) : nil {
        case .zoneCreated:
            changes.append(.createZone(identity.zone))
            emptyZones.insert(identity.zone)
        case .zoneDeleted:
            changes.append(.deleteZone(identity.zone, reason: try reason(of: payload)))
        default:
            try addRecord(event, in: identity.zone)
        }
    }

    private func reason(of deletion: RawSpan) throws(SyncError) -> ZoneDeletionReason {
        do throws(EventFormatError) {
            return try ZoneEvent.readDeletion(deletion)
        } catch {
            throw SyncError(error)
        }
    }

    private mutating func identity(
        of event: LogEvent,
        _ zone: (UInt64) -> ZoneIdentity?
    ) throws(SyncError) -> ZoneIdentity {
        if let lastZone, lastZone.key == event.zone { return lastZone.identity }
        guard let identity = zone(event.zone) else {
            throw SyncError(
                .internalError,
                "Event \(event.sequence) is about zone \(event.zone), whose creation, event "
                    + "\(event.zone), is lost from the log."
            )
        }
        lastZone = (event.zone, identity)
        return identity
    }

    private mutating func addRecord(_ event: LogEvent, in zone: ZoneID) throws(SyncError) {
        let body: RecordBody
        do throws(EventFormatError) {
            let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
            guard stored.event.state == .live else {
                let name = try stored.tombstone().name
                changes.append(.delete(RecordID(recordName: name, zone: zone)))
                return
            }
            body = try stored.body()
        } catch {
            throw SyncError(error)
        }
        // A save brings its zone into being, so the change before it goes without saying.
        if emptyZones.remove(zone) != nil,
            let index = changes.lastIndex(of: .createZone(zone))
        {
            changes.remove(at: index)
        }
        changes.append(
            .save(
                recordID: RecordID(recordName: body.recordName, zone: zone),
                recordType: Name(body.recordType),
                fields: try body.fields.asSet,
                parent: body.parentName.map { Name($0) }
            )
        )
    }

    /// The line that is complete because an event of another commit follows.
    mutating func finish(before event: LogEvent) throws(SyncError) -> ChangeStreamLine? {
        guard let commit, commit.first != event.commit.first else { return nil }
        return try finish()
    }

    /// The line of the commit that is under way.
    mutating func finish() throws(SyncError) -> ChangeStreamLine? {
        guard let commit else { return nil }
        let envelope: CommitEnvelope
        do throws(EventFormatError) {
            envelope = try CommitEnvelope(self.envelope.span.bytes)
        } catch {
            throw SyncError(error)
        }
        defer {
            self.commit = nil
            self.envelope = []
            changes = []
            emptyZones = []
        }
        var line = ChangeStreamLine(
            time: commit.time,
            user: envelope.user.map { UserID($0) } ?? .current,
            device: envelope.device,
            build: envelope.build,
            database: database,
            changes: changes
        )
        // A derived id goes without saying if it would be derived from this line too: not if the
        // line's time was raised, or if it said more than it changed.
        if let request = envelope.request,
            !request.isDerived || !request.id.hasPrefix(LineIdentity(line).idStem)
        {
            line.requestID = request.id
        }
        return line
    }
}
