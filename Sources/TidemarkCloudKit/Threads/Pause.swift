// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

/// Waits for some time, or until the task is cancelled.
///
/// Not `Task.sleep`, which is woken by one of the threads that all tasks share: see ``OwnThreads``.
package func pause(seconds: Double) async {
    let pause = Pause()
    await withTaskCancellationHandler {
        await withCheckedContinuation { pause.begin($0, seconds: seconds) }
    } onCancel: {
        pause.end()
    }
}

/// A pause of a waiting task.
private final class Pause: Sendable {
    private enum State {
        case new
        case waited(CheckedContinuation<Void, Never>)
        case over
    }

    private static let queue = DispatchQueue(label: "CloudKit.timers")

    /// Dispatch allows use from every thread, but does not declare it.
    private nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: queue)
    private let state = Lock(State.new)

    func begin(_ continuation: CheckedContinuation<Void, Never>, seconds: Double) {
        // The timer is resumed even if `end()` came first: Dispatch stops the program when a
        // suspended source is released.
        timer.setEventHandler { self.end() }
        timer.schedule(deadline: .now() + seconds)
        timer.resume()
        let isOver = state.withLock { state in
            if case .over = state { return true }
            state = .waited(continuation)
            return false
        }
        if isOver { continuation.resume() }
    }

    /// Ends the pause, even before it has begun; releases the timer and its handler.
    func end() {
        let before = state.withLock { state in
            defer { state = .over }
            return state
        }
        // The handler retains this object, and a cancelled source releases its handler.
        timer.cancel()
        if case .waited(let continuation) = before { continuation.resume() }
    }
}
