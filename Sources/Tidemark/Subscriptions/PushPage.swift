// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A page of notifications on their way to one client, oldest first.
package struct PushPage: Sendable {
    /// A notification, pruned to what a push may hold.
    package struct Line: Sendable {
        package var notification: Subscription.Notification
        /// The name of the change that it reports: the same in all notifications of one change.
        package var change: String
        /// The position of a client that has handled the notification.
        package var token: ChangeToken
    }

    package var lines: [Line]
    /// The position after the page.
    package var token: ChangeToken
    /// True if there may be more after the page.
    package var moreComing: Bool
}
