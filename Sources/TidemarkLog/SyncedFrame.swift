// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Commits that one sync made durable.
public struct SyncedFrame: Hashable, Sendable {
    /// The number of commits in the frame.
    public var commitCount: Int
    /// The number of events in these commits.
    public var eventCount: Int
    /// The size of the frame in the log, in bytes.
    public var byteCount: Int
    /// The number of events that arrived meanwhile and wait for the next sync.
    public var queuedEventCount: Int

    /// Describes a frame.
    public init(commitCount: Int, eventCount: Int, byteCount: Int, queuedEventCount: Int) {
        self.commitCount = commitCount
        self.eventCount = eventCount
        self.byteCount = byteCount
        self.queuedEventCount = queuedEventCount
    }
}
