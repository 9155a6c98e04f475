// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// A bridge from a visit, which cannot suspend, to a closure that can.
///
/// It passes batches, of which few are pending at a time.
private final class Passage<Element: Sendable>: Sendable {
    let batches: AsyncStream<[Element]>
    private let continuation: AsyncStream<[Element]>.Continuation
    /// A semaphore that begins at zero: Dispatch ends the process if a semaphore is released below
    /// its initial value.
    private let room = DispatchSemaphore(value: 0)
    private let isClosed = Atomic(false)

    private static var batchCount: Int { 256 }
    /// The maximum number of pending batches.
    private static var batchLimit: Int { 2 }

    init() {
        // The stream's buffer has no limit: `room` limits it. A bounded stream would drop batches
        // instead of making the visit wait.
        (batches, continuation) = AsyncStream.makeStream()
        for _ in 0..<Self.batchLimit { room.signal() }
    }

    /// Runs a visit to its end; the elements passed to `take` are collected in batches.
    func run<Answer: Sendable>(
        _ visit: @Sendable ((Element) -> Bool) async throws -> Answer
    ) async throws -> Answer {
        // Also if the visit fails: the receiver would wait for the next batch forever.
        defer { continuation.finish() }
        var batch: [Element] = []
        let answer = try await visit { element in
            batch.append(element)
            // Elements arrive when a batch is full or the visit ends, so a visit must not wait for
            // new elements.
            if batch.count == Self.batchCount {
                put(batch)
                batch = []
            }
            // Relaxed: at worst, one more element is taken.
            return !isClosed.load(ordering: .relaxed)
        }
        if !batch.isEmpty { put(batch) }
        return answer
    }

    private func put(_ batch: [Element]) {
        // Blocks the thread. Visits run on the threads of `StoreAdministration`, never on those
        // that all tasks share.
        room.wait()
        continuation.yield(batch)
    }

    /// Makes room for a batch after one was received.
    func makeRoom() { room.signal() }

    /// Ends the visit at the next element.
    func close() {
        isClosed.store(true, ordering: .relaxed)
        // One place is enough: the visit ends at its next element, and then has at most one batch
        // left.
        room.signal()
    }
}

/// Runs a visit whose closure must not suspend, and passes its elements to a closure that may.
///
/// The visit's closure returns `false` if the visit is to end early.
func passing<Element: Sendable, Answer: Sendable>(
    to receive: (Element) async throws -> Void,
    _ visit: @escaping @Sendable (_ take: (Element) -> Bool) async throws -> Answer
) async throws -> Answer {
    let passage = Passage<Element>()
    // A child task inherits the executor of the call, so `put` blocks a thread of
    // `StoreAdministration`.
    async let answer = passage.run(visit)
    do {
        for await batch in passage.batches {
            for element in batch { try await receive(element) }
            passage.makeRoom()
        }
        // A cancelled task leaves the loop without an error.
        try Task.checkCancellation()
    } catch {
        // The scope waits for the visit even when it throws, so the visit must be able to end.
        passage.close()
        throw error
    }
    return try await answer
}
