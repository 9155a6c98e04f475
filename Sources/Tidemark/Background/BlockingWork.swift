// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLog
import TidemarkModel

/// Runs what waits for the disk for long on threads of its own, so that tasks which wait for nothing
/// are not held up by it.
struct BlockingWork: Sendable {
    /// True if the work runs on the calling thread, for single-threaded simulations.
    let runsInline: Bool
    private let queue = DispatchQueue(
        label: "tidemark.blobs",
        qos: .utility,
        attributes: .concurrent
    )

    init(runsInline: Bool) {
        self.runsInline = runsInline
    }

    /// Waits for some time; not at all where everything runs on the thread that asks.
    func pause(milliseconds: Int) async {
        if runsInline { return }
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
                continuation.resume()
            }
        }
    }

    /// Runs a closure as ``LongWork``: what it reads of the log is reported, and ends when the task
    /// is cancelled.
    func run<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        if runsInline { return try body() }
        let context = LongWork.Context()
        let cancelling = Cancelling()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async {
                    let result = Result { () throws(SyncError) in
                        try LongWork.run(
                            context,
                            isCancelled: { cancelling.isSet.load(ordering: .relaxed) },
                            body
                        )
                    }
                    continuation.resume(returning: result)
                }
            }
        } onCancel: {
            cancelling.isSet.store(true, ordering: .relaxed)
        }
        return try result.get()
    }
}

/// The cancellation of a task, for another thread that works for it.
private final class Cancelling: Sendable {
    let isSet = Atomic(false)
}
