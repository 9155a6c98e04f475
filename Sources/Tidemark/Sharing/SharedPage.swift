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
        var found = [RecordChange?](repeating: nil, count: entries.count)
        var versions: [(sequence: SequenceNumber, index: Int)] = []
        var tags = TagWriter(line: line)
        let events = entries.indices.map { (sequence: entries[$0].sequence, index: $0) }
        try Self.read(events, from: source) { (event, index) throws(SyncError) in
            switch try Self.line(event, in: zone, isGone: entries[index].isGone, &tags) {
            case .change(let change): found[index] = change
            case .version(let sequence): versions.append((sequence, index))
            }
        }
        try Self.read(versions, from: source) { (event, index) throws(SyncError) in
            if case .change(let change) = try Self.line(event, in: zone, isGone: false, &tags) {
                found[index] = change
            }
        }
        var changes: [RecordChange] = []
        var byteCount = 0
        changes.reserveCapacity(entries.count)
        for (index, change) in found.enumerated() {
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

    /// Reads events, each with the place in the page that it is for.
    private static func read(
        _ wanted: [(sequence: SequenceNumber, index: Int)],
        from source: any EventSource,
        _ take: (LogEvent, Int) throws(SyncError) -> Void
    ) throws(SyncError) {
        if wanted.isEmpty { return }
        let ascending = wanted.sorted { $0.sequence < $1.sequence }
        var next = 0
        var failure: SyncError?
        do throws(LogError) {
            try source.read(ascending.map(\.sequence)) { event in
                // A reader passes over what is damaged.
                while next < ascending.count, ascending[next].sequence < event.sequence {
                    next += 1
                }
                guard next < ascending.count, ascending[next].sequence == event.sequence else {
                    return true
                }
                do throws(SyncError) {
                    try take(event, ascending[next].index)
                    next += 1
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
        _ tags: inout TagWriter
    ) throws(SyncError) -> Line {
        do throws(EventFormatError) {
            let payload = event.payload
            if AudienceEvent.isOne(payload.span.bytes) {
                let (state, version) = try AudienceEvent.version(in: payload.span.bytes)
                if state == .live, !isGone {
                    return .version(SequenceNumber(rawValue: version))
                }
                let audience = try AudienceEvent(payload.span.bytes)
                return .change(
                    deletion(
                        audience.name.string,
                        audience.type.string,
                        tags.tag(of: SequenceNumber(rawValue: audience.version)),
                        zone
                    )
                )
            }
            let (state, bodyOffset) = try RecordEvent.start(of: payload.span.bytes)
            let tag = tags.tag(of: event.sequence)
            if state == .tombstone {
                let (name, type) = try RecordEvent.tombstone(
                    in: payload.span.bytes,
                    bodyOffset: bodyOffset
                )
                return .change(deletion(name, type, tag, zone))
            }
            let body = try body(in: payload.dropFirst(bodyOffset))
            if isGone {
                return .change(deletion(body.recordName, body.recordType, tag, zone))
            }
            return .change(.changed(Record(zone: zone, changeTag: tag, body: body)))
        } catch {
            throw SyncError(error)
        }
    }

    private static func body(in bytes: ArraySlice<UInt8>) throws(EventFormatError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: bytes)
        } catch {
            throw EventFormatError("An event holds a damaged body: \(error)")
        }
    }

    private static func deletion(
        _ name: String,
        _ type: String,
        _ tag: RecordChangeTag,
        _ zone: ZoneID
    ) -> RecordChange {
        .deleted(
            DeletedRecord(
                recordID: RecordID(recordName: name, zone: zone),
                recordType: type,
                changeTag: tag
            )
        )
    }
}
