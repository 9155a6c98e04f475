// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Reads an open store, now and in the past.
///
/// It owns the data that readers cache between requests. It never changes the log.
final class Reader: Sendable {
    /// The unique id of the store.
    let id: StoreID
    let options: StoreOptions
    let source: any EventSource
    let views: ZoneViews
    /// The store's incarnations, as of its opening.
    let line: IncarnationLine
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    /// The source of unpredictable numbers, for the ends of links.
    let random: @Sendable () -> UInt64
    /// The bytes of assets.
    let blobs: BlobStore
    /// The queue for work that waits long for the disk.
    let blockingWork: BlockingWork
    /// Reads the journal.
    let journalReader: JournalReader
    /// The journal of requests and rejections; `nil` in a store that is open for reading.
    let journal: OpenJournal?
    /// The observer of calls and their ends; `nil` if there is none.
    let observer: (any StoreObserver)?
    /// True if there is an observer, for every call: reading `observer` takes longer.
    let isObserved: Bool
    /// Reports the use of the block cache to the observer.
    let cacheReports = CacheReports()
    /// The reports of schema uses that production does not allow.
    let driftReports: DriftReports
    /// The schemas that requests needed last.
    let schemas = Lock(StoredSchemas())
    /// The recent requests of each user.
    let requests = Lock(RequestCounts())
    /// The statuses of accounts that requests needed last.
    let statuses = Lock(UserValues<AccountStatus>(countLimit: 10_000))
    /// The zones that shares show to users, as requests last needed them.
    let knownSharedZones = Lock(UserValues<SharedZones>(countLimit: 256))
    /// The records of a zone as of a position, as a request last needed them.
    let pastRecords = Lock<KnownPastRecords?>(nil)
    /// The users that may name each asset in databases that other users write to.
    let knownAssets = Lock(KnownAssets())
    /// Notifies those that wait for a user's status to change.
    let accountNews: Broadcast<AccountPlace>

    init(
        options: StoreOptions,
        source: any EventSource,
        views: ZoneViews,
        line: IncarnationLine,
        blobs: BlobStore,
        journalReader: JournalReader,
        journal: OpenJournal?,
        environment: LogEnvironment,
        observer: (any StoreObserver)?,
        listeners: Listeners
    ) {
        id = source.store
        self.options = options
        self.source = source
        self.views = views
        self.line = line
        self.blobs = blobs
        self.journalReader = journalReader
        self.journal = journal
        self.observer = observer
        isObserved = observer != nil
        driftReports = listeners.driftReports
        accountNews = listeners.accountNews
        now = environment.now
        random = environment.random
        blockingWork = BlockingWork(runsInline: environment.writesInline)
    }
}
