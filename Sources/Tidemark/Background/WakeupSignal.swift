// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLock
import TidemarkLog

/// Wakes a background worker, and keeps a store open while the worker uses it.
///
/// It is rung on the log's writer, so it does very little; if there is nothing to listen for, it
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

    /// Arms the signal if there is anything to listen for; disarms it otherwise.
    func arm(_ isNeeded: Bool) {
        isArmed.store(isNeeded, ordering: .relaxed)
    }

    /// Sets the object to work on when the signal is rung.
    ///
    /// Before that, ringing has no effect.
    func connect(_ work: Work) {
        state.withLock { $0.work = work }
    }

    /// Signals that there is work, and returns true if the caller must start it.
    ///
    /// The caller then calls ``beginWork()`` and ``endWork()`` for as long as `endWork()` returns
    /// that there is more.
    func ring() -> Bool {
        // Relaxed: a caller that arms the signal for existing work also rings it, so a stale value
        // loses nothing.
        guard isArmed.load(ordering: .relaxed) else { return false }
        return state.withLock { state in
            if state.isClosed || state.work == nil { return false }
            // A listener runs already. It must look once more, since it may have read its target
            // before this ring.
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
            // Cleared before the work begins. A ring during the work sets it again, and `endWork`
            // then asks for another round.
            state.rangAgain = false
            state.isWorking = state.work != nil
            return state.work
        }
    }

    /// Ends a piece of work, and returns true if there is more.
    ///
    /// The caller must no longer hold the object.
    func endWork() -> Bool {
        state.withLock { state in
            // `close` waits only if it found work running under this lock. So each wait has exactly
            // one signal.
            if state.isWorking, state.isClosed { workIsOver.signal() }
            state.isWorking = false
            state.isListening = state.rangAgain && !state.isClosed
            return state.isListening
        }
    }

    /// Prevents further work, and waits for running work.
    func close() {
        let isWorking = state.withLock { state in
            if state.isClosed { return false }
            state.isClosed = true
            return state.isWorking
        }
        // Outside the lock, which `endWork` takes on the worker's thread.
        if isWorking { workIsOver.wait() }
    }
}
