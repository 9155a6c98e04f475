// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// The options of a store.
///
/// A plain value that can be printed and compared.
public struct StoreOptions: Hashable, Sendable {
    /// The limits on sizes and counts.
    ///
    /// The defaults are CloudKit's.
    public var limits = Limits()
    /// The containers that callers may use; `nil` for all.
    ///
    /// Others are `badContainer`.
    public var containers: Set<ContainerID>?
    /// True if each caller with a user must state how the user was authenticated; for a process
    /// that serves other processes.
    ///
    /// A caller whose ``TidemarkModel/Caller/authentication`` is `inProcess` gets
    /// `notAuthenticated`.
    public var requiresAuthentication = false
    /// The limits beyond which callers are asked to wait.
    public var throttling = Throttling()
    /// True if the store behaves as CloudKit does even where Tidemark can do more; for programs
    /// that are tested on Tidemark and run on CloudKit.
    ///
    /// The effects are listed under "The strict switch" in `Docs/semantics.md`.
    public var isStrict = false
    /// True if saves are checked against the schema, which grows with saves in development and is
    /// fixed in production.
    ///
    /// If false, every record type accepts every field, schemas do not change, and roles in the
    /// public database are not checked.
    public var checksSchema = true
    /// The durability of commits: it decides if a request waits for the disk.
    ///
    /// Use values other than ``Durability/full`` only for benchmarks and throw-away tests.
    public var durability = Durability.full
    /// The prefix of links to shares: the address of the server that handles them.
    public var shareURLPrefix = "https://tidemark.invalid/share/"
    /// The permissions of the files of a newly created store.
    ///
    /// Files that the store creates later get the permissions of its folder `segments`, whatever
    /// this option is.
    public var permissions = FilePermissions.owner
    /// Bytes of decoded blocks of the log that are kept for readers.
    public var cacheByteCount = 16 << 20
    /// The greatest length of a segment of the log: at most 2 GiB, whatever is set.
    ///
    /// A segment has a twenty-fourth of the log's length, and at least 2 MiB, until that is more.
    public var segmentByteCount = 64 << 20
    /// The number of events after which the zone views are written to disk in the background.
    ///
    /// If events are large, each 512 bytes count as one.
    ///
    /// Each event takes about 100 bytes of memory. At most three times as many are held before
    /// writers have to wait, and an open after a crash folds no more than that. The value is
    /// limited to the range from one to four thousand million.
    public var checkpointEventCount = 65_536
    /// The same, within its bounds: sums and small multiples of it stay numbers.
    var checkpointWeight: Int { min(max(checkpointEventCount, 1), Int(UInt32.max)) }
    /// Bytes of records in one page of a delta.
    ///
    /// A page holds at least one record.
    public var pageByteCount = 4 << 20
    /// By how much the machine's clock may be set while the store is open for writing: one hour; `nil` for
    /// any.
    ///
    /// Beyond it, whatever writes is `serviceUnavailable` until the clock is set right or the store is
    /// opened again.
    public var clockJumpLimit: Duration? = .seconds(60 * 60)
    /// The time for which a request id is remembered, by our own clock: 90 days.
    public var requestLifetime = Duration.seconds(90 * 24 * 60 * 60)
    /// The time for which an unread notification of a query is kept, by our own clock: 30 days.
    ///
    /// Older notifications are removed when their user gets the next one.
    public var notificationLifetime = Duration.seconds(30 * 24 * 60 * 60)
    /// The compaction that the store runs by itself; `nil` to compact only in
    /// ``Store/compact(_:isDryRun:)``.
    public var backgroundCompaction: BackgroundCompaction?

    /// The kinds of entries that the store's journal records.
    public var journal = Journal.refusals
    /// The approximate number of bytes of the journal to keep.
    public var journalByteCount = 64 << 20
    /// The time for which journal entries are kept, in milliseconds of our own clock: 30 days.
    ///
    /// Older entries are removed when a new one is added.
    public var journalLifetime: Int64 = 30 * 24 * 60 * 60 * 1000

    /// The kinds of entries that the journal records: `Docs/journal.md`.
    ///
    /// Raw values are on disk: never renumber them.
    public enum Journal: UInt8, Hashable, CaseIterable, Codable, Sendable {
        /// Rejected requests, with their callers and reasons.
        case refusals = 0
        /// Rejections, and each device's pages of changes, with their tokens and acknowledgements.
        case full = 1
    }

    /// The defaults.
    public init() {}
}

/// The purpose for which a store is opened.
public enum StoreAccess: Hashable, Sendable {
    /// To write it; it must be there.
    case writing
    /// To write it; it is created if it does not exist.
    case creating
    /// To read it as it is now, whether or not another process has it open.
    ///
    /// Nothing is written. Open it again to see later changes.
    case reading
}

/// The progress of an open that rebuilds the zone views from the log.
public struct RebuildProgress: Hashable, Sendable {
    /// Events folded so far.
    public let eventCount: UInt64
    /// Events there are to fold.
    public let totalEventCount: UInt64
}
