// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Commits that one sync made durable.
public struct SyncedFrame: Hashable, Sendable {
    /// How many commits they are.
    public var commitCount: Int
    /// How many events these have.
    public var eventCount: Int
    /// Bytes of the log that they take up.
    public var byteCount: Int
    /// Events that came meanwhile, and wait for the next sync.
    public var queuedEventCount: Int

    /// Describes a frame.
    public init(commitCount: Int, eventCount: Int, byteCount: Int, queuedEventCount: Int) {
        self.commitCount = commitCount
        self.eventCount = eventCount
        self.byteCount = byteCount
        self.queuedEventCount = queuedEventCount
    }
}
