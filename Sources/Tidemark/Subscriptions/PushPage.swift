// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// A page of a user's notifications, for a server that forwards them to the user's clients.
package struct PushPage: Sendable {
    /// A notification, pruned to what a push may hold.
    package struct Line: Sendable {
        package var notification: Subscription.Notification
        /// The name of the change that it reports: the same in all notifications of one change.
        package var change: String
        /// The position of a client that has handled the notification.
        package var token: ChangeToken
        /// The client that made the change.
        package var origin: Origin
    }

    /// The client that made a change, which gets no notification of it.
    package enum Origin: Sendable {
        /// The device of the user; `nil` if it is not known.
        case device(Name?)
        /// The user and device that marked a notification as read.
        case reading(user: Name?, device: Name?)
    }

    package var lines: [Line]
    /// The position after the page.
    package var token: ChangeToken
    /// True if there may be more after the page.
    package var moreComing: Bool
    /// The last committed position when the page was made.
    var shownThrough: SequenceNumber
}

extension PushPage.Line {
    /// Returns true if a caller's client made the change.
    func isOwn(of caller: Caller) -> Bool { origin.isClient(of: caller) }
}

extension PushPage.Origin {
    /// Returns true if this is the caller's client.
    package func isClient(of caller: Caller) -> Bool {
        switch self {
        case .device(let device): device == Name(caller.device ?? "")
        case .reading(let user, let device):
            user == caller.user?.name && device == caller.device.map { Name($0) }
        }
    }
}
