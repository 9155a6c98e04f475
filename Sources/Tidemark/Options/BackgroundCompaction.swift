// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// Compaction that a store does by itself while it is open for writing.
///
/// It begins when enough of the log is in finished segments that no compaction has written yet, takes
/// its time, and stays out of the way of those who write.
public struct BackgroundCompaction: Hashable, Sendable {
    /// The history that a compaction may drop.
    public var policy: CompactionPolicy
    /// So many bytes of events are looked at or written anew in a second, at most.
    public var bytesPerSecond = 10 << 20
    /// It begins when what was not compacted yet is this share of what was.
    ///
    /// All of the log is looked at each time: less brings more work, more leaves the log longer.
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
        return newByteCount > 0 && Double(newByteCount) >= growth * Double(oldByteCount)
    }
}
