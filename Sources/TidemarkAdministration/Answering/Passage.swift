// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// The way from a visit, which cannot wait, to a closure that can: batches, of which few are under way at a time.
private final class Passage<Element: Sendable>: Sendable {
    let batches: AsyncStream<[Element]>
    private let continuation: AsyncStream<[Element]>.Continuation
    /// Begins at zero: Dispatch ends the process where a semaphore goes with less than it began with.
    private let room = DispatchSemaphore(value: 0)
    private let isClosed = Atomic(false)

    private static var batchCount: Int { 256 }
    /// So many batches are under way at once.
    private static var batchLimit: Int { 2 }

    init() {
        (batches, continuation) = AsyncStream.makeStream()
        for _ in 0..<Self.batchLimit { room.signal() }
    }

    /// Runs a visit to its end; what it gives to `take` goes into batches.
    func run<Answer: Sendable>(
        _ visit: @Sendable ((Element) -> Bool) async throws -> Answer
    ) async throws -> Answer {
        defer { continuation.finish() }
        var batch: [Element] = []
        let answer = try await visit { element in
            batch.append(element)
            if batch.count == Self.batchCount {
                put(batch)
                batch = []
            }
            return !isClosed.load(ordering: .relaxed)
        }
        if !batch.isEmpty { put(batch) }
        return answer
    }

    private func put(_ batch: [Element]) {
        room.wait()
        continuation.yield(batch)
    }

    /// Makes room for a batch after one was received.
    func makeRoom() { room.signal() }

    /// Ends the visit at the next element.
    func close() {
        isClosed.store(true, ordering: .relaxed)
        room.signal()
    }
}

/// Runs a visit whose closure must not wait, and gives what it meets to one that may.
///
/// The visit's closure returns `false` where the visit is to end early.
func passing<Element: Sendable, Answer: Sendable>(
    to receive: (Element) async throws -> Void,
    _ visit: @escaping @Sendable (_ take: (Element) -> Bool) async throws -> Answer
) async throws -> Answer {
    let passage = Passage<Element>()
    async let answer = passage.run(visit)
    do {
        for await batch in passage.batches {
            for element in batch { try await receive(element) }
            passage.makeRoom()
        }
        try Task.checkCancellation()
    } catch {
        passage.close()
        throw error
    }
    return try await answer
}
