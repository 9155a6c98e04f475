// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// Runs tasks on a thread outside of the pool: one that waits for another task then does not take
/// the thread that the other one needs.
final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "tidemark.test.thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
