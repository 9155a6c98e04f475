// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The raw bytes of one block and the positions it covers.
final class DecodedBlock: Sendable {
    /// All of them, or, of a part, the envelopes and payloads of its events.
    let bytes: [UInt8]
    let entry: BlockEntry
    /// Its events; `nil` for a block that is only walked.
    let map: BlockMap?

    init(bytes: [UInt8], entry: BlockEntry, map: BlockMap? = nil) {
        self.bytes = bytes
        self.entry = entry
        self.map = map
    }

    /// Creates the block whose bytes are in a room, with a map there if a marker is given.
    convenience init(in room: inout BlockRoom, entry: BlockEntry, mapping marker: EventMarker?) {
        let bytes = room.bytes
        if let marker { BlockCursor.map(bytes, of: entry, by: marker, into: &room.map) }
        self.init(bytes: bytes, entry: entry, map: marker == nil ? nil : room.map)
    }

    /// True unless this is a part, which leaves at least the lengths of its payloads out.
    var isWhole: Bool { bytes.count == entry.rawByteCount }

    /// The approximate number of bytes that the block takes in memory.
    var byteCount: Int { bytes.count + (map?.byteCount ?? 0) }

    /// True if the block has a map, with marks if a marker makes some.
    func isMapped(by marker: EventMarker) -> Bool {
        map != nil && (marker.mark == nil || map?.isMarked == true)
    }

    /// Returns the block with a map and the marks of a marker.
    ///
    /// O(events).
    func mapped(by marker: EventMarker) -> DecodedBlock {
        var map = BlockMap(for: entry)
        BlockCursor.map(bytes, of: entry, by: marker, into: &map)
        return DecodedBlock(bytes: bytes, entry: entry, map: map)
    }

    /// Prefetches what a read of an event looks at first.
    func prefetchRows() {
        bytes.prefetchHead()
        map?.prefetch()
    }

    /// Prefetches the event at a position, unless that is not at its usual place in the map.
    func prefetchEvent(at sequence: SequenceNumber) {
        let index = Int(truncatingIfNeeded: sequence.rawValue &- entry.first.rawValue)
        guard let map, map.rows.indices.contains(index) else { return }
        let payload = map.rows[index].payloadRange
        bytes.prefetch(payload)
    }

    /// Adds the wanted events to a run without events, up to a defect, or to the first position without an
    /// event if `stopsAtMiss` is true.
    ///
    /// Throws the defect.
    func find(
        _ wanted: ArraySlice<SequenceNumber>,
        stopsAtMiss: Bool,
        into run: inout EventRun
    ) throws(BlockCursor.Malformed) {
        // A block that a walk decoded ahead has no map.
        guard let map else {
            return try mapped(by: .none).find(wanted, stopsAtMiss: stopsAtMiss, into: &run)
        }
        run.block = bytes
        run.first = entry.first
        run.contexts = map.contexts
        try map.find(wanted, from: entry.first, stopsAtMiss: stopsAtMiss, into: &run.rows)
    }
}

/// Walks the events of one decoded block.
struct BlockCursor {
    /// The block's entry.
    let entry: BlockEntry
    /// The event at the cursor; before the first one, nothing but the block.
    ///
    /// Stored, not computed on access, which would retain the block every time.
    private(set) var event: LogEvent
    private var place: Place

    /// The place of a cursor.
    fileprivate struct Place {
        var offset = 0
        /// The position of what comes next.
        var position: UInt64
        var commit = LogCommit(first: .zero, eventCount: 0, time: 0, received: 0)
        var envelope = 0..<0
        var zone: ZoneKey = 0
        var payload = 0..<0

        /// The position of the event at the place.
        var sequence: SequenceNumber { SequenceNumber(rawValue: position &- 1) }
    }

    /// The payload of a block is not what the format allows, although its checksum is right:
    /// a defect of the writer, or of memory.
    struct Malformed: Error {
        var offset: Int
    }

