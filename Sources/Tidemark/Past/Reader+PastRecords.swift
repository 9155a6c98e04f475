// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Refuses a position that the store does not have, or not any more.
    func check(_ position: SequenceNumber?) throws(SyncError) {
        _ = try check(position, picture(.visible))
    }

    /// Returns the requested position, if the store has it.
    func check(
        _ position: SequenceNumber?,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber {
        guard let position else { return picture.bound }
        guard position <= picture.bound else {
            throw SyncError(
                .invalidArguments,
                "The store's last event is \(picture.bound); there is no event \(position).",
                remedy: "Name an event up to \(picture.bound)."
            )
        }
        let horizon = try historyHorizon(picture)
        guard position >= horizon else { throw .historyPruned(position, horizon) }
        return position
    }

    /// Returns the first position that can be requested.
    func historyHorizon() throws(SyncError) -> SequenceNumber {
        try historyHorizon(picture(.visible))
    }

    private func historyHorizon(_ picture: ViewPicture) throws(SyncError) -> SequenceNumber {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.compaction()?.history ?? 0
        }
    }

    /// See ``Store/record(_:of:asOf:)``.
    func record(
        _ id: RecordID,
        of database: DatabaseID,
        asOf position: SequenceNumber?
    ) throws(SyncError) -> Record {
        let picture = try picture(.visible)
        // While it is held, the log keeps the events that are read below.
        defer { withExtendedLifetime(picture) {} }
        let bound = try check(position, picture)
        var zones = ConsultedZones(includesSystem: true)
        _ = try zones.index(
            of: id.zone,
            in: database,
            creating: .none,
            picture.facts,
            options.limits
        )
        if zones[0].key.map({ $0.creation > bound }) ?? true {
            // The zone of that time, if there was one, has ended since.
            guard position != nil else { throw .zoneNotFound(id.zone) }
            return try endedRecord(id, of: database, FoldedPicture(self, picture, through: bound))
        }
        var stored = try picture.facts.item(named: Name(id.recordName), in: zones).old
        while let version = stored, version.sequence > bound {
            stored = try existingVersion(before: version)
        }
        guard let stored, stored.event.state == .live else { throw .recordNotFound(id) }
        return try record(stored, in: id.zone)
    }

    /// Returns the version before another one; `nil` if the record did not exist before it.
    ///
    /// At or above the history horizon the versions are complete. But a compaction drops a deletion although a
    /// save names it that was decided meanwhile, and so does an erasure
    /// (`Docs/formats/events.md`, "Compaction begun").
    func existingVersion(before version: StoredRecord) throws(SyncError) -> StoredRecord? {
        let previous = version.event.previous
        if previous == .zero { return nil }
        if version.event.previousState != .live, try source.event(at: previous) == nil {
            return nil
        }
        return try views.records(at: [previous])[0]
    }

    /// A record of a zone that has ended since, whose slots the views do not have any more.
    ///
    /// O(events of the zone), unless its records are known; reads the events of one slot.
    private func endedRecord(
        _ id: RecordID,
        of database: DatabaseID,
        _ past: FoldedPicture
    ) throws(SyncError) -> Record {
        let zone = ZoneIdentity(database: database, zoneName: Name(id.zone.zoneName))
        guard let key = try past.zone(zone).key else {
            throw zone.isImplicit ? .recordNotFound(id) : .zoneNotFoundThen(id.zone)
        }
        let name = Name(id.recordName)
        let slot = views.hash.slot(ofName: name)
        // A name is at most 255 slots away from its hash.
        let near = try past.versions(in: key, after: 0, limit: .max).filter { version in
            version.state == .live && version.slot.rawValue &- slot.rawValue <= UInt64(UInt8.max)
        }
        for stored in try views.records(at: near.map(\.sequence)) {
            let isFound = try SyncError.wrapping { () throws(EventFormatError) in
                try stored.hasName(name)
            }
            if isFound { return try record(stored, in: zone.zone) }
        }
        throw .recordNotFound(id)
    }

    /// See ``Store/position(atOrBefore:)``.
    func position(atOrBefore time: Int64) throws(SyncError) -> SequenceNumber {
        try SyncError.wrapping { () throws(LogError) in try source.lastSequence(atOrBefore: time) }
    }

    /// See ``Store/position(of:)``.
    func position(of token: ChangeToken) throws(SyncError) -> SequenceNumber {
        try SyncError.wrapping { () throws(TokenDefect) in
            let content = try TokenContent(token, store: id, hash: views.hash)
            try content.check(
                level: content.level,
                place: content.place,
                line: line,
                visible: source.durableSequence,
                horizon: .zero,
                readability: content.readability
            )
            return content.sequence
        }
    }
}
