// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import TidemarkLock

/// The threads on which this module does its work.
///
/// Code written for CloudKit often blocks its thread on a semaphore until a callback runs. On
/// Apple's systems this works, because the work is done in another process. So the work for a
/// response must not need the threads that all tasks share, or those of the global queues: a
/// program may block all of them.
final class OwnThreads: TaskExecutor {
    /// The threads of the process, which exist from the first use.
    static let shared = OwnThreads(count: max(4, ProcessInfo.processInfo.activeProcessorCount))

    /// The work in the order of its arrival.
    private struct Line {
        /// The last one is the next.
        var next: [UnownedJob] = []
        var added: [UnownedJob] = []

        mutating func takeFirst() -> UnownedJob? {
            // Two stacks make a queue: each job is moved once.
            if next.isEmpty {
                next = added.reversed()
                added.removeAll(keepingCapacity: true)
            }
            return next.popLast()
        }
    }

    private let line = Lock(Line())
    private let workCount = DispatchSemaphore(value: 0)

    init(count: Int) {
        for _ in 0..<count {
            // The delegates of sync engines run on these threads too. One that blocks its thread
            // must not stop the rest, so there are several even with one core.
            let thread = Thread { self.work() }
            thread.name = "CloudKit"
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        line.withLock { $0.added.append(job) }
        workCount.signal()
    }

    private func work() {
        while true {
            // Each signal follows an append, so every wait that returns finds a job.
            workCount.wait()
            line.withLock { $0.takeFirst() }?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
