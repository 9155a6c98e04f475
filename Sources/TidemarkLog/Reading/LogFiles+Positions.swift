// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Reads events by position; see ``EventSource/read(_:_:)``.
    func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try readRuns(sequences) { run in
            for index in run.rows.indices where !visit(run.event(at: index)) { return false }
            return true
        }
    }

    /// Reads events by position, a block at a time; see ``EventSource/readRuns(_:_:)``.
    func readRuns(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) -> Bool
    ) throws(LogError) {
        var rest = sequences[...]
        var guess = ZoneGuess()
        var goesOn = true
        let watch = sequences.count < Self.manyPositions ? nil : LongWork.watch
        while goesOn, let sequence = rest.first {
            try watch?.step(UInt64(rest.startIndex), of: UInt64(sequences.count))
            // Looked up again for each group of blocks, because compaction may have replaced segments
            // meanwhile.
            guard let (reader, _) = try readerOrNext(at: sequence) else { return }
            if !reader.stripes.isEmpty,
                let stripe = reader.stripe(around: reader.index(of: sequence)),
                stripe.first <= sequence
            {
                goesOn = try read(&rest, in: stripe, of: reader, &guess, take)
            } else {
                goesOn = try readBlocks(&rest, of: reader, watch, take)
            }
        }
    }

    /// The number of positions from which reading them is long work of its own.
    private static let manyPositions = 4_096

    /// Reads from the next blocks, and removes the positions that they cover; returns `false` to stop.
    ///
    /// Continues with the groups of blocks behind them, as long as those are scattered.
    private func readBlocks(
        _ rest: inout ArraySlice<SequenceNumber>,
        of reader: SegmentReader,
        _ watch: LongWork.Watch?,
        _ take: (EventRun) -> Bool
    ) throws(LogError) -> Bool {
        var wanted = wanted(by: rest, from: reader)
        // No block covers it.
        if wanted.blocks.isEmpty { rest.removeFirst() }
        // One for all blocks, so that its rows are allocated once; a block rarely has more.
        var run = EventRun()
        run.rows.reserveCapacity(min(rest.count, 128))
        var ahead = ahead(of: wanted)
        while true {
            // Now, while the helper decodes blocks.
            let next = wanted.isSparse ? scattered(wanted.rest) : nil
            while let entry = ahead.advance() {
                if wanted.isSparse { ahead.prefetchEvent(after: 4) }
                let end = rest.firstIndex(after: entry.last)
                let covered = rest[..<end]
                rest = rest[end...]
                try find(covered, in: ahead, stopsAtMiss: false, &run)
                if !run.rows.isEmpty, !take(run) { return false }
            }
            guard let next else { return true }
            try watch?.step(UInt64(rest.startIndex), of: UInt64(rest.endIndex))
            (wanted, ahead) = next
        }
    }

    private func ahead(of wanted: WantedBlocks) -> BlocksAhead {
        ahead(
            of: wanted.blocks,
            mapping: true,
            isScattered: wanted.isSparse,
            continues: wanted.isUnbroken
        )
    }

    /// Returns the next blocks of a sparse read; `nil` if they need another look.
    private func scattered(
        _ sequences: ArraySlice<SequenceNumber>
    ) -> (wanted: WantedBlocks, ahead: BlocksAhead)? {
        guard let first = sequences.first, let reader = try? readerOrNext(at: first)?.reader,
            reader.stripes.isEmpty
        else { return nil }
        let wanted = wanted(by: sequences, from: reader)
        return wanted.isSparse ? (wanted, ahead(of: wanted)) : nil
    }

    /// Takes a block, and replaces a run by its wanted events, up to a defect, or to the first one
    /// that is not in it if `stopsAtMiss` is true; by none if the block cannot be decoded.
    private func find(
        _ wanted: ArraySlice<SequenceNumber>,
        in ahead: BlocksAhead,
        stopsAtMiss: Bool,
        _ run: inout EventRun
    ) throws(LogError) {
        run.rows.removeAll(keepingCapacity: true)
        guard var block = try takeSound(ahead) else { return }
        while true {
            do throws(BlockCursor.Malformed) {
                return try block.find(wanted, stopsAtMiss: stopsAtMiss, into: &run)
            } catch {
                if block.isWhole { return try meet(ahead.reader.malformed(block.entry, error)) }
            }
            // The part that was decoded ends before a wanted event.
            run.rows.removeAll(keepingCapacity: true)
            let whole = try self.block(block.entry, in: ahead.reader, keeping: true, mapping: true)
            guard let whole else { return }
            block = whole
        }
    }

    /// Returns the next blocks that hold wanted positions.
    ///
    /// Those of a sparse read may be of several segments, so that two threads have enough of them to
    /// decode. Of a read that begins densely, all are of the segment of the first position.
    private func wanted(
        by sequences: ArraySlice<SequenceNumber>,
        from reader: SegmentReader
    ) -> WantedBlocks {
        var wanted = WantedBlocks(rest: sequences)
        // Most reads need few blocks.
        wanted.blocks.reserveCapacity(min(sequences.count, 8))
        var reader = reader
        wanted.add(of: reader)
        while wanted.isSparse, let sequence = wanted.rest.first,
            wanted.blocks.count < BlocksAhead.countLimit,
            wanted.segmentCount < WantedBlocks.segmentCountLimit,
            // An error ends the next read, behind the events of these blocks.
            let next = try? readerOrNext(at: sequence)?.reader,
            next !== reader, next.stripes.isEmpty
        {
            reader = next
            wanted.add(of: reader)
        }
        return wanted
    }
}

