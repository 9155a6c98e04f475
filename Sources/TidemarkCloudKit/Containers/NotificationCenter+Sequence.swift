// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension NotificationCenter {
    // Use Foundation's own once it is available.
    /// Returns notifications as they come, from the moment that iteration begins.
    ///
    /// Foundation has this on Apple's systems, where programs use it to wait for
    /// `CKAccountChanged`. The sequence does not end by itself.
    @_disfavoredOverload
    public func notifications(
        named name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil
    ) -> Notifications {
        Notifications(center: self, name: name, object: object)
    }

    /// Notifications as they come.
    ///
    /// Unchecked: a center can be used on any thread.
    public struct Notifications: AsyncSequence, @unchecked Sendable {
        /// A notification.
        public typealias Element = Notification
        /// The error type of the sequence, which does not fail.
        public typealias Failure = Never

        fileprivate let center: NotificationCenter
        fileprivate let name: Notification.Name
        fileprivate let object: (any AnyObject & Sendable)?

        /// Waits for one notification after another.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var posted: AsyncStream<Posted>.Iterator

            /// Returns the next notification; `nil` once the task is cancelled.
            public mutating func next() async -> Notification? {
                await next(isolation: nil)
            }

            /// Returns the next notification; `nil` once the task is cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async -> Notification? {
                await posted.next(isolation: actor)?.notification
            }
        }

        /// Begins to wait.
        public func makeAsyncIterator() -> Iterator {
            // The closure runs here, and the stream keeps what is posted before the first `next()`.
            // So a program that creates the iterator first misses nothing.
            let stream = AsyncStream<Posted> { continuation in
                let observer = center.addObserver(forName: name, object: object, queue: nil) {
                    continuation.yield(Posted(notification: $0))
                }
                let observation = Observation(center: center, observer: observer)
                continuation.onTermination = { _ in observation.end() }
            }
            return Iterator(posted: stream.makeAsyncIterator())
        }
    }
}

/// Unchecked: the waiting task gets the posted notification, as an observer's block does.
private struct Posted: @unchecked Sendable {
    let notification: Notification
}

/// Unchecked: immutable, and a center can be used on any thread.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol

    func end() {
        center.removeObserver(observer)
    }
}