    init(_ block: DecodedBlock) {
        entry = block.entry
        place = Place(position: block.entry.first.rawValue)
        event = LogEvent(
            sequence: .zero,
            zone: 0,
            commit: place.commit,
            block: block.bytes,
            payload: 0..<0,
            envelope: 0..<0
        )
    }

    /// A cursor before all events, at the end of a block without any.
    static let nowhere: BlockCursor = {
        let entry = BlockEntry(
            first: .zero,
            offset: 0,
            storedByteCount: 0,
            rawByteCount: 0,
            positionCount: 1,
            checksum: 0
        )
        var cursor = BlockCursor(DecodedBlock(bytes: [], entry: entry))
        cursor.place.position = 1
        return cursor
    }()

    /// The position of the event that the cursor is at.
    var sequence: SequenceNumber { place.sequence }

    /// The commit of the event that the cursor is at.
    var commit: LogCommit { place.commit }

    /// The zone of the event that the cursor is at.
    var zone: ZoneKey { place.zone }

    /// Moves to the next event at or after a position; `false` at the end of the block.
    mutating func advance(
        to target: SequenceNumber = .zero
    ) throws(Malformed) -> Bool {
        // Copying the place costs less than one more reference to the bytes.
        var place = place
        let isFound = try place.advance(in: event.block.span.bytes, to: target)
        self.place = place
        if isFound {
            // The next event is about as long as this one.
            event.block.span.bytes.prefetch(
                at: place.offset,
                byteCount: place.payload.count + 64
            )
            event.sequence = sequence
            event.zone = place.zone
            event.commit = place.commit
            event.payloadRange = place.payload
            event.envelopeRange = place.envelope
            return true
        }
        try Self.checkEnd(place, of: entry)
        return false
    }

    /// Visits all events of a block's raw bytes, the first of which is at or after a position.
    @inline(__always)
    static func visit(
        _ bytes: RawSpan,
        from first: SequenceNumber,
        _ body: (SequenceNumber, ZoneKey, LogCommit, _ payload: Range<Int>) -> Void
    ) throws(Malformed) {
        var place = Place(position: first.rawValue)
        while try place.advance(in: bytes, to: .zero) {
            body(place.sequence, place.zone, place.commit, place.payload)
        }
    }

    /// Returns a part of a block: its events between two positions, as far as they are in its first raw bytes.
    ///
    /// The map ends at a defect if the events do.
    static func events(
        at wanted: ClosedRange<SequenceNumber>,
        in first: RawSpan,
        of entry: BlockEntry
    ) -> DecodedBlock {
        var place = Place(position: entry.first.rawValue)
        var (zone, envelope, keptEnvelope) = (ZoneKey(rawValue: .max), 0..<0, 0..<0)
        var (bytes, map): ([UInt8], BlockMap) = ([], BlockMap())
        do throws(Malformed) {
            repeat {
                guard try place.advance(in: first, to: wanted.lowerBound) else {
                    try checkEnd(place, of: entry)
                    break
                }
                guard place.sequence <= wanted.upperBound else { break }
                if place.envelope != envelope || place.zone != zone {
                    // Once for each commit, or a part could be as long as its block.
                    if place.envelope != envelope {
                        keptEnvelope = bytes.append(first, place.envelope)
                    }
                    (zone, envelope) = (place.zone, place.envelope)
                    map.append(
                        EventContext(commit: place.commit, zone: zone, envelope: keptEnvelope)
                    )
                }
                let position = place.sequence.rawValue - entry.first.rawValue
                map.append(
                    position: UInt32(truncatingIfNeeded: position),
                    payload: bytes.append(first, place.payload)
                )
            } while place.sequence < wanted.upperBound
        } catch {
            map.defect = error
        }
        return DecodedBlock(bytes: bytes, entry: entry, map: map)
    }