/// The next blocks that hold wanted positions.
private struct WantedBlocks {
    var blocks: [SegmentBlock] = []
    /// The positions that they do not cover.
    private(set) var rest: ArraySlice<SequenceNumber>
    /// True if the read is likely to want the blocks that follow.
    private(set) var isUnbroken = false
    private(set) var segmentCount = 0
    private var wantedCount = 0
    private var positionCount = 0

    /// The maximum number of segments, whose files stay open until the blocks are read.
    static let segmentCountLimit = 16

    /// The number of positions per wanted position above which a read is scattered.
    private static let sparseness = 8

    /// The number of positions per wanted position up to which a read is likely to want what follows.
    private static let density = 4

    /// True if few of the positions in the blocks are wanted.
    var isSparse: Bool { wantedCount * Self.sparseness < positionCount }

    init(rest: ArraySlice<SequenceNumber>) { self.rest = rest }

    /// Adds the next blocks of a segment, up to the limit.
    mutating func add(of reader: SegmentReader) {
        segmentCount += 1
        let firstPosition = rest.startIndex
        let firstBlock = blocks.count
        // The index behind that of the last block, which is often the next one.
        var index = 0
        var first: Int?
        while let sequence = rest.first, blocks.count < BlocksAhead.countLimit {
            var next = first == nil ? nil : reader.entry(at: index)
            if next.map({ $0.isMap || $0.last < sequence }) ?? true {
                index = reader.index(of: sequence)
                next = reader.entry(at: index)
            }
            // A position between two blocks ends the loop, so that the events stay in order.
            guard let entry = next, entry.first <= sequence, !entry.isMap else { break }
            let covered = rest[..<rest.firstIndex(after: entry.last)]
            let last = covered.last ?? sequence
            blocks.append(SegmentBlock(entry, of: reader, wanted: sequence...last))
            positionCount += Int(entry.positionCount)
            if first == nil { first = index }
            index += 1
            rest = rest[covered.endIndex...]
        }
        wantedCount += rest.startIndex - firstPosition
        let isDense = wantedCount * Self.density >= positionCount
        isUnbroken = isDense && firstBlock == 0 && first.map { index - $0 } == blocks.count
    }
}

// MARK: - Stripes

/// A guess of the zone of the next events.
///
/// A read of many positions is mostly of one zone: the blocks of that zone then hold them, and no
/// map needs to be read.
private struct ZoneGuess {
    /// The zone of the event that was found last.
    var zone: ZoneKey?
    /// The number of the zone's blocks to decode at once.
    var blockCount = 1

    /// Resets the guess after an event was found in another block.
    mutating func isWrong(for zone: ZoneKey) { self = ZoneGuess(zone: zone) }

    /// Doubles the number of blocks after all events were found in the guessed ones.
    mutating func isRight() { blockCount = min(2 * blockCount, BlocksAhead.countLimit) }
}

