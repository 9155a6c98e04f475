// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Observing
import CoreMetrics
import Tidemark
import TidemarkLock
import TidemarkModel

/// The metrics of a store, created once.
final class StoreMetrics: Sendable {
    /// The labels that identify a timer or a counter of calls.
    private struct Labels: Hashable {
        let call: JournalEntry.Call
        let code: SyncError.Code?
    }

    private let factory: any MetricsFactory
    private let commits: Counter
    private let events: Counter
    private let bytes: Counter
    private let queued: Gauge
    private let syncs: Timer
    private let checkpoints: Timer
    private let checkpointed: Gauge
    private let compactions: Timer
    private let openings: Timer
    private let failures: Counter
    private let hits: Counter
    private let misses: Counter
    private let indexedQueries: Counter
    private let scannedQueries: Counter
    private let freed: Counter
    private let calls = Lock<[JournalEntry.Call: Timer]>([:])
    private let refusals = Lock<[Labels: Counter]>([:])

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
            Counter(label: "tidemark.\(label)", dimensions: dimensions, factory: factory)
        }
        func timer(_ label: String) -> Timer {
            Timer(label: "tidemark.\(label)", dimensions: [], factory: factory)
        }
        commits = counter("commits")
        events = counter("events")
        bytes = counter("log.bytes")
        queued = Gauge(label: "tidemark.queue.events", dimensions: [], factory: factory)
        syncs = timer("sync.duration")
        checkpoints = timer("checkpoint.duration")
        checkpointed = Gauge(
            label: "tidemark.checkpoint.sequence",
            dimensions: [],
            factory: factory
        )
        compactions = timer("compaction.duration")
        freed = counter("compaction.freed.bytes")
        openings = timer("open.duration")
        failures = counter("failures")
        hits = counter("cache.blocks", [("found", "true")])
        misses = counter("cache.blocks", [("found", "false")])
        indexedQueries = counter("queries", [("by", "index")])
        scannedQueries = counter("queries", [("by", "scan")])
    }

    func time(_ work: StoreWork, _ time: Duration, isDone: Bool) {
        timer(of: work).recordNanoseconds(time.nanoseconds)
        // A rejected call is counted as a refusal. It is no failure of the store.
        if case .call = work { return }
        if !isDone { failures.increment() }
    }

    func count(_ fact: StoreFact) {
        switch fact {
        case .synced(let frame):
            commits.increment(by: frame.commitCount)
            events.increment(by: frame.eventCount)
            bytes.increment(by: frame.byteCount)
            queued.record(frame.queuedEventCount)
        case .checkpointed(let last):
            checkpointed.record(last.rawValue)
        case .compacted(let report):
            // Counters only grow, and a compaction may make a small log longer.
            freed.increment(by: max(0, Int64(report.oldByteCount) - Int64(report.newByteCount)))
        case .refused(let call, let code, let count):
            counter(ofRefused: call, code).increment(by: count)
        case .askedForBlocks(let cached, let decoded):
            hits.increment(by: cached)
            misses.increment(by: decoded)
        case .queried(let byIndex):
            (byIndex ? indexedQueries : scannedQueries).increment()
        case .opened, .closed:
            break
        }
    }

    private func timer(of work: StoreWork) -> Timer {
        switch work {
        case .opening: openings
        case .sync: syncs
        case .checkpoint: checkpoints
        case .compaction: compactions
        case .call(let call):
            calls.withLock { calls in
                // A backend registers a metric when it is created, so each is created once.
                if let timer = calls[call.kind] { return timer }
                let timer = Timer(
                    label: "tidemark.call.duration",
                    dimensions: [("call", "\(call.kind)")],
                    factory: factory
                )
                calls[call.kind] = timer
                return timer
            }
        }
    }

    private func counter(ofRefused call: JournalEntry.Call, _ code: SyncError.Code) -> Counter {
        refusals.withLock { refusals in
            let labels = Labels(call: call, code: code)
            // Calls and codes are enumerations, so the number of counters is bounded.
            if let counter = refusals[labels] { return counter }
            let counter = Counter(
                label: "tidemark.refusals",
                dimensions: [("call", "\(call)"), ("code", "\(code)")],
                factory: factory
            )
            refusals[labels] = counter
            return counter
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
#endif
