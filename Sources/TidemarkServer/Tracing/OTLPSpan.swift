// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock
import TidemarkModel
public import Tracing

/// The trace and the span that a context belongs to.
enum TraceContextKey: InstrumentationContextKey {
    typealias Value = TraceContext
    static let nameOverride: String? = "traceparent"
}

extension InstrumentationContext {
    /// The trace and the span that the context belongs to; `nil` for none.
    var trace: TraceContext? {
        get { self[TraceContextKey.self] }
        set { self[TraceContextKey.self] = newValue }
    }
}

extension TraceContext {
    /// True if the trace's spans are kept.
    var isSampled: Bool { flags & 1 != 0 }
}

/// A span that has ended, in the form in which it is posted.
struct EndedSpan: Sendable {
    var name: String
    let kind: SpanKind
    /// The trace, and the span itself in place of the parent.
    let trace: TraceContext
    /// The parent span; `nil` if the trace begins here.
    let parent: UInt64?
    let start: UInt64
    var end: UInt64 = 0
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [SpanLink] = []
    var status: SpanStatus?

    init(_ name: String, _ kind: SpanKind, _ trace: TraceContext, parent: UInt64?, start: UInt64) {
        self.name = name
        self.kind = kind
        self.trace = trace
        self.parent = parent
        self.start = start
    }
}

/// A span of an ``OTLPTracer``.
public final class OTLPSpan: Span {
    /// The context from which the spans of nested work begin.
    public let context: InstrumentationContext
    /// True if it is kept.
    public let isRecording: Bool
    private let state: Lock<EndedSpan>
    private let ended: @Sendable (EndedSpan) -> Void

    init(
        _ span: EndedSpan,
        _ context: InstrumentationContext,
        ended: @escaping @Sendable (EndedSpan) -> Void
    ) {
        self.context = context
        isRecording = span.trace.isSampled
        state = Lock(span)
        self.ended = ended
    }

    /// The name.
    public var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The attributes of the work.
    public var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { change { $0.attributes = newValue } }
    }

    /// Sets the status of the work.
    public func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    /// Adds an event.
    public func addEvent(_ event: SpanEvent) { change { $0.events.append(event) } }

    /// Adds a span of another trace.
    public func addLink(_ link: SpanLink) { change { $0.links.append(link) } }

    /// Adds an error by its type only: its text may contain values of fields.
    public func recordError<Instant: TracerInstant>(
        _ error: any Error,
        attributes: SpanAttributes,
        at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes.set("exception.type", value: .string("\(type(of: error))"))
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Ends the span, once.
    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard isRecording else { return }
        let time = instant().nanosecondsSinceEpoch
        let span: EndedSpan? = state.withLock { span in
            // Zero means that the span has not ended. No clock of a running machine shows it.
            guard span.end == 0 else { return nil }
            span.end = time
            return span
        }
        if let span { ended(span) }
    }

    private func change(_ body: (inout EndedSpan) -> Void) {
        guard isRecording else { return }
        state.withLock { span in
            if span.end == 0 { body(&span) }
        }
    }
}
#endif
