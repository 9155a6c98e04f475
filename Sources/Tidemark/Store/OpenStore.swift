// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// The parts of an open store.
///
/// A ``Store`` releases them when it is closed.
final class OpenStore: Sendable {
    let reader: Reader
    let writer: WriteAccess
    let queries: Queries
    let notifications: Notifications
    let upkeep: Upkeep
    let listeners: Listeners
    /// Closes the files while nobody uses the store.
    let parking: StoreParking
    private let idleSweep: IdleSweep?

    init(
        _ reader: Reader,
        _ writer: Writer?,
        indexes: StoreQueries?,
        _ notifier: Notifier?,
        _ compactor: Compactor?,
        _ listeners: Listeners,
        _ idleSweep: IdleSweep?
    ) {
        self.reader = reader
        let writer = WriteAccess(writer)
        self.writer = writer
        queries = Queries(reader, writer, indexes)
        self.listeners = listeners
        // Without a notifier the store is open for reading, and its log does not grow.
        let arrivals = notifier == nil ? nil : listeners.arrivals
        notifications = Notifications(reader, writer, notifier, arrivals)
        upkeep = Upkeep(reader, writer, queries, notifications, compactor)
        parking = StoreParking(reader, writer, indexes)
        self.idleSweep = idleSweep
    }

    /// Rewrites the views if the store has been compacted, since their pages are as many as before,
    /// or if many of their pages are free.
    private func giveBackPages(_ log: SegmentLog) {
        let index = reader.views.index
        let limit = SegmentLog.spareByteCountLimit(of: log.byteCount) / 4
        guard upkeep.compacting.withLock({ $0.hasRun }) || index.spareByteCount > limit else {
            return
        }
        try? index.condense(spareLimit: limit)
    }

    /// Makes everything durable, brings the zone views on disk up to date, and closes the log.
    ///
    /// Background work ends first, because it must not meet a closed log. With `keepsListeners`, the
    /// listeners wait for the parts that replace these.
    func close(keepsListeners: Bool = false) throws(LogError) {
        defer { reader.observer?.notes(.closed) }
        // `Store` has released the parts already. Tasks that are woken here find the store closed,
        // and end.
        if !keepsListeners { listeners.close() }
        reader.blobs.close()
        guard let writer = writer.ifAny else { return }
        // Compaction waits for updates of the query index and for notifications.
        queries.indexes?.stop()
        upkeep.close()
        notifications.close()
        reader.journal?.close()
        // Calls that are running on other threads must not continue while views are written.
        writer.log.refuseCommits()
        // Views that could not be updated are updated by the next open.
        try? writer.checkpointer.finish(reader.views)
        giveBackPages(writer.log)
        // Before the lock is free: a sweep must not keep the views open when they are opened again.
        idleSweep?.forget(parking)
        try writer.log.close()
    }
}
