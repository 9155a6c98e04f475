// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The log of one store, open for writing by this process alone.
package final class SegmentLog: EventSource {
    // CONTRACT STUB: the log is being written; the signatures below are settled.

    /// Opens the log in a store's folder, creating it if asked, and recovers whatever an unclean
    /// stop left behind.
    package static func open(
        _ directory: String,
        creating: Bool,
        configuration: LogConfiguration,
        environment: LogEnvironment,
        onDurable: @escaping @Sendable (SequenceNumber) -> Void
    ) throws(LogError) -> (log: SegmentLog, report: RecoveryReport) {
        fatalError()
    }

    package var store: StoreID { fatalError() }
    package var line: IncarnationLine { fatalError() }
    package var durableSequence: SequenceNumber { fatalError() }
    /// The last position given out, durable or not.
    package var lastSequence: SequenceNumber { fatalError() }
    /// The time of the last commit, durable or not; `Int64.min` for an empty log.
    package var lastTime: Int64 { fatalError() }

    /// Appends a commit and returns the position of its first event: always `lastSequence.next`.
    ///
    /// Never waits for the disk. From here on the commit cannot be cancelled; it is durable once
    /// `durableSequence` reaches its last event. Callers serialize their calls (the engine calls
    /// inside its serialization point, where it reads `lastSequence` to learn what the positions
    /// will be). An `ownSequence` zone becomes the event's own position.
    package func append(_ draft: consuming CommitDraft) throws(LogError) -> SequenceNumber {
        fatalError()
    }

    /// Waits until an appended position is durable; throws if the writer failed before that.
    /// Not cancellable.
    package func waitUntilDurable(_ sequence: SequenceNumber) async throws(LogError) {
        fatalError()
    }

    /// The same for a caller that has no task and may block its thread.
    package func blockUntilDurable(_ sequence: SequenceNumber) throws(LogError) {
        fatalError()
    }

    package func read(
        _ sequences: some Sequence<SequenceNumber>, _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        fatalError()
    }

    package func scan(
        from first: SequenceNumber, through last: SequenceNumber, _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        fatalError()
    }

    package func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        fatalError()
    }

    /// Makes everything durable, writes the closing frame and lets go of the store.
    package func close() throws(LogError) {
        fatalError()
    }
}

/// What may be set about a log. A plain value.
package struct LogConfiguration: Hashable, Sendable {
    /// Whether an answer waits for the disk.
    package var durability = Durability.full
    /// Bytes of decoded blocks kept for readers.
    package var cacheByteCount = 16 << 20
    /// A segment is ended when it has reached this length. The first ones of a store are smaller:
    /// 1 MiB, then four times the one before.
    package var segmentByteCount = 64 << 20

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
    /// 64 random bits.
    package var random: @Sendable () -> UInt64
    /// `true` to write and sync on the thread that appends, for simulations in one thread.
    package var writesInline = false

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

/// What opening found after the last stop.
package struct RecoveryReport: Hashable, Sendable {
    /// Whether the last writer closed the log.
    package var wasClean = true
    /// Bytes after the last sound frame that were discarded as a torn tail, and where.
    package var discardedByteCount: UInt64 = 0
    package var discardedAt: String?

    package init() {}
}
