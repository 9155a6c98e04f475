// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// A search for the first bad position with as few probes as possible.
///
/// It reads nothing; it only chooses the next position to test.
public struct Bisection: Sendable {
    /// The result of testing a position.
    public enum Verdict: Hashable, Sendable {
        /// All is well there.
        case good
        /// The state at the position is bad.
        case bad
        /// The state cannot be determined.
        case unknown
    }

    /// The last position that is known to be good.
    public private(set) var good: SequenceNumber
    /// The first position that is known to be bad.
    public private(set) var bad: SequenceNumber
    /// The number of positions that were tested.
    public private(set) var probeCount = 0
    private var unknown: Set<SequenceNumber> = []

    /// Begins with a good position and a bad one after it.
    public init(good: SequenceNumber, bad: SequenceNumber) {
        precondition(good < bad, "a bisection goes from good to bad")
        self.good = good
        self.bad = bad
    }

    /// The next position to test: in the middle between good and bad, or near it if the middle is
    /// unknown; `nil` if no position is left.
    public var next: SequenceNumber? {
        let width = bad.rawValue - good.rawValue
        guard width > 1 else { return nil }
        let middle = good.rawValue + width / 2
        // Probe ever farther away, so that a long undecidable stretch is soon left behind.
        var distance: UInt64 = 0
        while distance < width {
            // The subtraction may wrap. The result is then above `bad`, and is skipped.
            for candidate in [middle + distance, middle &- distance] {
                let position = SequenceNumber(rawValue: candidate)
                if position > good, position < bad, !unknown.contains(position) { return position }
            }
            distance = max(1, distance * 2)
        }
        // Doubled distances leave positions out, so the rest is searched one by one.
        return (good.rawValue + 1..<bad.rawValue).lazy.map(SequenceNumber.init(rawValue:))
            .first { !unknown.contains($0) }
    }

    /// Leaves a position out, without looking at it.
    public mutating func pass(over position: SequenceNumber) { unknown.insert(position) }

    /// Returns true if a position was skipped, or its state cannot be determined.
    public func isPassed(_ position: SequenceNumber) -> Bool { unknown.contains(position) }

    /// Records the result of testing a position between good and bad.
    public mutating func note(_ verdict: Verdict, at position: SequenceNumber) {
        probeCount += 1
        switch verdict {
        case .good: good = max(good, position)
        case .bad: bad = min(bad, position)
        case .unknown: unknown.insert(position)
        }
    }

    /// True if the first bad position is known: no position lies between good and bad.
    public var isExact: Bool { bad == good.next }
}
