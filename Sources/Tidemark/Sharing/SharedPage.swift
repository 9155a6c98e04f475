// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// One page of what shares show of a zone: which entries of their lists it has, and what they say.
struct SharedPage {
    /// An entry of a share's list.
    struct Entry {
        /// The record's slot.
        var slot: UInt64
        /// Position of the event that says it: the record's own, or one of the share's.
        var sequence: SequenceNumber
        /// Whether the record is to go whatever the event says, because the client left the share.
        var isGone: Bool
    }

    /// What is told, in order.
    private(set) var entries: [Entry] = []

    /// Adds entries.
    mutating func append(_ versions: some Sequence<RecordVersion>, isGone: Bool) {
        for version in versions {
            entries.append(
                Entry(slot: version.slot, sequence: version.sequence, isGone: isGone)
            )
        }
    }

    /// Leaves the last entry of each record.
    ///
    /// A record that left one share for another that the client sees is not gone.
    mutating func collapse() {
        var seen: Set<UInt64> = []
        entries = entries.reversed().filter { seen.insert($0.slot).inserted }.reversed()
    }

    /// What an entry says, as far as its own event does.
    private enum Line {
        case change(RecordChange)
        /// The record as of a position.
        case version(SequenceNumber)
    }

    /// Reads what the entries say: their events, and for records that came to a share without being
    /// changed the version that they had.
    ///
    /// Says too how many of the entries fit into a number of bytes: at least one. O(entries), each
    /// event's block decoded once.
    func changes(
        in zone: ZoneID,
        as access: ZoneAccess,
        from source: any EventSource,
        _ line: IncarnationLine,
        byteLimit: Int
    ) throws(SyncError) -> (changes: [RecordChange], fitting: Int) {
        var lines: [SequenceNumber: Line] = [:]
        let gone = Set(entries.lazy.filter(\.isGone).map(\.sequence))
        try Self.read(entries.map(\.sequence), from: source) { (event) throws(SyncError) in
            lines[event.sequence] = try Self.line(
                event,
                in: zone,
                isGone: gone.contains(event.sequence),
                line
            )
        }
        let versions = lines.values.compactMap { line in
            if case .version(let sequence) = line { sequence } else { nil }
        }
        var records: [SequenceNumber: RecordChange] = [:]
        try Self.read(versions, from: source) { (event) throws(SyncError) in
            if case .change(let change) = try Self.line(event, in: zone, isGone: false, line) {
                records[event.sequence] = change
            }
        }
        var changes: [RecordChange] = []
        var byteCount = 0
        for (index, entry) in entries.enumerated() {
            let change: RecordChange?
            switch lines[entry.sequence] {
            case .change(let own): change = own
            case .version(let sequence): change = records[sequence]
            case nil: change = nil
            }
            if case .changed(let record)? = change {
                changes.append(.changed(record.shown(to: access)))
                byteCount += record.body.bytes.count
            } else if let change {
                changes.append(change)
            }
            if byteCount >= byteLimit { return (changes, index + 1) }
        }
        return (changes, entries.count)
    }

    private static func read(
        _ sequences: [SequenceNumber],
        from source: any EventSource,
        _ take: (LogEvent) throws(SyncError) -> Void
    ) throws(SyncError) {
        let ascending = Set(sequences).sorted()
        if ascending.isEmpty { return }
        var failure: SyncError?
        do throws(LogError) {
            try source.read(ascending) { event in
                do throws(SyncError) {
                    try take(event)
                    return true
                } catch {
                    failure = error
                    return false
                }
            }
        } catch {
            throw SyncError(error)
        }
        if let failure { throw failure }
    }

    private static func line(
        _ event: LogEvent,
        in zone: ZoneID,
        isGone: Bool,
        _ line: IncarnationLine
    ) throws(SyncError) -> Line {
        do throws(EventFormatError) {
            let payload = event.payload
            if AudienceEvent.isOne(payload.span.bytes) {
                let audience = try AudienceEvent(payload.span.bytes)
                if audience.state == .live, !isGone {
                    return .version(SequenceNumber(rawValue: audience.version))
                }
                return .change(
                    deletion(
                        audience.name.string,
                        audience.type.string,
                        SequenceNumber(rawValue: audience.version),
                        zone,
                        line
                    )
                )
            }
            let stored = try StoredRecord(event.sequence, zone: event.zone, payload)
            if stored.event.state == .tombstone {
                let (name, type) = try stored.tombstone()
                return .change(deletion(name, type, event.sequence, zone, line))
            }
            let body = try stored.body()
            if isGone {
                return .change(
                    deletion(body.recordName, body.recordType, event.sequence, zone, line)
                )
            }
            let tag = TagContent(of: event.sequence, in: line).tag
            return .change(.changed(Record(zone: zone, changeTag: tag, body: body)))
        } catch {
            throw SyncError(error)
        }
    }

    private static func deletion(
        _ name: String,
        _ type: String,
        _ sequence: SequenceNumber,
        _ zone: ZoneID,
        _ line: IncarnationLine
    ) -> RecordChange {
        .deleted(
            DeletedRecord(
                recordID: RecordID(recordName: name, zone: zone),
                recordType: type,
                changeTag: TagContent(of: sequence, in: line).tag
            )
        )
    }
}
