// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// Subscribes to the user's notifications from now on, from all of the user's databases.
    ///
    /// ```swift
    /// let news = try await anna.listen()
    /// for try await push in news { print(push.notification.subscriptionID) }
    /// ```
    ///
    /// The stream includes every change after this has returned, whenever iteration begins. A
    /// notification is a hint to fetch. The device's own changes are not included. The stream ends
    /// when the service is closed.
    public func listen() async throws -> NotificationStream {
        notifications(since: try await service.notificationToken(as: caller))
    }

    /// The user's notifications from the moment that iteration begins.
    ///
    /// Earlier notifications are not included. ``listen()`` returns a stream without this gap.
    public var notifications: NotificationStream { notifications(since: nil) }

    /// Returns the user's notifications after a token, then future ones.
    public func notifications(since token: ChangeToken?) -> NotificationStream {
        NotificationStream(database: self, token: token)
    }
}

/// A user's notifications as they come; see ``Database/notifications``.
public struct NotificationStream: AsyncSequence, Sendable {
    /// A notification, and the token from which to continue.
    public typealias Element = Subscription.Push

    fileprivate let database: Database
    fileprivate let token: ChangeToken?

    /// Returns an iterator that begins to listen with the first call of ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(database, token) }

    /// An iterator over the notifications.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        private let token: ChangeToken?
        private var stream: AsyncThrowingStream<Subscription.Push, any Error>.Iterator?

        fileprivate init(_ database: Database, _ token: ChangeToken?) {
            self.database = database
            self.token = token
        }

        /// Returns the next notification; `nil` once the service is closed.
        public mutating func next() async throws -> Subscription.Push? {
            var stream: AsyncThrowingStream<Subscription.Push, any Error>.Iterator
            if let open = self.stream {
                stream = open
            } else {
                // Opened by the first `next`, so a sequence that is never read holds no stream.
                let (service, caller) = (database.service, database.caller)
                let pushes =
                    if let token {
                        try await service.notifications(since: token, as: caller)
                    } else {
                        try await service.notifications(as: caller)
                    }
                stream = pushes.makeAsyncIterator()
            }
            let push = try await stream.next(isolation: #isolation)
            self.stream = stream
            return push
        }
    }
}
