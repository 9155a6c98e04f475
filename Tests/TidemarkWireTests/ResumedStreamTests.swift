// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLock
import TidemarkModel

@testable import TidemarkWire

@Suite struct ResumedStreamTests {
    private static func stream(
        _ elements: [Int],
        failing error: SyncError? = nil
    ) -> AsyncThrowingStream<Int, any Error> {
        AsyncThrowingStream { continuation in
            for element in elements { continuation.yield(element) }
            continuation.finish(throwing: error)
        }
    }

    private static func patience(_ waits: Waits) -> Patience {
        Patience { time in waits.times.withLock { $0.append(time) } }
    }

    private final class Waits: Sendable {
        let times = Lock([Duration]())
    }

    @Test func `A stream that cannot be opened again for a while is opened later`() async throws {
        let waits = Waits()
        let opened = Lock(0)
        let lost = SyncError(.networkFailure, "The connection was lost.")
        let stream = ResumedStream(
            Self.stream([1], failing: lost),
            Self.patience(waits)
        ) { last throws(SyncError) in
            let count = opened.withLock { count in
                count += 1
                return count
            }
            guard count > 2 else {
                throw SyncError(
                    .requestRateLimited,
                    "There are too many streams.",
                    retryAfter: .seconds(30)
                )
            }
            return Self.stream([(last ?? 0) + 1])
        }
        #expect(try await stream.next() == 1)
        #expect(try await stream.next() == 2)
        #expect(try await stream.next() == nil)
        let times = waits.times.withLock { $0 }
        #expect(times.count == 3 && times[1] == .seconds(30) && times[2] == .seconds(30))
    }

    @Test func `An error of a stream that is open ends it`() async throws {
        let waits = Waits()
        let stream = ResumedStream(
            Self.stream([1], failing: SyncError(.requestRateLimited, "Too many requests.")),
            Self.patience(waits)
        ) { _ throws(SyncError) in Self.stream([2]) }
        #expect(try await stream.next() == 1)
        await #expect(throws: SyncError.self) { try await stream.next() }
        #expect(waits.times.withLock { $0.isEmpty })
    }

    @Test func `A stream of a service that was closed ends and does not resume`() async throws {
        for isOpen in [true, false] {
            let waits = Waits()
            let closed = Lock(false)
            let error = SyncError(isOpen ? .operationCancelled : .networkFailure, "It ended.")
            let stream = ResumedStream(
                Self.stream([1], failing: error),
                Patience { _ in
                    // The service is closed while the stream waits to be opened again.
                    waits.times.withLock { $0.append(.zero) }
                    closed.withLock { $0 = true }
                },
                isClosed: { closed.withLock { $0 } },
                open: { _ throws(SyncError) in
                    throw SyncError(.serviceUnavailable, "It was closed.")
                }
            )
            #expect(try await stream.next() == 1)
            if isOpen { closed.withLock { $0 = true } }
            #expect(try await stream.next() == nil)
            #expect(waits.times.withLock { $0.count } == (isOpen ? 0 : 1))
        }
    }
}
