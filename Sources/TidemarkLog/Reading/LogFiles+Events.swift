// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Reads events by position; see ``EventSource/read(_:_:)``.
    func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        var cursor = BlockCursor.nowhere
        var map: BlockMap?
        var reader: SegmentReader?
        var ahead: ArraySlice<BlockAhead> = []
        for (index, sequence) in sequences.enumerated() {
            if cursor.entry.last < sequence {
                cursor = .nowhere
                ahead = ahead.drop { $0.entry.last < sequence }
                if ahead.isEmpty, let (found, _) = try readerOrNext(at: sequence) {
                    reader = found
                    let wanted = wanted(by: sequences[index...], in: found)
                    ahead = blocks(wanted.entries, in: found, mapping: wanted.isSparse)[...]
                }
                guard let next = ahead.first, next.entry.first <= sequence,
                    let block = try sound(next)
                else { continue }
                cursor = BlockCursor(block)
                map = block.map
            }
            guard try advance(&cursor, of: reader, to: sequence, by: map) else { continue }
            if cursor.sequence == sequence {
                guard visit(cursor.event) else { return }
            } else {
                // The position holds no event, and no later one may be skipped.
                cursor = .nowhere
            }
        }
    }

    /// The entries of the next blocks of one segment that hold some positions, and whether those are
    /// few of the ones in the blocks.
    private func wanted(
        by sequences: ArraySlice<SequenceNumber>,
        in reader: SegmentReader
    ) -> (entries: [BlockEntry], isSparse: Bool) {
        var entries: [BlockEntry] = []
        var rest = sequences
        while let sequence = rest.first, entries.count < BlockAhead.countLimit,
            let entry = reader.entry(at: reader.index(of: sequence))
        {
            // A position between two blocks ends this, so that what comes is in order.
            guard entry.first <= sequence else { break }
            entries.append(entry)
            rest = rest[rest.firstIndex(after: entry.last)...]
        }
        let positionCount = entries.reduce(0) { $0 + Int($1.positionCount) }
        let wantedCount = rest.startIndex - sequences.startIndex
        return (entries, wantedCount * Self.sparseness < positionCount)
    }

    /// Visits every event of a range; see ``EventSource/scan(from:through:_:)``.
    ///
    /// Blocks that are not in the cache are not put there: a walk of the log would wash out what
    /// readers use.
    func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        // Few at first: many walks end soon.
        var count = 1
        var position = first
        while position <= last, let (reader, end) = try readerOrNext(at: position) {
            var blockIndex = reader.index(of: position)
            while true {
                let entries = reader.entries(from: blockIndex, count: count)
                    .prefix { $0.first <= last }
                if entries.isEmpty { break }
                for next in blocks(Array(entries), in: reader, keeping: false) {
                    guard let block = try sound(next) else { continue }
                    var cursor = BlockCursor(block)
                    while try advance(&cursor, of: reader, to: position) {
                        guard cursor.sequence <= last, visit(cursor.event) else { return }
                    }
                }
                blockIndex += entries.count
                count = min(2 * count, BlockAhead.countLimit)
            }
            guard let end else { return }
            position = end.next
        }
    }

    /// Visits the events of one zone in a range, reading only the blocks that hold some, as far
    /// as segments have footers.
    func scan(
        zone: UInt64,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        var position = first
        while position <= last, let (reader, end) = try readerOrNext(at: position) {
            guard reader.header.first <= last else { return }
            let blocks: any Sequence<Int> =
                if let postings = reader.postings {
                    postings.blocks(of: zone).lazy.map(Int.init)
                } else {
                    0..<reader.blockCount
                }
            for index in blocks {
                guard let entry = reader.entry(at: index), entry.last >= position else { continue }
                guard entry.first <= last else { return }
                guard let block = try block(entry, in: reader, keeping: false) else { continue }
                var cursor = BlockCursor(block)
                while try advance(&cursor, of: reader, to: position) {
                    if cursor.zone != zone { continue }
                    guard cursor.sequence <= last, visit(cursor.event) else { return }
                }
            }
            guard let end else { return }
            position = end.next
        }
    }

    /// The last event of the last commit at or before a time.
    ///
    /// See ``EventSource/lastSequence(atOrBefore:)``. Times never go back, so both searches halve.
    func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        while true {
            let segments = segments
            // Compaction may put one segment in the place of several meanwhile.
            var isUnchanged: Bool {
                self.segments.map(\.id).starts(with: segments.map(\.id))
            }
            do throws(LogError) {
                let result = try lastSequence(atOrBefore: time, in: segments)
                if isUnchanged { return result }
            } catch {
                if isUnchanged { throw error }
            }
        }
    }

    private func lastSequence(
        atOrBefore time: Int64,
        in segments: [Segment]
    ) throws(LogError) -> SequenceNumber {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if try firstTime(in: segments[middle...]).map({ $0 <= time }) ?? false {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low > 0, let reader = try reader(of: segments[low - 1]) else { return .zero }
        var lowBlock = 0
        var highBlock = reader.blockCount
        while lowBlock < highBlock {
            let middle = (lowBlock + highBlock) / 2
            if try firstTime(fromBlock: middle, in: reader).map({ $0 <= time }) ?? false {
                lowBlock = middle + 1
            } else {
                highBlock = middle
            }
        }
        guard lowBlock > 0, let entry = reader.entry(at: lowBlock - 1) else { return .zero }
        var result = SequenceNumber.zero
        try scan(from: entry.first, through: entry.last) { event in
            guard event.commit.time <= time else { return false }
            result = event.commit.last
            return true
        }
        return result
    }

    /// The time of the first event of some segments.
    ///
    /// Compaction may have left a segment none.
    private func firstTime(in segments: ArraySlice<Segment>) throws(LogError) -> Int64? {
        for segment in segments {
            if let reader = try reader(of: segment),
                let time = try firstTime(fromBlock: 0, in: reader)
            {
                return time
            }
        }
        return nil
    }

    /// The time of the first event in a block or after it.
    private func firstTime(
        fromBlock first: Int,
        in reader: SegmentReader
    ) throws(LogError) -> Int64? {
        var index = first
        while let entry = reader.entry(at: index) {
            index += 1
            guard let block = try block(entry, in: reader, keeping: true) else { continue }
            var cursor = BlockCursor(block)
            if try advance(&cursor, of: reader) { return cursor.commit.time }
        }
        return nil
    }

    /// The reader of the segment that covers a position, or of the first one after it that can be
    /// read, and the last position of that segment, unless it takes events.
    ///
    /// By position, because compaction may put one segment in the place of several between two calls.
    private func readerOrNext(
        at position: SequenceNumber
    ) throws(LogError) -> (reader: SegmentReader, last: SequenceNumber?)? {
        var position = position
        while let segment = segment(at: position) {
            do throws(LogError) {
                if let reader = try reader(of: segment) { return (reader, segment.last) }
            } catch {
                if isPart(segment.id) { throw error }
                continue
            }
            guard let last = segment.last else { return nil }
            position = last.next
        }
        return nil
    }

    /// A decoded block, from the cache or the file; `nil` if it is damaged and was passed over.
    private func block(
        _ entry: BlockEntry,
        in reader: SegmentReader,
        keeping: Bool
    ) throws(LogError) -> DecodedBlock? {
        try blocks([entry], in: reader, keeping: keeping).first.flatMap(sound)
    }

    /// Where more than so many positions come on one that is wanted, blocks get maps.
    private static let sparseness = 8

    /// Some blocks of a segment, from the cache or the file.
    private func blocks(
        _ entries: [BlockEntry],
        in reader: SegmentReader,
        keeping: Bool = true,
        mapping: Bool = false
    ) -> [BlockAhead] {
        func key(_ entry: BlockEntry) -> BlockCache.Key {
            BlockCache.Key(segment: reader.id, offset: entry.offset)
        }
        var missing: [BlockEntry] = []
        var blocks = entries.map { entry in
            var kept = cache.block(key(entry))
            if let block = kept {
                if mapping, block.map == nil {
                    let mapped = block.mapped()
                    cache.keep(mapped, key(entry))
                    kept = mapped
                }
            } else {
                missing.append(entry)
            }
            return BlockAhead(entry: entry, block: kept.map { .success($0) })
        }
        guard !missing.isEmpty else { return blocks }
        var decoded = reader.decode(missing, mapping: mapping)[...]
        for index in blocks.indices where blocks[index].block == nil {
            let result = decoded.popFirst()
            blocks[index].block = result
            if keeping, case .success(let block) = result {
                cache.keep(block, key(block.entry))
            }
        }
        return blocks
    }

    /// A block that a reader has come to; `nil` if it is damaged and was passed over.
    private func sound(_ next: BlockAhead) throws(LogError) -> DecodedBlock? {
        do throws(LogError) {
            return try next.block?.get()
        } catch {
            try meet(error)
            return nil
        }
    }

    /// Moves to the next event of a block; one that is malformed inside ends there.
    @inline(__always)
    private func advance(
        _ cursor: inout BlockCursor,
        of reader: SegmentReader?,
        to target: SequenceNumber = .zero,
        by map: BlockMap? = nil
    ) throws(LogError) -> Bool {
        do throws(BlockCursor.Malformed) {
            if let map { return try cursor.jump(to: target, by: map) }
            return try cursor.advance(to: target)
        } catch {
            let malformed = "is malformed at its raw byte \(error.offset)"
            if let reader { try meet(reader.damaged(cursor.entry, malformed)) }
            cursor = .nowhere
            return false
        }
    }
}

/// A block that was decoded before its reader came to it, or why it could not be.
private struct BlockAhead {
    /// Decoded at most at once: one MiB, which stays in the processor's cache.
    static let countLimit = 64

    let entry: BlockEntry
    var block: Result<DecodedBlock, LogError>?
}

extension ArraySlice<SequenceNumber> {
    /// The index of the first of some ascending positions that comes after another one.
    ///
    /// O(log distance).
    fileprivate func firstIndex(after sequence: SequenceNumber) -> Int {
        var step = 1
        while startIndex + step < endIndex, self[startIndex + step] <= sequence { step *= 2 }
        var low = startIndex + step / 2
        var high = Swift.min(startIndex + step, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
