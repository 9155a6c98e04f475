// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogFiles {
    /// Returns the last event of the last commit at or before a time.
    ///
    /// See ``EventSource/lastSequence(atOrBefore:)``. Times never decrease, so both searches are
    /// binary.
    func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        while true {
            let segments = segments
            // Compaction may replace several segments with one meanwhile.
            var isUnchanged: Bool {
                // New segments may follow meanwhile. Only those that were searched must be the
                // same.
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
        let later = try segments.indices.endOfPrefix { (index) throws(LogError) in
            try firstTime(in: segments[index...]).map { $0 <= time } ?? false
        }
        guard later > 0, let reader = try reader(of: segments[later - 1]) else { return .zero }
        var lowBlock = 0
        var highBlock = reader.blockCount
        while lowBlock < highBlock {
            let middle = (lowBlock + highBlock) / 2
            // A stripe is searched as a whole, because times may decrease between its blocks.
            let unit = reader.stripe(around: middle)?.indexes ?? middle..<middle + 1
            if try firstTime(fromBlock: unit.lowerBound, in: reader).map({ $0 <= time }) ?? false {
                lowBlock = unit.upperBound
            } else {
                highBlock = unit.lowerBound
            }
        }
        guard lowBlock > 0, let entry = reader.entry(at: lowBlock - 1) else { return .zero }
        let stripe = reader.stripe(around: lowBlock - 1)
        var result = SequenceNumber.zero
        try scan(from: stripe?.first ?? entry.first, through: stripe?.last ?? entry.last) { event in
            guard event.commit.time <= time else { return false }
            result = event.commit.last
            return true
        }
        return result
    }

    /// Returns the time of the first event of some segments.
    ///
    /// Compaction may have left a segment without events.
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

    /// Returns the time of the first event in a block, or a stripe, or after it.
    private func firstTime(
        fromBlock first: Int,
        in reader: SegmentReader
    ) throws(LogError) -> Int64? {
        var index = first
        while var entry = reader.entry(at: index) {
            index += 1
            if let stripe = reader.stripe(around: index - 1) {
                index = stripe.blocks.upperBound
                let blocks = reader.entries(stripe.blocks)
                entry = blocks.min { $0.first < $1.first } ?? entry
            }
            guard let block = try block(entry, in: reader, keeping: true) else { continue }
            var cursor = BlockCursor(block)
            if try advance(&cursor, of: reader) { return cursor.commit.time }
        }
        return nil
    }
}
