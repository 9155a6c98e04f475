// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// Compaction that a store runs by itself while it is open for writing.
///
/// It begins when enough of the log is in finished segments that no compaction has written yet. It
/// is paced so that it does not delay writers.
public struct BackgroundCompaction: Hashable, Sendable {
    /// The history that a compaction may drop.
    public var policy: CompactionPolicy
    /// The maximum number of bytes of events to read or rewrite per second.
    public var bytesPerSecond = 10 << 20
    /// The size of the uncompacted part that starts a compaction, as a fraction of the compacted
    /// part.
    ///
    /// Each compaction reads the whole log: a smaller value causes more work, a larger one leaves
    /// the log longer.
    public var growth = 0.25

    /// Begins at a quarter of growth, and takes 10 MiB in a second.
    public init(_ policy: CompactionPolicy = CompactionPolicy()) {
        self.policy = policy
    }

    /// Returns true if a log of such segments has grown enough; the last segment may still take
    /// events.
    func isDue(for segments: some Sequence<SegmentLoad>) -> Bool {
        var oldByteCount: UInt64 = 0
        var newByteCount: UInt64 = 0
        for segment in segments {
            if segment.isCompacted {
                oldByteCount += segment.byteCount
            } else {
                newByteCount += segment.byteCount
            }
        }
        // A log that was never compacted is due with its first finished segment.
        return newByteCount > 0 && Double(newByteCount) >= growth * Double(oldByteCount)
    }
}
