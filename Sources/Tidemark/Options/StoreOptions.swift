// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// What may be set about a store.
///
/// A plain value: it can be printed and compared.
public struct StoreOptions: Hashable, Sendable {
    /// How much of everything is allowed.
    ///
    /// The defaults are CloudKit's.
    public var limits = Limits()
    /// The containers that callers may use; `nil` for all.
    ///
    /// Others are `badContainer`.
    public var containers: Set<ContainerID>?
    /// Whether each caller with a user has to say how the user was authenticated: for a process that
    /// answers requests of others.
    ///
    /// A caller whose ``TidemarkModel/Caller/authentication`` is `inProcess` is `notAuthenticated`.
    public var requiresAuthentication = false
    /// When callers are asked to wait.
    public var throttling = Throttling()
    /// Whether the store answers as CloudKit does also where Tidemark can do more: for programs that
    /// are tested here and run there.
    ///
    /// What that means is listed under "The strict switch" in `Docs/semantics.md`.
    public var isStrict = false
    /// Whether the schema says what may be saved: growing with what is saved in development, fixed in
    /// production.
    ///
    /// Without it every record type takes every field, schemas stay as they are, and roles in the
    /// public database are not asked about.
    public var checksSchema = true
    /// Whether an answer waits for the disk.
    ///
    /// Anything but ``Durability/full`` is for benchmarks and throw-away tests.
    public var durability = Durability.full
    /// How the links to shares begin: where a server answers them.
    public var shareURLPrefix = "https://tidemark.invalid/share/"
    /// Who may read the files of a store that is made.
    ///
    /// What a store makes later has the permissions of its folder `segments`, whatever is set.
    public var permissions = FilePermissions.owner
    /// Bytes of decoded blocks of the log that are kept for readers.
    public var cacheByteCount = 16 << 20
    /// A segment of the log is ended when it has reached this length: at most 2 GiB, whatever is set.
    public var segmentByteCount = 64 << 20
    /// After so many events the zone views go to disk in the background; where events are large,
    /// each 512 bytes count as one.
    ///
    /// About 100 bytes of memory each. Three times as many are held before writers have to wait,
    /// and no more than that are folded at an opening after a crash. At least one, at most four thousand
    /// million, whatever is set.
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
    /// How long a request id is remembered, by our own clock: 90 days.
    public var requestLifetime = Duration.seconds(90 * 24 * 60 * 60)
    /// How long a notification of a query is kept that nobody reads, by our own clock: 30 days.
    ///
    /// What is older goes with the next notification that its user gets.
    public var notificationLifetime = Duration.seconds(30 * 24 * 60 * 60)
    /// What the store does by itself to keep its log short; `nil` for nothing before
    /// ``Store/compact(_:isDryRun:)`` is called.
    public var backgroundCompaction: BackgroundCompaction?

    /// What the journal beside the log takes in.
    public var journal = Journal.refusals
    /// About so many bytes of the journal are kept.
    public var journalByteCount = 64 << 20
    /// How long its entries are kept, in milliseconds of our own clock: 30 days.
    ///
    /// What is older goes when something new comes.
    public var journalLifetime: Int64 = 30 * 24 * 60 * 60 * 1000

    /// What the journal takes in: `Docs/journal.md`.
    ///
    /// Raw values are on disk: never renumber them.
    public enum Journal: UInt8, Hashable, CaseIterable, Codable, Sendable {
        /// What was refused, to whom, and why.
        case refusals = 0
        /// That, and what each device was told of changes, by which tokens, and acknowledged.
        case full = 1
    }

    /// The defaults.
    public init() {}
}

/// What a store is opened for.
public enum StoreAccess: Hashable, Sendable {
    /// To write it; it must be there.
    case writing
    /// To write it; it is made if nothing is there.
    case creating
    /// To read it as it is at this moment, whether or not another process has it open. Nothing is
    /// written. Opening it again shows what came later.
    case reading
}

/// How far an opening has come that has to rebuild the zone views from the log.
public struct RebuildProgress: Hashable, Sendable {
    /// Events folded so far.
    public let eventCount: UInt64
    /// Events there are to fold.
    public let totalEventCount: UInt64
}
