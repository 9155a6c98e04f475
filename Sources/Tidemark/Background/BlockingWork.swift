// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TidemarkLog
import TidemarkModel

/// Runs work that waits long for the disk on its own threads, so that it does not block other
/// tasks.
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

    /// Waits for some time.
    ///
    /// It does not wait if all work runs on the calling thread.
    func pause(milliseconds: Int) async {
        if runsInline { return }
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
                continuation.resume()
            }
        }
    }

    /// Runs a closure as ``LongWork``, which reports its reads of the log and ends when the task is
    /// cancelled.
    func run<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        if runsInline { return try body() }
        let context = LongWork.Context()
        // The queue's thread does not run as part of the task, so it cannot read
        // `Task.isCancelled`.
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
