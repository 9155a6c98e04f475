// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkViews

/// What an open store is made of: the log, the views and the rules.
///
/// A ``Store`` lets go of it when it is closed.
final class Engine: Sendable {
    /// What tells the store from every other.
    let id: StoreID
    let options: StoreOptions
    let source: any EventSource
    let views: ZoneViews
    /// The store's incarnations, as of its opening.
    let line: IncarnationLine
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    /// The bytes of assets.
    let blobs: BlobStore
    /// Who may name which of them in databases that others write to.
    let knownAssets = Lock(KnownAssets())
    /// Where what waits long for the disk runs.
    let blockingWork: BlockingWork
    /// Reads the journal.
    let journalReader: JournalReader
    /// For what nobody may guess: the ends of links.
    let random: @Sendable () -> UInt64
    /// Who hears of what builds do that production does not allow.
    let driftReports = DriftReports()
    /// The schemas that requests needed last.
    let schemas = Lock(StoredSchemas())
    /// The last query that was answered without an index.
    let scanned = Lock<ScannedQuery?>(nil)
    /// What databases take up that have a quota.
    let usages = Lock(UsageCounts())
    /// Whether a compaction is under way.
    let compacting = Lock(Compacting())
    /// Who has asked how much lately.
    let requests = Lock(RequestCounts())
    /// The statuses of accounts that requests needed last.
    let statuses = Lock(AccountStatuses())
    /// Tells those who wait for a user's status to change.
    let accountNews = Broadcast<AccountPlace>()
    /// Who takes part in which shares, as requests needed it last.
    let participations = Lock(KnownParticipations())
    /// `nil` in a store that is open for reading.
    let writing: Writing?

    /// What only a store that is open for writing has.
    struct Writing: Sendable {
        let log: SegmentLog
        let committer: Committer
        let checkpointer: Checkpointer
        let queries: StoreQueries
        let notifier: Notifier
        let journal: OpenJournal
        let compactor: Compactor
        /// Tells those who wait for more of the log.
        let arrivals: Broadcast<Arrival>
    }

    /// Wraps what an opening has put together.
    init(
        options: StoreOptions,
        source: any EventSource,
        views: ZoneViews,
        line: IncarnationLine,
        blobs: BlobStore,
        journalReader: JournalReader,
        environment: LogEnvironment,
        writing: Writing?
    ) {
        id = source.store
        self.options = options
        self.source = source
        self.views = views
        self.line = line
        self.blobs = blobs
        self.journalReader = journalReader
        now = environment.now
        random = environment.random
        blockingWork = BlockingWork(runsInline: environment.writesInline)
        self.writing = writing
    }

    /// Whether the store is open for writing.
    var isWritable: Bool { writing != nil }

    /// What is needed to write; throws for a store that is open for reading.
    func writer() throws(SyncError) -> Writing {
        guard let writing else {
            throw SyncError(
                .serviceUnavailable,
                "The store is open for reading only.",
                remedy: "Open the store for writing to change it."
            )
        }
        return writing
    }

    /// Makes everything durable, brings the zone views on disk up to date, and ends the log.
    func close() throws(LogError) {
        driftReports.finish()
        accountNews.close()
        guard let writing else { return }
        compacting.withLock { $0.close() }
        writing.compactor.wakeup.close()
        writing.arrivals.close()
        writing.notifier.news.close()
        writing.notifier.wakeup.close()
        writing.journal.close()
        // Calls that are under way on other threads must not go on while views are written.
        writing.log.refuseCommits()
        // Views that could not be brought forward are brought forward by the next opening.
        try? writing.checkpointer.finish(views)
        // What was compacted is a good deal shorter now, and the views' pages are not.
        if compacting.withLock({ $0.hasRun }) { try? views.index.condense() }
        try writing.log.close()
    }
}
