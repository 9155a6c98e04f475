// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Reader {
    /// See ``Store/visitCommits(from:through:_:)``.
    func visitCommits(
        from first: SequenceNumber,
        through last: SequenceNumber?,
        _ visit: (ChangeStreamLine) -> Bool
    ) throws(SyncError) {
        try check(last)
        try visitLines(from: first, through: last) { _, line in visit(line) }
    }

    /// Visits the same lines, with the log's information about each line's commit.
    func visitLines(
        from first: SequenceNumber,
        through last: SequenceNumber?,
        _ visit: (LogCommit, ChangeStreamLine) -> Bool
    ) throws(SyncError) {
        let picture = try picture(.visible)
        let end = min(last ?? picture.bound, picture.bound)
        var builder = LineBuilder()
        var commit: LogCommit?
        var goesOn = true
        func hand(on lines: [ChangeStreamLine]) -> Bool {
            guard let commit else { return true }
            return lines.allSatisfy { visit(commit, $0) }
        }
        try source.visit(from: first, through: end) {
            (event) throws(SyncError) in
            goesOn = hand(on: try builder.finish(before: event))
            commit = event.commit
            if goesOn { try builder.add(event) { key in try? picture.zone(key).identity } }
            return goesOn
        }
        if goesOn { _ = hand(on: try builder.finish()) }
    }

    /// Visits the commits of some events as lines of a change stream, oldest first: each with those of
    /// its events alone.
    func visitCommits(
        ofEventsAt sequences: [SequenceNumber],
        _ visit: (ChangeStreamLine) -> Void
    ) throws(SyncError) {
        let picture = try picture(.visible)
        var builder = LineBuilder()
        try source.visit(sequences) { (event) throws(SyncError) in
            for line in try builder.finish(before: event) { visit(line) }
            try builder.add(event) { key in try? picture.zone(key).identity }
            return true
        }
        for line in try builder.finish() { visit(line) }
    }

    /// The commit whose first event is at a position, as a line of a change stream.
    func line(ofCommitAt first: SequenceNumber) throws(SyncError) -> ChangeStreamLine? {
        let last = try source.event(at: first)?.commit.last ?? first
        var found: ChangeStreamLine?
        try visitLines(from: first, through: last) { _, line in
            found = line
            return false
        }
        return found
    }
}

/// Puts the events of one commit together into lines of a change stream: one line, unless the commit
/// is the store's own and touches the databases of several users.
private struct LineBuilder {
    /// The changes of a commit in one database.
    private struct Part {
        /// The database; `nil` while only implied zones were named.
        var database: DatabaseID?
        /// The database of those zones.
        var fallback: DatabaseID?
        var changes: [ChangeStreamLine.Change] = []
        /// Zones that the commit creates and that none of its saves has implied yet.
        var emptyZones: Set<ZoneID> = []
    }

    private var commit: LogCommit?
    private var envelope: ArraySlice<UInt8> = []
    private var parts: [Part] = []
    /// The part that the last event belongs to.
    private var part = 0
    private var lastZone: (key: ZoneKey, identity: ZoneIdentity)?

    /// Adds an event of the current commit, or begins a new commit with it.
    mutating func add(_ event: LogEvent, zone: (ZoneKey) -> ZoneIdentity?) throws(SyncError) {
        commit = event.commit
        envelope = event.envelope
        // Events of the store itself change no record.
        if event.zone == 0 { return }
        let identity = try identity(of: event, zone)
        let bytes = event.payload
        let payload = bytes.span.bytes
        // Visibility follows from parents and shares, which are in the line.
        if identity.isAudience || AudienceEvent.isOne(payload) { return }
        // Data that was erased from this log may still be in another.
        if identity.isErasureMark { return }
        // Positions and change tags of this log are meaningless in another.
        let kind = EventKind(of: payload)
        if identity.systemZone == .notified || kind == .recordTouched { return }
        if kind == .tombstonesForgotten || event.isSkipped { return }
        choosePart(for: identity)
        switch kind {
        case .zoneCreated:
            parts[part].changes.append(.createZone(identity.zone))
            parts[part].emptyZones.insert(identity.zone)
        case .zoneDeleted:
            let reason = try reason(of: payload)
            parts[part].changes.append(.deleteZone(identity.zone, reason: reason))
        default:
            try addRecord(event, in: identity.zone)
        }
    }

