// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The positions whose events are lost, found stretch by stretch in log order.
struct LostPositions {
    /// The lost positions, as ascending runs.
    private(set) var runs: [ClosedRange<SequenceNumber>] = []
    /// The position up to which the lost events are known.
    private(set) var surveyed = SequenceNumber.zero

    /// Takes in a stretch and its unreadable positions; positions before it that no stretch has are lost
    /// too.
    mutating func survey(
        from first: SequenceNumber,
        through end: SequenceNumber,
        missing: [ClosedRange<SequenceNumber>]
    ) {
        note(surveyed.next, through: min(first.previous, end))
        for run in missing { note(run.lowerBound, through: min(run.upperBound, end)) }
        surveyed = max(surveyed, end)
    }

    private mutating func note(_ first: SequenceNumber, through last: SequenceNumber) {
        let first = max(first, surveyed.next)
        guard first <= last else { return }
        surveyed = last
        if let run = runs.last, run.upperBound.next == first {
            runs[runs.count - 1] = run.lowerBound...last
        } else {
            runs.append(first...last)
        }
    }
}
