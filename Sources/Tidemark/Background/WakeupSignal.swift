// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLock
import TidemarkLog

/// Wakes somebody who works in the background, and keeps a store from being closed under its hands.
///
/// It is rung on the log's writer, so it does next to nothing; where there is nothing to listen for it
/// reads one flag.
final class WakeupSignal<Work: AnyObject & Sendable>: Sendable {
    private struct State {
        /// The object to work on.
        ///
        /// It is weak, so that work that has not started keeps no object alive.
        weak var work: Work?
        var isListening = false
        var rangAgain = false
        var isWorking = false
        var isClosed = false
    }

    /// True if there is anything to listen for.
    private let isArmed = Atomic<Bool>(false)
    private let state = Lock(State())
    private let workIsOver = DispatchSemaphore(value: 0)

    /// Says whether there is anything to listen for.
    func arm(_ isNeeded: Bool) {
        isArmed.store(isNeeded, ordering: .relaxed)
    }

    /// Says what there is to work on when it is rung; until then that does nothing.
    func connect(_ work: Work) {
        state.withLock { $0.work = work }
    }

    /// Says that there is something to do; whether somebody has to begin with it, who then calls
    /// ``beginWork()`` and ``endWork()`` as long as that answers that there is more.
    func ring() -> Bool {
        guard isArmed.load(ordering: .relaxed) else { return false }
        return state.withLock { state in
            if state.isClosed || state.work == nil { return false }
            if state.isListening {
                state.rangAgain = true
                return false
            }
            state.isListening = true
            return true
        }
    }

    /// Returns the object to work on; `nil` once the store is being closed.
    func beginWork() -> Work? {
        state.withLock { state in
            if state.isClosed { return nil }
            state.rangAgain = false
            state.isWorking = state.work != nil
            return state.work
        }
    }

    /// Says that the work is done, and nothing of what was worked on is held any more; whether there
    /// is more.
    func endWork() -> Bool {
        state.withLock { state in
            if state.isWorking, state.isClosed { workIsOver.signal() }
            state.isWorking = false
            state.isListening = state.rangAgain && !state.isClosed
            return state.isListening
        }
    }

    /// Lets no work begin any more, and waits for what is under way.
    func close() {
        let isWorking = state.withLock { state in
            if state.isClosed { return false }
            state.isClosed = true
            return state.isWorking
        }
        if isWorking { workIsOver.wait() }
    }
}
