// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A stream that resumes after a lost connection after the last element received.
actor ResumedStream<Element: Sendable> {
    typealias Stream = AsyncThrowingStream<Element, any Error>

    private let patience: Patience
    private let isClosed: @Sendable () -> Bool
    private let open: @Sendable (Element?) async throws(SyncError) -> Stream
    private var elements: Stream.Iterator?
    private var last: Element?

    /// Continues an open stream, and opens a new one after the last element if it is interrupted,
    /// unless the service was closed.
    init(
        _ first: Stream,
        _ patience: Patience,
        isClosed: @escaping @Sendable () -> Bool = { false },
        open: @escaping @Sendable (Element?) async throws(SyncError) -> Stream
    ) {
        elements = first.makeAsyncIterator()
        self.patience = patience
        self.isClosed = isClosed
        self.open = open
    }

    /// Returns the next element; `nil` when the service was closed or the task is cancelled.
    func next() async throws -> Element? {
        // Counts since the last element, so each element makes the next delay short again.
        var failures = 0
        while !Task.isCancelled {
            do {
                // A copy, because a property of an actor cannot be used across a wait. Both copies
                // share the stream, and one consumer reads it.
                var elements = try await opened()
                let element = try await elements.next(isolation: self)
                self.elements = elements
                // Before the element is returned. An element that the caller got is therefore never
                // requested again.
                if let element { last = element }
                return element
            } catch let error as SyncError {
                // Who closes a service expects that its streams end, and no error.
                if isClosed() { return nil }
                guard error.isLostConnection || elements == nil && error.code.isRetryable else {
                    throw error
                }
                // Many streams that open again at once may be too many until the server has noticed
                // the ends of the old ones.
                elements = nil
                // Without a limit of repetitions: a stream that was open waits for the server until
                // the task is cancelled, or until the server answers with a lasting error.
                guard await patience.pause(before: failures, atLeast: error.retryAfter) else {
                    return nil
                }
                failures += 1
            }
        }
        return nil
    }

    private func opened() async throws(SyncError) -> Stream.Iterator {
        if let elements { return elements }
        return try await open(last).makeAsyncIterator()
    }
}

extension ResumedStream where Element: Equatable {
    /// Returns the next element that differs from the one before.
    func nextOther() async throws -> Element? {
        let before = last
        while let element = try await next() {
            if element != before { return element }
        }
        return nil
    }
}
