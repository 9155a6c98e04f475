// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The events of one decoded block, as ranges of its bytes.
///
/// Walking to an event reads memory for each event before it, and each read depends on the previous
/// one. In a block outside the processor's cache, that is slower than decoding the block. So the thread
/// that decodes a block for readers of positions walks it once, while the block is in that cache.
struct BlockMap: Sendable {
    /// In the order of the block.
    private(set) var rows: [EventRow] = []
    /// The commits and zones of the events, each once for its neighbours.
    private(set) var contexts: [EventContext] = []
    /// True after a marker has marked the events.
    private(set) var isMarked = false
    /// The defect at which the walk ended; `nil` if the block has none.
    var defect: BlockCursor.Malformed?

    /// Starts without events.
    init() {}

    /// Starts with room for the events of a usual block.
    init(for entry: BlockEntry) {
        // Compaction leaves positions without events.
        rows.reserveCapacity(min(Int(entry.positionCount), Int(entry.rawByteCount) / 64))
    }

    /// Bytes that it takes.
    var byteCount: Int {
        rows.count * MemoryLayout<EventRow>.stride
            + contexts.count * MemoryLayout<EventContext>.stride
    }

    /// Prefetches the rows of a usual block, and what a run shares with the map.
    func prefetch() {
        rows.prefetchHead(byteCount: 512)
        contexts.prefetchHead()
    }

    /// Adds the next event, at a position counted from the block's first.
    @inline(__always)
    mutating func append(position: UInt32, payload: Range<Int>) {
        rows.append(EventRow(position: position, payload: payload, context: contexts.count - 1))
    }

    /// Adds the context of the events that are added next.
    mutating func append(_ context: EventContext) { contexts.append(context) }

    /// Marks the events, from the bytes of the block and its first position.
    mutating func mark(_ block: RawSpan, _ first: SequenceNumber, by marker: EventMarker) {
        guard let mark = marker.mark else { return }
        var span = rows.mutableSpan
        mark(block, first, &span)
        isMarked = true
    }

    /// Appends the events at some ascending positions of a block, up to a defect, or to the first
    /// position without an event if `stopsAtMiss` is true.
    ///
    /// Throws the defect. O(positions) if they are close together, otherwise O(positions × log events).
    func find(
        _ wanted: ArraySlice<SequenceNumber>,
        from first: SequenceNumber,
        stopsAtMiss: Bool,
        into found: inout [EventRow]
    ) throws(BlockCursor.Malformed) {
        guard let lowest = wanted.first, let highest = wanted.last else { return }
        if let neighbours = rows(at: lowest, through: highest, from: first, count: wanted.count) {
            found.append(contentsOf: rows[neighbours])
            return
        }
        var next = 0
        for target in wanted {
            guard target >= first else {
                if stopsAtMiss { return }
                continue
            }
            let position = Int(target.rawValue - first.rawValue)
            guard let index = try index(atOrAfter: position, near: next) else { return }
            next = index
            if rows[index].position == position {
                found.append(rows[index])
                next += 1
            } else if stopsAtMiss {
                return
            }
        }
    }

    /// Returns the indexes of the events at some positions if those are neighbours without gaps before
    /// them: the usual case, in which one copy is enough.
    private func rows(
        at lowest: SequenceNumber,
        through highest: SequenceNumber,
        from first: SequenceNumber,
        count: Int
    ) -> Range<Int>? {
        guard lowest >= first, highest.rawValue - lowest.rawValue == count - 1 else { return nil }
        let start = Int(clamping: lowest.rawValue - first.rawValue)
        // Gaps only bring an event closer to the start.
        guard start < rows.count, count <= rows.count - start,
            rows[start + count - 1].position == start + count - 1
        else { return nil }
        return start..<start + count
    }

    /// Returns the index of the first event at or after a position, which is likely to be near another
    /// index; `nil` if the block has none.
    private func index(
        atOrAfter position: Int,
        near guess: Int
    ) throws(BlockCursor.Malformed) -> Int? {
        let index =
            guess < rows.count && rows[guess].position == position
            ? guess : rows.endOfPrefix(near: min(guess, rows.count)) { $0.position < position }
        if index < rows.count { return index }
        if let defect { throw defect }
        return nil
    }
}