extension LogFiles {
    /// Reads the wanted positions that a stripe covers, and removes them; returns `false` to stop.
    private func read(
        _ rest: inout ArraySlice<SequenceNumber>,
        in stripe: Stripe,
        of reader: SegmentReader,
        _ guess: inout ZoneGuess,
        _ take: (EventRun) -> Bool
    ) throws(LogError) -> Bool {
        var run = EventRun()
        while let sequence = rest.first, sequence <= stripe.last {
            let entries = entries(of: guess, holding: rest, in: stripe, of: reader)
            if entries.isEmpty {
                rest.removeFirst()
                guard let event = try event(at: sequence, in: stripe, of: reader) else { continue }
                guess.isWrong(for: event.zone)
                guard take(EventRun(event)) else { return false }
                continue
            }
            var isRight = true
            // A read of more than the first block is long, although each page begins with few blocks.
            let ahead = ahead(
                of: entries.map { SegmentBlock($0, of: reader) },
                mapping: true,
                isLong: guess.blockCount > 1
            )
            while let entry = ahead.advance() {
                let covered = rest[..<rest.firstIndex(after: entry.last)]
                // A stray resets the guess, and the rest is looked up again.
                try find(covered, in: ahead, stopsAtMiss: true, &run)
                rest = rest.dropFirst(run.rows.count)
                if !run.rows.isEmpty, !take(run) { return false }
                var found: LogEvent?
                while found == nil, rest.startIndex < covered.endIndex {
                    found = try event(at: rest.removeFirst(), in: stripe, of: reader)
                }
                guard let stray = found else { continue }
                // The event is of another zone; the map named its block.
                isRight = false
                guess.isWrong(for: stray.zone)
                guard take(EventRun(stray)) else { return false }
                break
            }
            if isRight { guess.isRight() }
        }
        return true
    }

    /// Returns the next blocks of the guessed zone in a stripe that cover wanted positions; empty
    /// if there is no guess.
    private func entries(
        of guess: ZoneGuess,
        holding sequences: ArraySlice<SequenceNumber>,
        in stripe: Stripe,
        of reader: SegmentReader
    ) -> [BlockEntry] {
        guard let zone = guess.zone, let postings = reader.postings else { return [] }
        var entries: [BlockEntry] = []
        var rest = sequences
        for index in postings.blocks(of: zone, in: stripe.blocks) {
            guard let sequence = rest.first, entries.count < guess.blockCount,
                let entry = reader.entry(at: Int(index))
            else { break }
            guard entry.last >= sequence else { continue }
            let end = rest.firstIndex(after: entry.last)
            guard rest[end - 1] >= entry.first else { continue }
            entries.append(entry)
            rest = rest[end...]
        }
        return entries
    }

    /// Returns the event at a position of a stripe, found by the stripe's map; `nil` if there is
    /// none.
    private func event(
        at sequence: SequenceNumber,
        in stripe: Stripe,
        of reader: SegmentReader
    ) throws(LogError) -> LogEvent? {
        let maps = reader.entries(stripe.maps)
        guard let place = maps.firstIndex(where: { $0.last >= sequence }) else { return nil }
        let blocks = reader.entries(stripe.blocks)
        guard let map = try block(maps[place], in: reader, keeping: true) else {
            // Without the map, any of the blocks may hold the event.
            for entry in blocks {
                if let event = try event(at: sequence, in: entry, of: reader) { return event }
            }
            return nil
        }
        var rows = StripeMapCursor(map)
        guard rows.advance(to: sequence), rows.block < blocks.count else {
            try meet(reader.damaged(maps[place], "does not lead to event \(sequence)"))
            return nil
        }
        return try event(at: sequence, in: blocks[blocks.startIndex + rows.block], of: reader)
    }

    private func event(
        at sequence: SequenceNumber,
        in entry: BlockEntry,
        of reader: SegmentReader
    ) throws(LogError) -> LogEvent? {
        guard entry.first <= sequence, sequence <= entry.last,
            let block = try block(entry, in: reader, keeping: true, mapping: true)
        else { return nil }
        var run = EventRun()
        do throws(BlockCursor.Malformed) {
            try block.find([sequence], stopsAtMiss: true, into: &run)
        } catch {
            try meet(reader.malformed(entry, error))
        }
        return run.rows.isEmpty ? nil : run.event(at: 0)
    }
}

extension ArraySlice<SequenceNumber> {
    /// Returns the index of the first of some ascending positions that is greater than another one.
    ///
    /// O(log distance).
    fileprivate func firstIndex(after sequence: SequenceNumber) -> Int {
        // The usual cases: the last of some neighbours, or the end.
        if let last, last <= sequence { return endIndex }
        let dense = UInt64(endIndex - startIndex)
        if let first, first <= sequence, sequence.rawValue - first.rawValue < dense {
            let index = startIndex + Int(sequence.rawValue - first.rawValue)
            if self[index] == sequence, self[index + 1] > sequence { return index + 1 }
        }
        return endOfPrefix(near: startIndex) { $0 <= sequence }
    }
}
