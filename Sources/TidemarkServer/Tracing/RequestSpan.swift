// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import TidemarkModel
import Tracing

/// The span of a request: its route and its result, never its query, which contains tokens.
struct RequestSpan {
    private let span: any Span
    /// The trace of the span; `nil` if the tracer keeps nothing.
    let trace: TraceContext?

    init(_ head: HTTPRequest, _ tracer: any Tracer) {
        var context = InstrumentationContext.topLevel
        tracer.extract(head.headerFields, into: &context, using: HeaderFields())
        span = tracer.startSpan(
            head.method.rawValue,
            context: context,
            ofKind: .server,
            at: DefaultTracerClock.now,
            function: #function,
            file: #fileID,
            line: #line
        )
        var own: [String: String] = [:]
        tracer.inject(span.context, into: &own, using: WrittenFields())
        trace = own["traceparent"].flatMap { TraceContext(traceparent: $0) }
    }

    /// Ends the span.
    func end(_ endpoint: String?, _ caller: Caller?, code: String?, method: String, status: Int) {
        guard span.isRecording else { return span.end() }
        span.operationName = "\(method) \(endpoint ?? "other")"
        span.updateAttributes { attributes in
            attributes.set("http.request.method", value: .string(method))
            attributes.set("http.response.status_code", value: .int64(Int64(status)))
            if let endpoint { attributes.set("http.route", value: .string(endpoint)) }
            if let code { attributes.set("error.type", value: .string(code)) }
            guard let caller else { return }
            let database = caller.database
            attributes.set("tidemark.container", value: .string(database.container.identifier))
            attributes.set("tidemark.environment", value: .string(database.environment.rawValue))
            attributes.set("tidemark.database", value: .string(database.scope.name))
            if let user = caller.user {
                attributes.set("tidemark.user", value: .string(user.userRecordName))
            }
            if let device = caller.device {
                attributes.set("tidemark.device", value: .string(device))
            }
        }
        // OpenTelemetry's conventions for servers: an error of the client is no error of the span.
        if status >= 500 { span.setStatus(SpanStatus(code: .error)) }
        span.end()
    }
}

private struct HeaderFields: Extractor {
    func extract(key: String, from carrier: HTTPFields) -> String? {
        HTTPField.Name(key).flatMap { carrier[$0] }
    }
}

private struct WrittenFields: Injector {
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
        carrier[key] = value
    }
}
#endif
