// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLog

/// Keeps a compaction out of the way of those who write: it rests after every piece of work.
struct CompactionPace {
    /// `nil` for as fast as it goes.
    let bytesPerSecond: Int?
    /// Returns true if a commit is being written to disk.
    let isBusy: () -> Bool
    /// Returns true if the compaction is to end; then it no longer pauses.
    let isEnding: () -> Bool
    /// Bytes that were looked at or written and not rested for.
    private var byteCount = 0
    private var start = ContinuousClock.now

    /// A piece of work: some milliseconds of compressing, which is what a writer may have to wait for
    /// on a machine whose processors are all at work.
    static let pieceByteCount = 128 << 10
    /// While others write, it leaves them so many times the time that it takes.
    static let deference = 2
    /// It never rests longer in one go, so that a store can be closed; what is missing comes with the next
    /// event.
    static let longestRest = Duration.milliseconds(100)

    /// Begins now.
    init(
        bytesPerSecond: Int?,
        isBusy: @escaping () -> Bool,
        isEnding: @escaping () -> Bool
    ) {
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
        self.isBusy = isBusy
        self.isEnding = isEnding
    }

    /// Takes an event into account that was looked at, or written; rests if a piece of work is done,
    /// and says so.
    mutating func count(_ event: LogEvent) -> Bool {
        byteCount += event.payloadRange.count + Self.eventOverhead
        guard byteCount >= Self.pieceByteCount else { return false }
        if isEnding() { return true }
        let worked = start.duration(to: .now)
        let rest = Self.rest(
            after: worked,
            byteCount: byteCount,
            bytesPerSecond: bytesPerSecond,
            isBusy: isBusy()
        )
        if rest > .zero {
            // Nobody ever signals it.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + rest.dispatchInterval)
        }
        byteCount = Self.left(of: byteCount, after: worked + rest, bytesPerSecond: bytesPerSecond)
        start = .now
        return true
    }

    /// Returns the number of bytes that exceed what the rate allows in a time.
    static func left(of byteCount: Int, after time: Duration, bytesPerSecond: Int?) -> Int {
        guard let bytesPerSecond else { return 0 }
        // Rounded up, so that a rest to the end leaves nothing.
        let allowed = (Double(bytesPerSecond) * (time / .seconds(1))).rounded(.up)
        return allowed < Double(byteCount) ? byteCount - Int(allowed) : 0
    }

    /// The bytes that an event takes in addition to its payload.
    private static let eventOverhead = 8

    /// Returns the time to pause after a piece of work.
    static func rest(
        after worked: Duration,
        byteCount: Int,
        bytesPerSecond: Int?,
        isBusy: Bool
    ) -> Duration {
        var rest = isBusy ? worked * deference : .zero
        if let bytesPerSecond {
            let due = Duration.seconds(Double(byteCount) / Double(max(1, bytesPerSecond)))
            rest = max(rest, due - worked)
        }
        return min(rest, longestRest)
    }
}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
    }
}
