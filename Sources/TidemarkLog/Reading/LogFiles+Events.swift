// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Visits every event of a range; see ``EventSource/scan(from:through:_:)``.
    ///
    /// Blocks that are not in the cache are not added to it: a walk of the log would evict the
    /// blocks that readers use.
    func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        // Few at first, because many walks end soon.
        var count = 1
        var position = first
        let watch = LongWork.watch
        while position <= last, let (reader, end) = try readerOrNext(at: position) {
            var blockIndex = reader.index(of: position)
            while true {
                if let watch {
                    let reached = reader.entry(at: blockIndex)?.first ?? position
                    try watch.step(reached, from: first, through: last)
                }
                if let stripe = reader.stripe(around: blockIndex) {
                    let range = position...last
                    guard try scan(stripe, of: reader, range, visit) else { return }
                    blockIndex = stripe.blocks.upperBound
                    continue
                }
                // A map begins a stripe, which the next round of the loop reads.
                let entries = reader.entries(from: blockIndex, count: count)
                    .prefix { $0.first <= last && !$0.isMap }
                if entries.isEmpty { break }
                let ahead = ahead(
                    of: entries.map { SegmentBlock($0, of: reader) },
                    keeping: false,
                    continues: true
                )
                while ahead.advance() != nil {
                    guard let block = try takeSound(ahead) else { continue }
                    var cursor = BlockCursor(block)
                    while try advance(&cursor, of: reader, to: position) {
                        guard cursor.sequence <= last, visit(cursor.event) else { return }
                    }
                }
                blockIndex += entries.count
                count = min(2 * count, BlocksAhead.countLimit)
            }
            guard let end else { return }
            position = end.next
        }
    }

    /// Visits the events of one zone in a range; in segments with footers, reads only the blocks
    /// that hold such events.
    func scan(
        zone: ZoneKey,
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        var position = first
        let watch = LongWork.watch
        while position <= last, let (reader, end) = try readerOrNext(at: position) {
            guard reader.header.first <= last else { return }
            let blocks: any Sequence<Int> =
                if let postings = reader.postings {
                    postings.blocks(of: zone).lazy.map(Int.init)
                } else {
                    0..<reader.blockCount
                }
            // In a stripe too, the blocks of one zone are in the order of positions, so the order
            // of indexes is that of the zone's events.
            for index in blocks {
                guard let entry = reader.entry(at: index), entry.last >= position,
                    entry.first <= last, !entry.isMap
                else { continue }
                try watch?.step(entry.first, from: first, through: last)
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

    /// Visits the events of a stripe in a range, in order; returns `false` to stop the walk.
    private func scan(
        _ stripe: Stripe,
        of reader: SegmentReader,
        _ range: ClosedRange<SequenceNumber>,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) -> Bool {
        guard stripe.first <= range.upperBound else { return false }
        var sound: [DecodedBlock] = []
        let entries = try entries(of: stripe, in: reader, holding: range)
        let ahead = ahead(of: entries.map { SegmentBlock($0, of: reader) }, keeping: false)
        while ahead.advance() != nil {
            if let block = try takeSound(ahead) { sound.append(block) }
        }
        let meet: StripeCursor.Meeting = { (entry, malformed) throws(LogError) in
            try self.meet(reader.malformed(entry, malformed))
        }
        var cursor = try StripeCursor(sound, from: range.lowerBound, meet: meet)
        while try cursor.advance(meet: meet) {
            let event = cursor.event
            guard event.sequence <= range.upperBound, visit(event) else { return false }
        }
        return true
    }

    /// The number of positions below which a stripe's maps are read first.
    private static let fewPositions: UInt64 = 1_024

    /// Returns the blocks of a stripe that may hold events of a range.
    private func entries(
        of stripe: Stripe,
        in reader: SegmentReader,
        holding range: ClosedRange<SequenceNumber>
    ) throws(LogError) -> [BlockEntry] {
        let all = reader.entries(stripe.blocks)
        let first = max(range.lowerBound, stripe.first)
        let last = min(range.upperBound, stripe.last)
        let overlapping = all.filter { $0.first <= last && $0.last >= first }
        // For a longer range, most blocks hold some of it, and the maps would only be read in
        // addition.
        guard last.rawValue - first.rawValue < Self.fewPositions else { return overlapping }
        var wanted: Set<Int> = []
        for entry in reader.entries(stripe.maps) where entry.first <= last && entry.last >= first {
            // Maps only save reads. Without one, all blocks are read, and no event is missed.
            guard let map = try block(entry, in: reader, keeping: true) else { return overlapping }
            var rows = StripeMapCursor(map)
            while rows.advance(), rows.first <= last.rawValue {
                if rows.end > first.rawValue { wanted.insert(rows.block) }
            }
        }
        return wanted.sorted().filter { $0 < all.count }.map { all[all.startIndex + $0] }
    }
}

extension LongWork.Watch {
    /// Reports that a walk from one position through another has reached a third.
    fileprivate func step(
        _ reached: SequenceNumber,
        from first: SequenceNumber,
        through last: SequenceNumber
    ) throws(LogError) {
        let done = max(reached, first).rawValue - first.rawValue
        try step(done, of: max(last, first).rawValue - first.rawValue + 1)
    }
}
