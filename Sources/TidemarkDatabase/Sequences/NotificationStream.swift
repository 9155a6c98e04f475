// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// The user's notifications from the moment that iteration begins, whichever database they are from.
    ///
    /// ```swift
    /// for try await push in anna.notifications {
    ///     print(push.notification.subscriptionID)
    /// }
    /// ```
    ///
    /// A notification is a hint to fetch; what the device did itself is not told. Ends when the service is closed.
    public var notifications: NotificationStream { notifications(since: nil) }

    /// The user's notifications after a token, then those that come.
    public func notifications(since token: ChangeToken?) -> NotificationStream {
        NotificationStream(database: self, token: token)
    }
}

/// A user's notifications as they come; see ``Database/notifications``.
public struct NotificationStream: AsyncSequence, Sendable {
    /// A notification, and the token to go on from.
    public typealias Element = Subscription.Push

    fileprivate let database: Database
    fileprivate let token: ChangeToken?

    /// Begins to listen with the first call of ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(database, token) }

    /// Takes one notification at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let database: Database
        private let token: ChangeToken?
        private var stream: AsyncThrowingStream<Subscription.Push, any Error>.Iterator?

        fileprivate init(_ database: Database, _ token: ChangeToken?) {
            self.database = database
            self.token = token
        }

        /// The next notification; `nil` once the service is closed.
        public mutating func next() async throws -> Subscription.Push? {
            var stream: AsyncThrowingStream<Subscription.Push, any Error>.Iterator
            if let open = self.stream {
                stream = open
            } else {
                let service = database.service
                stream = try await service.notifications(since: token, as: database.caller)
                    .makeAsyncIterator()
            }
            let push = try await stream.next(isolation: #isolation)
            self.stream = stream
            return push
        }
    }
}
