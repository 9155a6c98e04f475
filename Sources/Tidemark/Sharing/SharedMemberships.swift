// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The times at which a participant saw the contents of a share.
///
/// A deletion is not reported to a participant that never saw the record.
struct SharedMemberships {
    private let parts: [KnownParticipation]
    private let start: SequenceNumber
    private let reader: Reader
    private var known: [ZoneKey: [Range<SequenceNumber>]] = [:]

    /// Creates the stays of a present or former participant in the shares of a zone.
    init(of parts: [KnownParticipation], since start: SequenceNumber, _ reader: Reader) {
        self.parts = parts
        self.start = start
        self.reader = reader
    }

    /// Returns the positions of removed records that the participant never saw in an audience;
    /// with `isLeaving` all of the audience is removed.
    ///
    /// Costs nothing if the participant did not join or leave since the token; else one read of the
    /// removed records.
    mutating func unseen(
        among versions: some Sequence<RecordVersion>,
        in audience: ZoneKey,
        isLeaving: Bool
    ) throws(SyncError) -> Set<SequenceNumber> {
        // A participant who did not join or leave since the token could fetch every record that the
        // audience has removed since.
        guard parts.contains(where: { $0.audience == audience && $0.sequence > start }) else {
            return []
        }
        var unseen: Set<SequenceNumber> = []
        for version in versions where isLeaving || version.state == .tombstone {
            let wasSeen = try wasSeen(version, in: audience, stays(in: audience))
            if !wasSeen { unseen.insert(version.sequence) }
        }
        return unseen
    }

    private mutating func stays(in audience: ZoneKey) throws(SyncError) -> [Range<SequenceNumber>] {
        if let known = known[audience] { return known }
        var stays: [Range<SequenceNumber>] = []
        for part in parts where part.audience == audience {
            var end = SequenceNumber.max
            var next = part.sequence
            var participation: Participation? = part.participation
            var previous = part.previous
            while next != .zero {
                // Each version of a participation is valid until the next one, so the ranges go
                // from new to old.
                if participation?.showsSomething ?? false { stays.append(next..<end) }
                end = next
                next = previous
                if next == .zero { break }
                // Compaction drops no version of a participation, so this reaches the first one.
                let record = try reader.views.records(at: [next])[0]
                let isLive = record.event.state == .live
                participation =
                    isLive ? ShareRecords.participation(in: try record.readBody()) : nil
                previous = record.event.previous
            }
        }
        known[audience] = stays
        return stays
    }

    /// Returns true if a record was in an audience during one of some stays.
    ///
    /// The search starts at the beginning, not at the token: between two pages, a token may be far
    /// past the last event that told the device about the record. The result is also true if
    /// compaction has dropped the beginning, or if the beginning is too far away to be read for one
    /// entry.
    private func wasSeen(
        _ version: RecordVersion,
        in audience: ZoneKey,
        _ stays: [Range<SequenceNumber>]
    ) throws(SyncError) -> Bool {
        var sequence = version.sequence
        var isLive = version.state == .live
        var end = SequenceNumber.max
        for _ in 0..<Self.readLimit {
            let time = sequence..<end
            if isLive, stays.contains(where: { $0.overlaps(time) }) { return true }
            end = sequence
            guard let before = try previous(of: sequence, in: audience) else { return true }
            guard let state = before.state else { return false }
            (sequence, isLive) = (before.sequence, state == .live)
        }
        return true
    }

    /// The number of events that are read for one entry.
    private static let readLimit = 1_024

    /// Returns the previous event about the same record in an audience, and the record's state
    /// there, which is `nil` if there is none.
    ///
    /// The result is `nil` if the event itself is missing.
    private func previous(
        of sequence: SequenceNumber,
        in audience: ZoneKey
    ) throws(SyncError) -> (sequence: SequenceNumber, state: RecordState?)? {
        guard let event = try reader.source.event(at: sequence), !event.isNote else { return nil }
        let place = try SyncError.wrapping { () throws(EventFormatError) -> AudiencePlace? in
            if AudienceEvent.isOne(event.payload.span.bytes) {
                return try AudienceEvent(event.payload.span.bytes).place
            }
            let own = try StoredRecord(sequence, zone: event.zone, event.payload).event
            if event.zone != audience { return own.audience }
            // The zone itself has its records by themselves.
            return AudiencePlace(
                key: audience,
                previous: own.previous,
                previousState: own.previousState
            )
        }
        guard let place else { return nil }
        return (place.previous, place.previousState)
    }
}
