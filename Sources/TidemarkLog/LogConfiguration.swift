// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The settings of a log.
///
/// A plain value.
package struct LogConfiguration: Hashable, Sendable {
    /// The durability that a commit has when its call returns.
    package var durability = Durability.full
    /// Bytes of decoded blocks kept for readers.
    package var cacheByteCount = 16 << 20
    /// The users that may read the files of a new store.
    package var permissions = FilePermissions.owner
    /// The room for frames in a full-size segment, in bytes.
    ///
    /// A store's first segments are smaller: 1 MiB, then as much as the log before it. The value is
    /// limited to 2 GiB, because offsets in a segment have 32 bits, and is at least the room for
    /// the frames that every segment may need.
    package var segmentByteCount = 64 << 20 {
        didSet { segmentByteCount = min(max(segmentByteCount, 512), 2 << 30) }
    }

    package init() {}
}

/// The point at which a commit is reported as saved.
public enum Durability: String, Hashable, Sendable {
    /// After `fdatasync`: the commit survives a power failure.
    case full
    /// After the write: the commit survives the process, but not a machine crash. For benchmarks
    /// and temporary test stores.
    case none
}

/// The effects a log needs, injected: files, clock, randomness.
package struct LogEnvironment: Sendable {
    /// The file system that holds the files.
    package var fileSystem: any FileSystem
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    /// The milliseconds since an arbitrary moment, by a monotonic clock that also runs while the
    /// machine sleeps; `nil` if there is none, as with a test clock.
    package var uptime: (@Sendable () -> Int64)?
    /// 64 random bits.
    package var random: @Sendable () -> UInt64
    /// Marks the events of decoded blocks for readers of many of them.
    package var marker = EventMarker.none
    /// True to write and sync on the calling thread, for single-threaded simulations.
    package var writesInline = false
    /// Called before a frame is written and synced; `nil` if there is no observer.
    ///
    /// The returned closure is called with the result of the write and sync.
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
