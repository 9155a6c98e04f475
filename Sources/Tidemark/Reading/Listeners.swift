// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The ways in which an open store notifies those that wait for news.
///
/// They outlive the other parts of the store if those are closed and opened again.
struct Listeners: Sendable {
    /// Notifies those that wait for the log to grow.
    let arrivals = Broadcast<Arrival>()
    /// Notifies those that wait for notifications, by the database of the notifications.
    let news = Broadcast<DatabaseID>()
    /// Notifies those that wait for a user's status to change.
    let accountNews = Broadcast<AccountPlace>()
    /// The reports of schema uses that production does not allow.
    let driftReports = DriftReports()

    /// Notifies all listeners that anything may have changed.
    func tellAll() {
        arrivals.tellAll()
        accountNews.tellAll()
        news.tellEverybody()
    }

    /// Notifies all listeners that nothing follows.
    func close() {
        arrivals.close()
        accountNews.close()
        news.close()
        driftReports.finish()
    }
}
