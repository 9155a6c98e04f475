// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// One page of a zone's delta, as its events are read one after another.
///
/// This runs once per record of every delta: it makes the record from the event's bytes where they
/// are, and nothing else.
struct DeltaPage {
    /// The lines of the page so far.
    private(set) var changes: [RecordChange] = []
    /// Position of the last event that was read; zero before the first.
    private(set) var last = SequenceNumber.zero
    /// Why an event could not be read.
    private(set) var failure: EventFormatError?

    private let zone: ZoneID
    private var tags: TagWriter
    private let byteLimit: Int
    private var byteCount = 0
    /// The commit that the last event belongs to.
    private var commitFirst = SequenceNumber.zero
    private var commitLast = SequenceNumber.zero
    /// How many lines, and up to which position, lie before that commit.
    private var countBefore = 0
    private var lastBefore = SequenceNumber.zero

    init(of zone: ZoneID, line: IncarnationLine, count: Int, byteLimit: Int) {
        self.zone = zone
        self.byteLimit = byteLimit
        tags = TagWriter(line: line)
        changes.reserveCapacity(count)
    }

    /// Takes in the next event; says whether there is room for more.
    @inline(__always)
    mutating func add(_ event: LogEvent) -> Bool {
        do throws(EventFormatError) {
            if event.commit.first != commitFirst {
                countBefore = changes.count
                lastBefore = last
                commitFirst = event.commit.first
                commitLast = event.commit.last
            }
            changes.append(try change(event))
            last = event.sequence
            byteCount += event.payloadRange.count
            return byteCount < byteLimit
        } catch {
            failure = error
            return false
        }
    }

    /// Cuts the page back to a commit's end, if the commit at its end goes on with the next line
    /// and is not all of the page.
    mutating func trim(before next: SequenceNumber) {
        guard next <= commitLast, countBefore > 0 else { return }
        changes.removeLast(changes.count - countBefore)
        last = lastBefore
    }

    @inline(__always)
    private mutating func change(_ event: LogEvent) throws(EventFormatError) -> RecordChange {
        let payload = event.block.span.bytes.extracting(event.payloadRange)
        let (state, bodyOffset) = try RecordEvent.start(of: payload)
        let tag = tags.tag(of: event.sequence)
        switch state {
        case .live:
            do throws(BodyError) {
                let bytes = event.block[event.payloadRange.dropFirst(bodyOffset)]
                let body = try RecordBody(stored: bytes)
                return .changed(Record(zone: zone, changeTag: tag, body: body))
            } catch {
                throw EventFormatError("Event \(event.sequence) holds a damaged body: \(error)")
            }
        case .tombstone:
            let (name, type) = try RecordEvent.tombstone(in: payload, bodyOffset: bodyOffset)
            return .deleted(
                DeletedRecord(
                    recordID: RecordID(recordName: name, zone: zone),
                    recordType: type,
                    changeTag: tag
                )
            )
        }
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
