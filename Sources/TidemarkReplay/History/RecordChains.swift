// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The events of one record, in order from the newest to the oldest.
///
/// Every event names its predecessors: one in its zone's epoch, and one in each audience.
/// These chains are read in parallel; an event may be in two of them.
struct RecordChains: Sendable {
    /// Events that lead from one to the one before.
    private struct Chain {
        enum Form {
            /// The record's own events in one epoch of its zone.
            case versions
            /// The events in one audience.
            case audience
            /// The end of an epoch, or of an audience, while the record was there.
            case end
        }

        var form: Form
        /// The key of the epoch or the audience.
        var key: ZoneKey
        /// The newest event that was not visited.
        var next: SequenceNumber
    }

    private let log: PastLog
    private let id: RecordID
    /// The keys of the zone's epochs.
    private var epochs: Set<ZoneKey> = []
    private var chains: [Chain] = []

    /// Finds where the chains begin.
    init(of id: RecordID, in database: DatabaseID, _ past: PastPicture) throws(SyncError) {
        log = past.log
        self.id = id
        let zone = ZoneIdentity(database: database, zoneName: id.zone.name)
        var versions: [Slot: RecordVersion] = [:]
        var forgotten = SequenceNumber.zero
        for epoch in try past.zones(of: database) where epoch.identity == zone {
            epochs.insert(epoch.key)
            forgotten = max(forgotten, try past.forgottenThrough(epoch))
            guard let version = try past.newestVersion(of: id.name, in: epoch.key) else { continue }
            versions[version.slot] = version
            begin(.versions, with: version, in: epoch)
        }
        guard !epochs.isEmpty || zone.isImplicit else { throw .zoneNotFound(id.zone) }
        guard !chains.isEmpty else {
            throw forgotten == .zero ? .recordNotFound(id) : .historyPruned(of: id, forgotten)
        }
        for audience in try past.audiences(of: zone) {
            for version in versions.values {
                if let shown = try past.newestVersion(of: version, shownIn: audience) {
                    begin(.audience, with: shown, in: audience)
                }
            }
        }
    }

    private mutating func begin(
        _ form: Chain.Form,
        with version: RecordVersion,
        in zone: PastZone
    ) {
        chains.append(Chain(form: form, key: zone.key, next: version.sequence))
        // The end of a zone or of a share removes the record without an event of the record's own.
        if let end = zone.end, version.state == .live {
            chains.append(Chain(form: .end, key: zone.key, next: end))
        }
    }

    /// The next older thing that happened; `nil` at the end.
    mutating func next() throws(SyncError) -> RecordHistory.Entry? {
        // The newest event of all chains is next. It may be in several of them.
        while let sequence = chains.map(\.next).max() {
            guard let event = try log.event(at: sequence), !event.isNote else {
                // Older events of these chains are gone as well: pruning drops the beginning of a
                // chain.
                chains.removeAll { $0.next == sequence }
                return .pruned(through: sequence)
            }
            // Without a change, the event was another record's in the same slot, and `take` has
            // ended its chain.
            if let change = try take(event) { return .change(change) }
        }
        return nil
    }

    /// Reads an event, and moves the chains that it is a link of; `nil` if it is about another
    /// record, whose name has the same hash.
    private mutating func take(_ event: LogEvent) throws(SyncError) -> PastChange? {
        do throws(EventFormatError) {
            switch event.kind {
            case .zoneDeleted:
                // Otherwise a share has ended, and with it the audience that showed the record.
                let isOfZone = epochs.contains(event.zone)
                chains.removeAll { $0.next == event.sequence }
                return PastChange(
                    endOf: event,
                    isOfZone,
                    try ZoneEvent.readDeletion(event.payload.span.bytes),
                    try ChangeOrigin(event)
                )
            case .audienceEntered, .audienceLeft:
                let showing = try PastShowing(event)
                let isMeant = showing.name == id.name && epochs.contains(event.zone)
                move(from: event.sequence) { chain in
                    isMeant && chain.key == showing.key ? showing.previous : 0
                }
                return isMeant ? PastChange(showing, event, try ChangeOrigin(event)) : nil
            default:
                return try takeVersion(of: event)
            }
        } catch {
            throw SyncError(.internalError, error.message)
        }
    }

    private mutating func takeVersion(of event: LogEvent) throws(EventFormatError) -> PastChange? {
        let version = try PastVersion(event)
        // Two names may share a hash, so the name in the event decides.
        let hasName = try version.hasName(id.name)
        let isMeant = hasName && epochs.contains(event.zone)
        move(from: event.sequence) { chain in
            guard isMeant else { return 0 }
            if chain.form == .versions { return version.previous }
            return version.share.map { $0.key == chain.key ? $0.previous : 0 } ?? 0
        }
        guard isMeant else { return nil }
        return try PastChange(
            version,
            over: try log.version(replacedBy: version),
            in: id.zone,
            log.line,
            try ChangeOrigin(event)
        )
    }

    /// Moves the chains at an event to the event before; 0 ends a chain.
    private mutating func move(
        from sequence: SequenceNumber,
        to previous: (Chain) -> SequenceNumber
    ) {
        for index in chains.indices where chains[index].next == sequence {
            chains[index].next = previous(chains[index])
        }
        chains.removeAll { $0.next == 0 }
    }
}

extension PastLog {
    /// The event at a position; `nil` if the log does not have it any more.
    func event(at sequence: SequenceNumber) throws(SyncError) -> LogEvent? {
        try source.event(at: sequence)
    }

    /// The version that an event replaces, if there was one and it is still in the log.
    func version(replacedBy version: PastVersion) throws(EventFormatError) -> RecordBody? {
        guard let replaced = version.replaced else { return nil }
        // Ignore an unreadable event here: moving to it reports the damage.
        guard let event = try? event(at: replaced), !event.isNote else { return nil }
        return try PastVersion(event).body()
    }
}
