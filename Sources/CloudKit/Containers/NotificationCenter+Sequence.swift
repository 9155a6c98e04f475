// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension NotificationCenter {
    // Foundation's own is to be taken once it is there.
    /// Notifications as they come, from when somebody begins to wait for them.
    ///
    /// Foundation has this on Apple's systems, where programs wait for `CKAccountChanged` by it. The
    /// sequence does not end by itself.
    @_disfavoredOverload
    public func notifications(
        named name: Notification.Name,
        object: (any AnyObject & Sendable)? = nil
    ) -> some AsyncSequence<Notification, Never> & Sendable {
        NotificationSequence(center: self, name: name, object: object)
    }
}

/// Unchecked: a centre can be used from everywhere.
private struct NotificationSequence: AsyncSequence, @unchecked Sendable {
    let center: NotificationCenter
    let name: Notification.Name
    let object: (any AnyObject & Sendable)?

    struct Iterator: AsyncIteratorProtocol {
        var posted: AsyncStream<Posted>.Iterator

        mutating func next() async -> Notification? {
            await next(isolation: nil)
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
            await posted.next(isolation: actor)?.notification
        }
    }

    func makeAsyncIterator() -> Iterator {
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

/// Unchecked: whoever waits gets what was posted, as an observer's block does.
private struct Posted: @unchecked Sendable {
    let notification: Notification
}

/// Unchecked: nothing of it changes, and a centre can be used from everywhere.
private struct Observation: @unchecked Sendable {
    let center: NotificationCenter
    let observer: any NSObjectProtocol

    func end() {
        center.removeObserver(observer)
    }
}
