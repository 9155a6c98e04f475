// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// Stores subscriptions, makes their notifications, and wakes those that wait for notifications.
final class Notifications: Sendable {
    let reader: Reader
    let writer: WriteAccess
    /// Makes the notifications; `nil` in a store that is open for reading.
    private let openNotifier: Notifier?
    /// Notifies those that wait for the log to grow; `nil` in a store that is open for reading.
    let arrivals: Broadcast<Arrival>?

    init(
        _ reader: Reader,
        _ writer: WriteAccess,
        _ notifier: Notifier?,
        _ arrivals: Broadcast<Arrival>?
    ) {
        self.reader = reader
        self.writer = writer
        openNotifier = notifier
        self.arrivals = arrivals
    }

    /// Returns the object that makes notifications; throws in a store that is open for reading.
    func notifier() throws(SyncError) -> Notifier {
        guard let openNotifier else { throw .openForReading }
        return openNotifier
    }

    /// Ends the background work, and waits for work that is running.
    func close() {
        openNotifier?.wakeup.close()
    }
}
