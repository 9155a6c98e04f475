// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock
import TidemarkModel

/// A mailbox with one place: marks that name what to check, not the notifications.
///
/// A slow listener has one pending set of marks and is woken once, whatever the number of events.
final class Listener: Sendable {
    struct Marks: OptionSet {
        let rawValue: UInt8
        /// The user has new notifications.
        static let news = Marks(rawValue: 1)
        /// The time between two heartbeats has passed.
        static let beat = Marks(rawValue: 2)
        /// The client has stopped listening, or the server is stopping.
        static let end = Marks(rawValue: 4)
    }

    private struct State {
        var marks: Marks = []
        var waiter: CheckedContinuation<Marks, Never>?
    }

    /// The database with the notifications that the listener waits for.
    let collection: DatabaseID
    private let state = Lock(State())

    init(_ collection: DatabaseID) {
        self.collection = collection
    }

    /// Adds marks, and wakes the waiting task.
    func mark(_ marks: Marks) {
        let waiter = state.withLock { state -> CheckedContinuation<Marks, Never>? in
            guard let waiter = state.waiter else {
                state.marks.formUnion(marks)
                return nil
            }
            // The waiter gets all marks. Only `end` stays in the state, so that each later wait
            // returns at once too.
            state.waiter = nil
            state.marks = marks.intersection(.end)
            return waiter
        }
        // The lock is not held while the task resumes.
        waiter?.resume(returning: marks)
    }

    /// Waits for marks and takes them; returns `end` once the task is cancelled.
    ///
    /// Only one task at a time may wait.
    func takeMarks() async -> Marks {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let marks = state.withLock { state -> Marks? in
                    if state.marks.isEmpty {
                        // A second waiter would replace this continuation, and the first task would
                        // wait forever.
                        state.waiter = continuation
                        return nil
                    }
                    // The end mark stays.
                    let marks = state.marks
                    state.marks.formIntersection(.end)
                    return marks
                }
                if let marks { continuation.resume(returning: marks) }
            }
        } onCancel: {
            // If the task is cancelled before the continuation is stored, this leaves the mark in
            // the state, and the wait returns at once.
            mark(.end)
        }
    }
}
#endif
