// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
import TidemarkModel

/// Compacts a store in the background: it checks the log whenever a segment is finished.
final class Compactor: Sendable {
    /// Wakes it.
    let wakeup = WakeupSignal<Upkeep>()
    private let queue = WorkQueue(label: "tidemark.compaction")
    private let last = Lock<Result<CompactionReport, SyncError>?>(nil)

    /// The result of the last compaction; `nil` before the first one.
    var outcome: Result<CompactionReport, SyncError>? { last.withLock { $0 } }

    /// Begins to listen, if the store compacts itself, and checks the log as found by the open.
    func begin(_ upkeep: Upkeep) {
        guard upkeep.reader.options.backgroundCompaction != nil else { return }
        wakeup.connect(upkeep)
        wakeup.arm(true)
        ring()
    }

    /// Signals that a segment is finished.
    func ring() {
        if wakeup.ring() {
            // Not on the threads that all tasks share, because closing the store waits for this.
            Task(executorPreference: queue, priority: .utility) { await self.listen() }
        }
    }

    private func listen() async {
        repeat { await work() } while wakeup.endWork()
    }

    /// Compacts once, if enough of the log was never compacted.
    func work() async {
        guard let upkeep = wakeup.beginWork(),
            let background = upkeep.reader.options.backgroundCompaction
        else { return }
        do throws(SyncError) {
            let log = try upkeep.writer().log
            // The last one takes events.
            guard background.isDue(for: log.segmentLoads().dropLast()) else { return }
            let report = try await upkeep.compact(
                background.policy,
                bytesPerSecond: background.bytesPerSecond
            )
            last.withLock { $0 = .success(report) }
        } catch {
            // Another compaction is running: that is not a failure, and the next segment triggers
            // another attempt.
            if error.code != .zoneBusy { last.withLock { $0 = .failure(error) } }
        }
    }
}
