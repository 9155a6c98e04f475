// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
import TidemarkModel

/// Keeps an open store small: compacts its log, and collects unnamed assets.
final class Upkeep: Sendable {
    let reader: Reader
    let writer: WriteAccess
    let queries: Queries
    let notifications: Notifications
    /// Compacts by itself; `nil` in a store that is open for reading.
    let compactor: Compactor?
    /// The state of the store's compactions.
    let compacting = Lock(Compacting())

    init(
        _ reader: Reader,
        _ writer: WriteAccess,
        _ queries: Queries,
        _ notifications: Notifications,
        _ compactor: Compactor?
    ) {
        self.reader = reader
        self.writer = writer
        self.queries = queries
        self.notifications = notifications
        self.compactor = compactor
    }

    /// Ends a running compaction at its next check, and waits for background work.
    func close() {
        // First the flag, which ends a running compaction at its next check. Without it the wait
        // would last for the whole run.
        compacting.withLock { $0.close() }
        compactor?.wakeup.close()
    }
}
