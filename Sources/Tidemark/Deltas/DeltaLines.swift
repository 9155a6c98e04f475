// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// Makes the lines of a zone's delta from the events of its records.
///
/// This runs once per record of every delta: it makes the record from the event's bytes where they
/// are, and nothing else.
struct DeltaLines {
    private let zone: ZoneID
    /// What the reader may see; `nil` for those whose database it is in.
    private let access: ZoneAccess?
    private var tags: TagWriter

    init(of zone: ZoneID, line: IncarnationLine, shownTo access: ZoneAccess? = nil) {
        self.zone = zone
        self.access = access
        tags = TagWriter(line: line)
    }

    /// What a record's event says.
    @inline(__always)
    mutating func change(_ event: LogEvent) throws(EventFormatError) -> RecordChange {
        let payload = event.block.span.bytes.extracting(event.payloadRange)
        let (state, bodyOffset) = try RecordEvent.start(of: payload)
        let tag = tags.tag(of: event.sequence)
        switch state {
        case .live:
            let body = try Self.body(of: event, at: bodyOffset)
            let record = Record(zone: zone, changeTag: tag, body: body)
            return .changed(access != nil && body.isShare ? record.shown(to: access) : record)
        case .tombstone:
            let (name, type) = try RecordEvent.tombstone(in: payload, bodyOffset: bodyOffset)
            return deletion(of: name, type, tag)
        }
    }

    /// That a record is gone, whatever its event says.
    mutating func gone(_ event: LogEvent) throws(EventFormatError) -> RecordChange {
        let change = try change(event)
        guard case .changed(let record) = change else { return change }
        return deletion(of: record.body.recordName, record.recordType, tags.tag(of: event.sequence))
    }

    /// That a record has left the audience that an event is about.
    mutating func gone(_ event: AudienceEvent) -> RecordChange {
        let tag = tags.tag(of: SequenceNumber(rawValue: event.version))
        return deletion(of: event.name.string, event.type.string, tag)
    }

    @inline(__always)
    private static func body(
        of event: LogEvent,
        at offset: Int
    ) throws(EventFormatError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: event.block[event.payloadRange.dropFirst(offset)])
        } catch {
            throw EventFormatError("Event \(event.sequence) holds a damaged body: \(error)")
        }
    }

    private func deletion(
        of name: String,
        _ type: String,
        _ tag: RecordChangeTag
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

/// Makes the change tags of events that are mostly of one incarnation.
struct TagWriter {
    private let line: IncarnationLine
    private var first = SequenceNumber.zero
    private var end = SequenceNumber.zero
    private var bits: UInt32 = 0

    init(line: IncarnationLine) {
        self.line = line
    }

    /// The tag of a version that this line wrote.
    @inline(__always)
    mutating func tag(of sequence: SequenceNumber) -> RecordChangeTag {
        if sequence < first || sequence >= end { find(sequence) }
        return TagContent(sequence: sequence, incarnationBits: bits).tag
    }

    private mutating func find(_ sequence: SequenceNumber) {
        let next = line.entries.firstIndex { $0.first > sequence } ?? line.entries.count
        first = next == 0 ? .zero : line.entries[next - 1].first
        end =
            next < line.entries.count
            ? line.entries[next].first : SequenceNumber(rawValue: .max)
        bits = UInt32(truncatingIfNeeded: line.incarnation(of: sequence).rawValue)
    }
}
