// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// Paces a compaction so that it does not delay writers: it pauses after every piece of work.
struct CompactionPace {
    /// The maximum rate; `nil` for no limit.
    let bytesPerSecond: Int?
    /// Returns true if a commit is being written to disk.
    let isBusy: () -> Bool
    /// Returns true if the compaction is to end; then it no longer pauses.
    let isEnding: () -> Bool
    /// The bytes that were read or written since the last pause.
    private var byteCount = 0
    private var start = ContinuousClock.now

    /// The bytes of a piece of work: some milliseconds of compression.
    ///
    /// A writer may have to wait that long if all processors are busy.
    static let pieceByteCount = 128 << 10
    /// The ratio of pause to work while there are other writes.
    static let deference = 2
    /// The longest single pause, so that a store can be closed; the remainder follows with the next
    /// event.
    static let longestRest = Duration.milliseconds(100)

    /// Begins now.
    init(bytesPerSecond: Int?, isBusy: @escaping () -> Bool, isEnding: @escaping () -> Bool) {
        self.bytesPerSecond = bytesPerSecond.map { max(1, $0) }
        self.isBusy = isBusy
        self.isEnding = isEnding
    }

    /// Counts an event that was read or written; pauses if a piece of work is done, and then
    /// returns true.
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
        if rest > .zero { pauseThread(for: rest) }
        byteCount = Self.left(of: byteCount, after: worked + rest, bytesPerSecond: bytesPerSecond)
        start = .now
        return true
    }

    /// Returns the number of bytes that exceed what the rate allows in a time.
    static func left(of byteCount: Int, after time: Duration, bytesPerSecond: Int?) -> Int {
        guard let bytesPerSecond else { return 0 }
        // Rounded up, so that a full pause leaves no remainder.
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
        // Twice the work: writers then have the disk and a processor to themselves for two thirds
        // of the time.
        var rest = isBusy ? worked * deference : .zero
        if let bytesPerSecond {
            let due = Duration.seconds(Double(byteCount) / Double(max(1, bytesPerSecond)))
            rest = max(rest, due - worked)
        }
        return min(rest, longestRest)
    }
}
