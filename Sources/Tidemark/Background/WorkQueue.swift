// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A thread for work that reads the log and waits for disks, which the threads that all tasks share
/// must not do for long.
final class WorkQueue: SerialExecutor, TaskExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        // Serial: the notifier is an actor on such a queue, and jobs of an actor must not overlap.
        queue = DispatchQueue(label: label, qos: .utility)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(
                isolatedTo: self.asUnownedSerialExecutor(),
                taskExecutor: self.asUnownedTaskExecutor()
            )
        }
    }
}
