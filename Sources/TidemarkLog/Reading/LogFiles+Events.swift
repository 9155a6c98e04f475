// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Reads events by position; see ``EventSource/read(_:_:)``.
    func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        var cursor: BlockCursor?
        var reader: SegmentReader?
        for sequence in sequences {
            if cursor.map({ $0.block.entry.last < sequence }) ?? true {
                cursor = nil
                guard let found = try self.reader(at: index(of: sequence)) else { continue }
                reader = found
                guard let entry = found.entry(at: found.index(of: sequence)),
                    entry.first <= sequence,
                    let block = try block(entry, in: found, keeping: true)
                else { continue }
                cursor = BlockCursor(block)
            }
            guard let reader else { continue }
            while let event = try next(in: &cursor, of: reader, from: sequence) {
                if event.sequence == sequence {
                    guard visit(event) else { return }
                    break
                }
                // Past it: the position holds no event, and no later one may be skipped.
                if event.sequence > sequence {
                    cursor = nil
                    break
                }
            }
        }
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
        guard first <= last else { return }
        var segmentIndex = index(of: first)
        while let reader = try readerOrNext(at: &segmentIndex) {
            var blockIndex = reader.index(of: first)
            while let entry = reader.entry(at: blockIndex) {
                guard entry.first <= last else { return }
                if let block = try block(entry, in: reader, keeping: false) {
                    var cursor: BlockCursor? = BlockCursor(block)
                    while let event = try next(in: &cursor, of: reader) {
                        if event.sequence < first { continue }
                        guard event.sequence <= last, visit(event) else { return }
                    }
                }
                blockIndex += 1
            }
            segmentIndex += 1
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
        guard first <= last else { return }
        var segmentIndex = index(of: first)
        while let reader = try readerOrNext(at: &segmentIndex) {
            guard reader.header.first <= last else { return }
            let blocks: any Sequence<Int> =
                if let postings = reader.postings {
                    postings.blocks(of: zone).lazy.map(Int.init)
                } else {
                    0..<reader.blockCount
                }
            for index in blocks {
                guard let entry = reader.entry(at: index), entry.last >= first else { continue }
                guard entry.first <= last else { return }
                guard let block = try block(entry, in: reader, keeping: false) else { continue }
                var cursor: BlockCursor? = BlockCursor(block)
                while let event = try next(in: &cursor, of: reader) {
                    if event.zone != zone || event.sequence < first { continue }
                    guard event.sequence <= last, visit(event) else { return }
                }
            }
            segmentIndex += 1
        }
    }

    /// The last event of the last commit at or before a time.
    ///
    /// See ``EventSource/lastSequence(atOrBefore:)``. Times never go back, so both searches halve.
    func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if try firstTime(ofSegment: middle).map({ $0 <= time }) ?? false {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low > 0, let reader = try reader(at: low - 1) else { return .zero }
        var lowBlock = 0
        var highBlock = reader.blockCount
        while lowBlock < highBlock {
            let middle = (lowBlock + highBlock) / 2
            if try firstTime(ofBlock: middle, in: reader).map({ $0 <= time }) ?? true {
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

    private func firstTime(ofSegment index: Int) throws(LogError) -> Int64? {
        guard let reader = try reader(at: index) else { return nil }
        return try firstTime(ofBlock: 0, in: reader)
    }

    private func firstTime(
        ofBlock index: Int,
        in reader: SegmentReader
    ) throws(LogError) -> Int64? {
        guard let entry = reader.entry(at: index),
            let block = try block(entry, in: reader, keeping: true)
        else { return nil }
        var cursor: BlockCursor? = BlockCursor(block)
        return try next(in: &cursor, of: reader)?.commit.time
    }

    /// The reader at an index, passing over segments that cannot be read.
    private func readerOrNext(at index: inout Int) throws(LogError) -> SegmentReader? {
        while index < segmentCount {
            if let reader = try reader(at: index) { return reader }
            index += 1
        }
        return nil
    }

    /// A decoded block, from the cache or the file; `nil` if it is damaged and was passed over.
    private func block(
        _ entry: BlockEntry,
        in reader: SegmentReader,
        keeping: Bool
    ) throws(LogError) -> DecodedBlock? {
        let key = BlockCache.Key(segment: reader.id, offset: entry.offset)
        if let block = cache.block(key) { return block }
        do throws(LogError) {
            let block = try reader.decode(entry)
            if keeping { cache.keep(block, key) }
            return block
        } catch {
            try meet(error)
            return nil
        }
    }

    /// The next event of a block; a block that is malformed inside ends there.
    private func next(
        in cursor: inout BlockCursor?,
        of reader: SegmentReader,
        from target: SequenceNumber = .zero
    ) throws(LogError) -> LogEvent? {
        do throws(BlockCursor.Malformed) {
            return try cursor?.next(from: target)
        } catch {
            if let entry = cursor?.block.entry {
                try meet(reader.damaged(entry, "is malformed at its raw byte \(error.offset)"))
            }
            cursor = nil
            return nil
        }
    }
}
