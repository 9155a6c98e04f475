// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// Creates the rows of a zone's delta from the events of its records.
///
/// This runs once per record of every delta: it stores the location of the record's bytes, and does
/// not decode them.
struct DeltaRows {
    /// The rows so far.
    var rows = RecordRows()

    /// The parts of the zone that the reader may read; `nil` for users of the database that holds
    /// it.
    private let access: ZoneAccess?
    private var incarnations: IncarnationReader

    init(line: IncarnationLine, shownTo access: ZoneAccess?, capacity: Int) {
        self.access = access
        incarnations = IncarnationReader(line: line)
        rows.reserveCapacity(capacity)
    }

    /// Begins a block, which holds the events that are appended next.
    mutating func begin(_ block: [UInt8]) { rows.begin(block) }

    /// Appends a record whose sound body is a range of the block, and no share's; with `isGone`, appends
    /// that the record is gone.
    @inline(__always)
    mutating func append(_ sequence: SequenceNumber, _ body: Range<Int>, isGone: Bool) {
        let kind: RecordRows.Kind = isGone ? .gone : .changed
        let bits = incarnations.bits(of: sequence)
        rows.append(kind, sequence.rawValue, bits, body, nameByteCount: 0)
    }

    /// Appends the content of a record's event, which may have no mark; with `isGone`, appends that the
    /// record is gone, whatever the event is.
    // Apart from records that are marked, whose path is shorter without this.
    @inline(never)
    mutating func append(
        _ row: EventRow,
        at sequence: SequenceNumber,
        in block: [UInt8],
        isGone: Bool
    ) throws(EventFormatError) {
        let payload = block.span.bytes.extracting(row.payloadRange)
        switch try RecordEvent.start(of: payload) {
        case .live(let bodyOffset):
            // Only the frame is checked. The block's checksum was verified when the block was
            // decoded.
            guard RecordBody.isFramed(payload, from: bodyOffset) else {
                throw EventFormatError("Event \(sequence) holds a damaged body.")
            }
            let range = row.payloadRange.lowerBound + bodyOffset..<row.payloadRange.upperBound
            // A share's record holds the links of all participants, which a participant who may not
            // change the share must not see.
            if access != nil, !isGone, RecordBody.isShare(payload, from: bodyOffset) {
                return appendShare(sequence, block[range])
            }
            append(sequence, range, isGone: isGone)
        case .tombstone(let bodyOffset):
            let (name, type) = try RecordEvent.tombstoneRanges(in: payload, bodyOffset: bodyOffset)
            let start = row.payloadRange.lowerBound
            rows.append(
                .deleted,
                sequence.rawValue,
                incarnations.bits(of: sequence),
                start + name.lowerBound..<start + type.upperBound,
                nameByteCount: name.count
            )
        case .audience: throw RecordEvent.otherKind(payload)
        }
    }

    /// Appends the record of a share as a participant sees it.
    private mutating func appendShare(_ sequence: SequenceNumber, _ bytes: ArraySlice<UInt8>) {
        let body = RecordBody(sound: bytes)
        let shown = Record(zone: .default, changeTag: nil, body: body).shown(to: access).body
        rows.append(shown, sequence.rawValue, incarnations.bits(of: sequence))
    }

    /// Appends that a record has left the audience that an event is about.
    mutating func append(gone event: AudienceEvent) {
        let bits = incarnations.bits(of: event.version)
        rows.appendDeletion(
            of: event.name.string.utf8,
            event.type.string.utf8,
            event.version.rawValue,
            bits
        )
    }
}

/// Tells which incarnation wrote events that are mostly of one.
struct IncarnationReader {
    private let line: IncarnationLine
    private var first = SequenceNumber.zero
    private var end = SequenceNumber.zero
    private var bits: UInt32 = 0

    init(line: IncarnationLine) {
        self.line = line
    }

    /// The low half of the incarnation that wrote an event.
    @inline(__always)
    mutating func bits(of sequence: SequenceNumber) -> UInt32 {
        if sequence < first || sequence >= end { find(sequence) }
        return bits
    }

    /// The tag of a version that an event made.
    @inline(__always)
    mutating func tag(of sequence: SequenceNumber) -> RecordChangeTag {
        RecordChangeTag(sequence: sequence.rawValue, incarnationBits: bits(of: sequence))
    }

    private mutating func find(_ sequence: SequenceNumber) {
        let next = line.entries.firstIndex { $0.first > sequence } ?? line.entries.count
        first = next == 0 ? .zero : line.entries[next - 1].first
        end = next < line.entries.count ? line.entries[next].first : .max
        bits = UInt32(truncatingIfNeeded: line.incarnation(of: sequence).rawValue)
    }
}
