// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Runs of positions, ascending and disjoint.
extension [ClosedRange<SequenceNumber>] {
    /// Returns true if a run has a position in a range.
    ///
    /// O(log runs).
    package func overlap(_ range: ClosedRange<SequenceNumber>) -> Bool {
        let index = endOfPrefix { $0.upperBound < range.lowerBound }
        return index < count && self[index].lowerBound <= range.upperBound
    }

    /// Removes a range from the runs, except the positions in some runs to keep.
    ///
    /// O(runs of both).
    func removing(
        from first: SequenceNumber,
        through last: SequenceNumber,
        except kept: [ClosedRange<SequenceNumber>]
    ) -> [ClosedRange<SequenceNumber>] {
        guard first <= last else { return self }
        var result: [ClosedRange<SequenceNumber>] = []
        var kept = kept[...]
        for run in self {
            func add(_ lower: SequenceNumber, _ upper: SequenceNumber) {
                let (lower, upper) = (
                    Swift.max(lower, run.lowerBound), Swift.min(upper, run.upperBound)
                )
                if lower <= upper { result.append(lower...upper) }
            }
            if run.lowerBound < first { add(run.lowerBound, first.previous) }
            // Both lists ascend, so a run to keep that ends before this one is not needed again.
            kept = kept.drop { $0.upperBound < run.lowerBound }
            for part in kept {
                if part.lowerBound > run.upperBound { break }
                add(Swift.max(part.lowerBound, first), Swift.min(part.upperBound, last))
            }
            if run.upperBound > last { add(last.next, run.upperBound) }
        }
        return result
    }
}