    /// Finds the part that a zone's events go to, or begins it.
    private mutating func choosePart(for zone: ZoneIdentity) {
        if parts.isEmpty { parts.append(Part()) }
        switch zone.systemZone {
        case .subscriptions, .notified:
            // Wherever the line is about: there is one such zone.
            return
        case .schema, .roles, .users, .shares:
            // In the public database of the same container, so they go without saying too.
            parts[part].fallback = parts[part].fallback ?? zone.database
            return
        case .notifications, nil: break
        }
        if parts[part].database == zone.database { return }
        if parts[part].database == nil {
            parts[part].database = zone.database
        } else if let index = parts.firstIndex(where: { $0.database == zone.database }) {
            part = index
        } else {
            parts.append(Part(database: zone.database))
            part = parts.count - 1
        }
    }

    private func reason(of deletion: RawSpan) throws(SyncError) -> ZoneDeletionReason {
        try SyncError.wrapping { () throws(EventFormatError) in
            try ZoneEvent.readDeletion(deletion)
        }
    }

    private mutating func identity(
        of event: LogEvent,
        _ zone: (ZoneKey) -> ZoneIdentity?
    ) throws(SyncError) -> ZoneIdentity {
        if let lastZone, lastZone.key == event.zone { return lastZone.identity }
        guard let identity = zone(event.zone) else {
            throw SyncError(
                .internalError,
                "Event \(event.sequence) is about zone \(event.zone), whose creation, event "
                    + "\(event.zone), is lost from the log. `tidemark log verify` reports the damage."
            )
        }
        lastZone = (event.zone, identity)
        return identity
    }

    private mutating func addRecord(_ event: LogEvent, in zone: ZoneID) throws(SyncError) {
        let saved = try SyncError.wrapping { () throws(EventFormatError) -> RecordBody? in
            let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
            guard stored.event.state == .live else {
                let name = try stored.tombstone().name
                parts[part].changes.append(.delete(RecordID(recordName: name, zone: zone)))
                return nil
            }
            let body = try stored.body()
            if stored.event.isRecreation {
                let record = RecordID(recordName: body.recordName, zone: zone)
                parts[part].changes.append(.delete(record))
            }
            return body
        }
        guard let body = saved else { return }
        // A save creates its zone implicitly, so the change before it is implied.
        if parts[part].emptyZones.remove(zone) != nil,
            let index = parts[part].changes.lastIndex(of: .createZone(zone))
        {
            parts[part].changes.remove(at: index)
        }
        parts[part].changes.append(
            .save(
                recordID: RecordID(recordName: body.recordName, zone: zone),
                recordType: Name(body.recordType),
                fields: try body.fields.asSet,
                parent: body.parentName.map { Name($0) }
            )
        )
    }

    /// The lines that are complete because an event of another commit follows.
    mutating func finish(before event: LogEvent) throws(SyncError) -> [ChangeStreamLine] {
        guard let commit, commit.first != event.commit.first else { return [] }
        return try finish()
    }

    /// Returns the lines of the current commit.
    mutating func finish() throws(SyncError) -> [ChangeStreamLine] {
        guard let commit else { return [] }
        let envelope: CommitEnvelope = try SyncError.wrapping { () throws(EventFormatError) in
            try CommitEnvelope(self.envelope.span.bytes)
        }
        defer {
            self.commit = nil
            self.envelope = []
            parts = []
            part = 0
        }
        // A request is recorded even if it changed nothing.
        if parts.isEmpty, envelope.request != nil { parts.append(Part()) }
        // A commit that became several lines was not asked of any one database.
        let asked = parts.count == 1 ? envelope.request?.database : nil
        // Commits of the store itself have no user. Their lines have `__defaultOwner__` (events.md,
        // "Commit envelope").
        return parts.map { part in
            var line = ChangeStreamLine(
                time: commit.time,
                user: envelope.user.map { UserID($0) } ?? .current,
                device: envelope.device,
                build: envelope.build,
                database: asked ?? part.database ?? part.fallback ?? .standard,
                changes: part.changes
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
}
