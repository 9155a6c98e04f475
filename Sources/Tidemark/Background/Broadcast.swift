// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// Notifies waiters that there is news about a topic.
///
/// Each waiter reads the news itself, so nothing queues up for a slow waiter.
final class Broadcast<Topic: Hashable & Sendable>: Sendable {
    private struct Waiter {
        var id: UInt64
        var topic: Topic
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var waiting: [Waiter] = []
        /// The number of broadcasts so far.
        var generation: UInt64 = 0
        var lastID: UInt64 = 0
        var cancelled: Set<UInt64> = []
        var followers: [@Sendable (Set<Topic>?) -> Void] = []
        var isClosed = false
    }

    private let state = Lock(State())

    /// The number of broadcasts so far.
    ///
    /// Read it before checking state; pass it to ``wait(for:since:)``.
    var generation: UInt64 { state.withLock { $0.generation } }

    /// True if no more broadcasts follow.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Waits until a broadcast about a topic after a generation, until the task is cancelled, or
    /// until no more broadcasts follow.
    func wait(for topic: Topic, since generation: UInt64) async {
        // The id is given out before the registration, because `onCancel` may run earlier, on
        // another thread.
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A broadcast since the caller read the generation may be about any topic. The
                // waiter then checks its state again, so no news is lost between check and wait.
                let isOver = state.withLock { state in
                    if state.isClosed || state.generation != generation
                        || state.cancelled.remove(id) != nil
                    {
                        return true
                    }
                    state.waiting.append(Waiter(id: id, topic: topic, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                    // The waiter is not registered yet, or was resumed already. In the first case
                    // the registration finds the id here and does not wait.
                    state.cancelled.insert(id)
                    return nil as Waiter?
                }
                return state.waiting.remove(at: index)
            }
            waiter?.continuation.resume()
        }
        // If the waiter was resumed before `onCancel` ran, the id was stored after its use and
        // would stay for ever.
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    /// Calls a closure with the topics of every later broadcast, on the broadcasting thread; `nil`
    /// stands for all topics.
    ///
    /// The closure must return soon and must not wait. It is not called, nor kept, after ``close()``.
    func follow(_ body: @escaping @Sendable (Set<Topic>?) -> Void) {
        state.withLock { if !$0.isClosed { $0.followers.append(body) } }
    }

    /// Notifies the waiters of some topics.
    func tell(about topics: Set<Topic>) {
        guard !topics.isEmpty else { return }
        tell { topics.contains($0) }
        for follower in state.withLock(\.followers) { follower(topics) }
    }

    /// Notifies all waiters.
    func tellAll() { tell { _ in true } }

    /// Notifies all waiters, and all followers.
    func tellEverybody() {
        tellAll()
        for follower in state.withLock(\.followers) { follower(nil) }
    }

    private func tell(_ isTold: (Topic) -> Bool) {
        let woken = state.withLock { state in
            // Even if no one waits: a task that has read the generation and not registered yet must
            // not wait.
            state.generation += 1
            let woken = state.waiting.filter { isTold($0.topic) }
            if !woken.isEmpty { state.waiting.removeAll { isTold($0.topic) } }
            return woken.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Notifies all waiters that no more broadcasts follow.
    func close() {
        let woken = state.withLock { state in
            state.isClosed = true
            defer {
                state.waiting = []
                // Followers may hold objects of their callers.
                state.followers = []
            }
            return state.waiting.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }
}
