// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The raw bytes of one block and the positions it covers.
final class DecodedBlock: Sendable {
    /// All of them, or as many of the first ones as a read wanted.
    let bytes: [UInt8]
    let entry: BlockEntry
    /// The positions of its events; `nil` until first requested.
    let map: BlockMap?

    init(bytes: [UInt8], entry: BlockEntry, map: BlockMap? = nil) {
        self.bytes = bytes
        self.entry = entry
        self.map = map
    }

    /// True unless the last bytes were not decoded.
    var isWhole: Bool { bytes.count == entry.rawByteCount }

    /// The approximate number of bytes that the block takes in memory.
    var byteCount: Int { bytes.count + (map?.byteCount ?? 0) }

    /// Returns the same block with a map.
    ///
    /// O(events).
    func mapped() -> DecodedBlock {
        DecodedBlock(bytes: bytes, entry: entry, map: BlockCursor.map(of: self))
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

        /// The event at the place.
        @inline(__always)
        var row: EventRow {
            EventRow(sequence, zone, commit, payload: payload, envelope: envelope)
        }
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
        try checkEnd(place)
        return false
    }

    /// Appends the wanted events of the block, whose positions ascend; stops at a defect, and with
    /// `stopsAtMiss` at the first position that the block does not have.
    ///
    /// A map makes a lookup of few events cheap, and a walk past all of them dear. While it walks, it
    /// prefetches the bytes of the next block, or of this one if the next one is empty.
    mutating func collect(
        _ wanted: ArraySlice<SequenceNumber>,
        by map: BlockMap?,
        stopsAtMiss: Bool,
        before next: [UInt8],
        into rows: inout [EventRow]
    ) throws(Malformed) {
        // Before its first event, the cursor is at the position before the block.
        let within = wanted.drop { $0 < entry.first }
        if stopsAtMiss, within.count < wanted.count { return }
        if let map {
            for target in within {
                if sequence < target, try !jump(to: target, by: map) { return }
                if sequence == target {
                    rows.append(place.row)
                } else if stopsAtMiss {
                    return
                }
            }
            return
        }
        // A copy outside of the loop: each event changes it.
        var place = place
        let bytes = event.block.span.bytes
        // Each event's place depends on the one before it, so the processor cannot load them ahead.
        // A block ahead, memory answers in time.
        let upcoming = next.span.bytes
        var fetched = 0
        for target in within {
            if place.sequence < target {
                guard try place.advance(in: bytes, to: target) else { return try checkEnd(place) }
                if next.isEmpty {
                    // The next event's header and the texts of its record.
                    bytes.prefetchLines(at: place.offset)
                } else {
                    upcoming.prefetch(at: fetched, byteCount: place.offset - fetched)
                    fetched = place.offset
                }
            }
            // If a position holds no event, the place is already at a later one.
            if place.sequence == target {
                rows.append(place.row)
            } else if stopsAtMiss {
                return
            }
        }
    }

    /// Visits all events of a block's raw bytes, the first of which is at or after a position.
    @inline(__always)
    static func visit(
        _ bytes: RawSpan,
        from first: SequenceNumber,
        _ body: (EventRow) -> Void
    ) throws(Malformed) {
        var place = Place(position: first.rawValue)
        while try place.advance(in: bytes, to: .zero) { body(place.row) }
    }

    private func checkEnd(_ place: Place) throws(Malformed) {
        // Lookups find a block by the positions in its table entry. If the entries covered others,
        // an event would be missed or found at two places.
        guard place.position == entry.first.rawValue + UInt64(entry.positionCount) else {
            throw Malformed(offset: place.offset)
        }
    }
}

extension BlockCursor {
    /// Moves to the first event at or after a position by a map, or by walking if the map has no
    /// entry; `false` at the end of the block.
    mutating func jump(
        to target: SequenceNumber,
        by map: BlockMap
    ) throws(Malformed) -> Bool {
        let position = max(target.rawValue, entry.first.rawValue) - entry.first.rawValue
        if let index = map.index(atOrAfter: Int(position)) {
            let commit = Int(map.places[index].commit)
            // The entry of its commit lies before the commit's first event.
            if commit < index {
                move(to: map.start(of: commit))
                _ = try advance()
            }
            move(to: map.start(of: index))
        }
        return try advance(to: target)
    }

    private mutating func move(to start: (offset: Int, position: Int)) {
        place.offset = start.offset
        place.position = entry.first.rawValue + UInt64(start.position)
    }

    /// Returns the map of a block; empty if the block is malformed, so that walking the block
    /// reports the error.
    fileprivate static func map(of block: DecodedBlock) -> BlockMap {
        let raw = block.bytes
        let bytes = raw.span.bytes
        var place = Place(position: block.entry.first.rawValue)
        // Compaction leaves positions without events.
        var map = BlockMap(capacity: min(Int(block.entry.positionCount), raw.count / 64))
        var commit = 0
        var envelope = 0..<0
        var offset = 0
        do throws(Malformed) {
            while try place.advance(in: bytes, to: .zero) {
                // Two commit entries never have the same range, even with empty envelopes. A
                // repeated envelope in another block is in another map.
                if place.envelope != envelope {
                    envelope = place.envelope
                    commit = map.places.count
                }
                let position = place.sequence.rawValue - block.entry.first.rawValue
                map.append(
                    BlockMap.Place(
                        position: UInt32(position),
                        offset: UInt32(offset),
                        commit: UInt32(commit)
                    )
                )
                offset = place.offset
            }
            try BlockCursor(block).checkEnd(place)
        } catch {
            return BlockMap()
        }
        return map
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
