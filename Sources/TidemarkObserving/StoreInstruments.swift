// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Observing
public import CoreMetrics
public import Logging
public import Tidemark
public import Tracing

/// Reports the activity of a store to swift-log, swift-metrics and swift-distributed-tracing.
///
/// Pass an instance to `Store.open(at:access:options:observer:progress:)` as the observer.
///
/// The page `Docs/observing.md` lists metrics, spans and messages. A call's span is a child of the
/// task's span or, if the task has none, of the span in ``TidemarkModel/Caller/trace``.
public struct StoreInstruments: StoreObserver {
    private let logger: Logger
    private let tracer: any Tracer
    private let metrics: StoreMetrics

    /// Creates instruments with a logger, a metrics factory and a tracer; the defaults are those of
    /// the process.
    public init(
        logger: Logger = Logger(label: "tidemark"),
        metrics: any MetricsFactory = MetricsSystem.factory,
        tracer: any Tracer = InstrumentationSystem.tracer
    ) {
        self.logger = logger
        self.tracer = tracer
        self.metrics = StoreMetrics(metrics)
    }

    /// Starts a timer and, for all work except syncs, a span.
    public func begins(_ work: StoreWork) -> (any StoreWorkObserver)? {
        ObservedWork(work, span: span(of: work), logger: logger, metrics: metrics)
    }

    /// Counts a fact, and logs rare ones.
    public func notes(_ fact: StoreFact) {
        metrics.count(fact)
        switch fact {
        case .opened(let last, let wasClean):
            logger.info(
                wasClean ? "opened" : "opened and recovered",
                metadata: ["lastSequence": "\(last)"]
            )
        case .closed:
            logger.info("closed")
        case .compacted(let report):
            logger.info(
                "compacted",
                metadata: [
                    "segments": "\(report.segmentCount)", "dropped": "\(report.droppedCount)",
                    "bytesBefore": "\(report.oldByteCount)", "bytesAfter": "\(report.newByteCount)",
                ]
            )
        case .checkpointed(let last):
            logger.debug("checkpoint", metadata: ["lastSequence": "\(last)"])
        case .refused(let call, let code, let count):
            logger.debug(
                "refused",
                metadata: ["call": "\(call)", "code": "\(code)", "items": "\(count)"]
            )
        case .synced, .askedForBlocks, .queried:
            break
        }
    }

    private func span(of work: StoreWork) -> (any Span)? {
        switch work {
        case .call(let call):
            // A span of the task is nearer than the caller's trace, which is for requests from
            // another process.
            var context = ServiceContext.current ?? .topLevel
            if ServiceContext.current == nil, let trace = call.caller.trace {
                tracer.extract(trace.traceparent, into: &context, using: TraceparentReader())
            }
            let span: any Span = tracer.startSpan(work.name, context: context)
            span.updateAttributes { attributes in
                // Neither users nor zones: names must not leave the process in a span
                // (Docs/observing.md, "Messages").
                let caller = call.caller
                attributes["tidemark.container"] = caller.database.container.identifier
                attributes["tidemark.environment"] = caller.database.environment.rawValue
                attributes["tidemark.database"] = caller.database.scope.name
            }
            return span
        case .opening, .checkpoint, .compaction:
            return tracer.startSpan(work.name, context: ServiceContext.current ?? .topLevel)
        case .sync:
            // One sync serves many calls, so it has no parent, and there are thousands per second.
            return nil
        }
    }
}

/// Reads the one header of W3C Trace Context that a caller has.
private struct TraceparentReader: Extractor {
    func extract(key: String, from traceparent: String) -> String? {
        key == "traceparent" ? traceparent : nil
    }
}

extension StoreWork {
    /// The name of a span.
    var name: String {
        switch self {
        case .opening: "tidemark.open"
        case .call(let call): "tidemark.\(call.kind)"
        case .sync: "tidemark.sync"
        case .checkpoint: "tidemark.checkpoint"
        case .compaction: "tidemark.compact"
        }
    }
}

/// Work in progress, with its span and start time.
private struct ObservedWork: StoreWorkObserver {
    let work: StoreWork
    let start = ContinuousClock.now
    let span: (any Span)?
    let logger: Logger
    let metrics: StoreMetrics

    init(_ work: StoreWork, span: (any Span)?, logger: Logger, metrics: StoreMetrics) {
        self.work = work
        self.span = span
        self.logger = logger
        self.metrics = metrics
    }

    func ends(_ error: (any Error)?) {
        let time = ContinuousClock.now - start
        metrics.time(work, time, isDone: error == nil)
        if let error {
            span?.recordError(error)
            span?.setStatus(SpanStatus(code: .error))
            tell(error)
        }
        span?.end()
    }

    /// Logs a failure; a rejected call is not one.
    private func tell(_ error: any Error) {
        // The store reports a rejected call as the fact `refused`, which `notes` logs and counts.
        if case .call = work { return }
        logger.error("failed", metadata: ["work": "\(work.name)", "error": "\(error)"])
    }
}
#endif
