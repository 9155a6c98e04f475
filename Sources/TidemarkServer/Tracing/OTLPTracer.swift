// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
public import Logging
import NIOCore
public import ServiceLifecycle
import TidemarkLock
import TidemarkModel
public import Tracing

/// A tracer that posts spans in batches to a collector as OTLP over HTTP, in JSON.
///
/// It reads and writes `traceparent`. Run it as a service; when it is asked to stop, it first posts
/// the spans that have ended.
public final class OTLPTracer: Tracer, Service {
    /// The options of the tracer.
    public let options: TraceOptions
    let logger: Logger
    private let waiting = Lock(Waiting())

    private struct Waiting {
        var spans: [EndedSpan] = []
        var droppedCount = 0
        /// True if the last post failed.
        var hasFailed = false
    }

    /// Creates a tracer; `logger` reports when the collector becomes unreachable and reachable
    /// again.
    public init(_ options: TraceOptions, logger: Logger) {
        self.options = options
        self.logger = logger
    }

    // MARK: Spans

    /// Begins a span.
    public func startSpan<Instant: TracerInstant>(
        _ operationName: String,
        context: @autoclosure () -> InstrumentationContext,
        ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant,
        function: String,
        file fileID: String,
        line: UInt
    ) -> OTLPSpan {
        var context = context()
        let parent = context.trace
        let trace = parent.map { $0.child(random: Self.random()) } ?? begun()
        context.trace = trace
        return OTLPSpan(
            EndedSpan(
                operationName,
                kind,
                trace,
                parent: parent?.parent,
                start: instant().nanosecondsSinceEpoch
            ),
            context
        ) { [self] in keep($0) }
    }

    /// Does nothing: spans are posted while it runs, and when it ends.
    public func forceFlush() {}

    /// The number of spans that wait for being posted.
    var waitingCount: Int { waiting.withLock { $0.spans.count } }

    /// Returns a new trace.
    private func begun() -> TraceContext {
        let low = Self.random()
        // The upper bits are as random as any others, and a number below one has 53 of them.
        let isSampled = Double(low >> 11) < options.ratio * 0x1p53
        return TraceContext(
            traceHigh: Self.random(),
            traceLow: low,
            parent: Self.random(),
            flags: isSampled ? 1 : 0
        )
    }

    // An id of zero is invalid in `traceparent`.
    private static func random() -> UInt64 { .random(in: 1 ... .max) }

    private func keep(_ span: EndedSpan) {
        waiting.withLock { waiting in
            waiting.spans.append(span)
            drop(&waiting)
        }
    }

    private func drop(_ waiting: inout Waiting) {
        let excess = waiting.spans.count - options.waitingLimit
        guard excess > 0 else { return }
        // The oldest spans go, so memory is bounded while the collector is unreachable. Many at once,
        // since each removal moves all the others.
        let count = max(excess, options.waitingLimit / 8)
        waiting.spans.removeFirst(count)
        waiting.droppedCount += count
    }

    // MARK: Carriers

    /// Reads `traceparent`; ignores an invalid one.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier,
        into context: inout InstrumentationContext,
        using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let text = extractor.extract(key: "traceparent", from: carrier),
            let trace = TraceContext(traceparent: text)
        else { return }
        context.trace = trace
    }

    /// Writes `traceparent`.
    public func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
    }

    // MARK: Posting

    /// Posts spans until it is asked to stop.
    public func run() async throws {
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(10))
        configuration.redirectConfiguration = .disallow
        let client = HTTPClient(configuration: configuration)
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            try? await cancelWhenGracefulShutdown {
                try await Task.sleep(for: self.options.interval)
            }
            await post(by: client)
        }
        // Spans may have ended during the previous post.
        await post(by: client)
        try await client.shutdown()
    }

    /// Posts all pending spans, or as many as the collector accepts.
    private func post(by client: HTTPClient) async {
        while true {
            let (batch, droppedCount) = waiting.withLock { waiting in
                let batch = Array(waiting.spans.prefix(options.batchCount))
                waiting.spans.removeFirst(batch.count)
                defer { waiting.droppedCount = 0 }
                return (batch, waiting.droppedCount)
            }
            if droppedCount > 0 {
                logger.warning("spans were dropped", metadata: ["count": "\(droppedCount)"])
            }
            guard !batch.isEmpty else { return }
            let problem = await problem(posting: batch, by: client)
            note(problem)
            // A batch that the collector will never accept is dropped: it would stop all later
            // ones.
            if problem == .passing {
                waiting.withLock { waiting in
                    // Back at the front: `drop` removes from the front, so the limit drops the
                    // oldest spans first.
                    waiting.spans.insert(contentsOf: batch, at: 0)
                    drop(&waiting)
                }
            }
            // The rest waits for the next interval; a collector in trouble is not asked again at
            // once.
            if problem != nil { return }
        }
    }

    private enum Problem {
        /// The collector may accept the same spans later.
        case passing
        /// The collector will never accept them.
        case lasting
    }

    private func problem(posting batch: [EndedSpan], by client: HTTPClient) async -> Problem? {
        var request = HTTPClientRequest(url: options.endpoint)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        for (name, value) in options.headers {
            request.headers.replaceOrAdd(name: name, value: value)
        }
        request.body = .bytes(ByteBuffer(bytes: OTLP.body(batch, options)))
        do {
            let response = try await client.execute(request, timeout: .seconds(10))
            // The connection can be reused once the answer was read.
            _ = try await response.body.collect(upTo: 1 << 16)
            switch response.status.code {
            case 200..<300: return nil
            case 408, 429, 500...: return .passing
            default: return .lasting
            }
        } catch {
            return .passing
        }
    }

    /// Logs when posting begins to fail, and when it works again.
    private func note(_ problem: Problem?) {
        let hasFailed = problem != nil
        let hadFailed = waiting.withLock { waiting in
            defer { waiting.hasFailed = hasFailed }
            return waiting.hasFailed
        }
        guard hasFailed != hadFailed else { return }
        if hasFailed {
            logger.warning("the collector of spans takes none")
        } else {
            logger.info("the collector of spans takes them again")
        }
    }
}

extension TraceContext {
    /// Returns the context of a child span in the same trace.
    fileprivate func child(random: UInt64) -> TraceContext {
        TraceContext(traceHigh: traceHigh, traceLow: traceLow, parent: random, flags: flags)
    }
}
#endif