    private static func checkEnd(_ place: Place, of entry: BlockEntry) throws(Malformed) {
        // Lookups find a block by the positions in its table entry. If the entries covered others,
        // an event would be missed or found at two places.
        guard place.position == entry.first.rawValue + UInt64(entry.positionCount) else {
            throw Malformed(offset: place.offset)
        }
    }

    /// Fills an empty map with the events of a block's raw bytes; that of a malformed block ends at the defect.
    fileprivate static func map(
        _ raw: [UInt8],
        of entry: BlockEntry,
        by marker: EventMarker,
        into map: inout BlockMap
    ) {
        let bytes = raw.span.bytes
        var place = Place(position: entry.first.rawValue)
        var (zone, envelope) = (ZoneKey(rawValue: .max), 0..<0)
        do throws(Malformed) {
            while try place.advance(in: bytes, to: .zero) {
                let position = place.sequence.rawValue - entry.first.rawValue
                guard position < entry.positionCount else {
                    throw Malformed(offset: place.offset)
                }
                // Two commit entries never have the same range, even with empty envelopes.
                if place.envelope != envelope || place.zone != zone {
                    (zone, envelope) = (place.zone, place.envelope)
                    map.append(EventContext(commit: place.commit, zone: zone, envelope: envelope))
                }
                map.append(position: UInt32(position), payload: place.payload)
            }
            try checkEnd(place, of: entry)
        } catch {
            map.defect = error
        }
        map.mark(bytes, entry.first, by: marker)
    }
}

extension BlockCursor.Place {
    /// Moves to the next event at or after a position; `false` at the end of the bytes.
    mutating func advance(
        in bytes: RawSpan,
        to target: SequenceNumber
    ) throws(BlockCursor.Malformed) -> Bool {
        while offset < bytes.byteCount {
            let start = offset
            let tag = bytes.byte(at: offset)
            offset += 1
            switch tag {
            case EntryTag.event:
                // Every event has a commit before it in its block.
                guard commit.eventCount > 0, let zone = bytes.variableInteger(at: &offset),
                    let payload = bytes.countedRange(at: &offset)
                else { throw BlockCursor.Malformed(offset: start) }
                position += 1
                // `position` is already that of the next event here, so the event itself is at
                // `position` - 1, before the target.
                if position <= target.rawValue { continue }
                self.zone = ZoneKey(rawValue: zone)
                self.payload = payload
                return true
            case EntryTag.commit:
                try readCommit(in: bytes, start: start)
            case EntryTag.gap:
                guard let gapCount = bytes.variableInteger(at: &offset),
                    gapCount <= UInt64(UInt32.max)
                else { throw BlockCursor.Malformed(offset: start) }
                position += gapCount
            default:
                throw BlockCursor.Malformed(offset: start)
            }
        }
        return false
    }

    private mutating func readCommit(
        in bytes: RawSpan,
        start: Int
    ) throws(BlockCursor.Malformed) {
        guard let eventCount = bytes.variableInteger(at: &offset),
            let eventIndex = bytes.variableInteger(at: &offset),
            eventCount <= UInt64(UInt32.max), eventIndex < eventCount, eventIndex < position,
            let time = bytes.variableInteger(at: &offset),
            let received = bytes.variableInteger(at: &offset),
            let envelope = bytes.countedRange(at: &offset)
        else { throw BlockCursor.Malformed(offset: start) }
        self.envelope = envelope
        commit = LogCommit(
            first: SequenceNumber(rawValue: position - eventIndex),
            eventCount: Int(eventCount),
            time: unzigzag(time),
            received: unzigzag(time) &+ unzigzag(received)
        )
    }
}

extension [UInt8] {
    /// Appends the bytes in a range of others, and returns the range in which they are here.
    fileprivate mutating func append(_ bytes: RawSpan, _ range: Range<Int>) -> Range<Int> {
        let start = count
        bytes.extracting(range).withUnsafeBytes { append(contentsOf: $0) }
        return start..<count
    }
}
