// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What may be set about a log.
///
/// A plain value.
package struct LogConfiguration: Hashable, Sendable {
    /// Whether an answer waits for the disk.
    package var durability = Durability.full
    /// Bytes of decoded blocks kept for readers.
    package var cacheByteCount = 16 << 20
    /// Who may read the files of a store that is made.
    package var permissions = FilePermissions.owner
    /// Room for frames in a full-grown segment.
    ///
    /// The first ones of a store are smaller: 1 MiB, then as much as the log before it. At most 2
    /// GiB, whatever is set: offsets in a segment have 32 bits. At least room for the frames that every
    /// segment may need.
    package var segmentByteCount = 64 << 20 {
        didSet { segmentByteCount = min(max(segmentByteCount, 512), 2 << 30) }
    }

    package init() {}
}

/// When a commit counts as done.
public enum Durability: String, Hashable, Sendable {
    /// After `fdatasync`: it survives a power failure.
    case full
    /// After the write: it survives the process, not the machine. For benchmarks and throw-away
    /// tests.
    case none
}

/// The effects a log needs, injected: files, clock, randomness.
package struct LogEnvironment: Sendable {
    /// Where the files are.
    package var fileSystem: any FileSystem
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// Milliseconds since some moment by a clock that nobody sets and that goes on while the machine
    /// sleeps; `nil` if there is none, as with a clock of a test.
    package var uptime: (@Sendable () -> Int64)?
    /// 64 random bits.
    package var random: @Sendable () -> UInt64
    /// `true` to write and sync on the thread that waits, for simulations in one thread.
    package var writesInline = false
    /// Begins to observe that a frame is written and synced; `nil` where nobody observes.
    ///
    /// What it returns is told what came of that.
    package var observeSync: (@Sendable () -> @Sendable (Result<SyncedFrame, LogError>) -> Void)?

    package init(
        fileSystem: any FileSystem,
        now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> UInt64
    ) {
        self.fileSystem = fileSystem
        self.now = now
        self.random = random
    }
}
