// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkModel
import Tracing

/// The JSON form of OTLP's request to export spans.
enum OTLP {
    static func body(_ spans: [EndedSpan], _ options: TraceOptions) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(literal: "{\"resourceSpans\":[{\"resource\":{\"attributes\":[")
        bytes.append("service.name", .string(options.serviceName))
        bytes.append(literal: "]},\"scopeSpans\":[{\"scope\":{\"name\":\"tidemark\"},\"spans\":")
        bytes.append(jsonList: spans) { $0.append($1) }
        bytes.append(literal: "}]}]}")
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ span: EndedSpan) {
        append(literal: "{")
        append(member: "traceId", jsonString: span.trace.traceID)
        append(member: "spanId")
        append(spanID: span.trace.parent)
        if let parent = span.parent {
            append(member: "parentSpanId")
            append(spanID: parent)
        }
        append(member: "name", jsonString: span.name)
        append(member: "kind", jsonNumber: span.kind.number)
        // The JSON form of Protocol Buffers writes 64-bit integers as strings.
        append(member: "startTimeUnixNano", jsonString: String(span.start))
        append(member: "endTimeUnixNano", jsonString: String(span.end))
        append(member: "attributes")
        append(span.attributes)
        if !span.events.isEmpty {
            append(member: "events")
            append(jsonList: span.events) { bytes, event in
                bytes.append(literal: "{\"timeUnixNano\":")
                bytes.append(jsonString: String(event.nanosecondsSinceEpoch))
                bytes.append(member: "name", jsonString: event.name)
                bytes.append(member: "attributes")
                bytes.append(event.attributes)
                bytes.append(literal: "}")
            }
        }
        let links = span.links.compactMap { link in link.context.trace.map { ($0, link.attributes) }
        }
        if !links.isEmpty {
            append(member: "links")
            append(jsonList: links) { bytes, link in
                bytes.append(literal: "{")
                bytes.append(member: "traceId", jsonString: link.0.traceID)
                bytes.append(member: "spanId")
                bytes.append(spanID: link.0.parent)
                bytes.append(member: "attributes")
                bytes.append(link.1)
                bytes.append(literal: "}")
            }
        }
        append(member: "flags", jsonNumber: span.trace.flags)
        append(literal: ",\"status\":{")
        if let status = span.status {
            // The codes of OTLP: 1 is "ok" and 2 is "error".
            append(literal: status.code == .error ? "\"code\":2" : "\"code\":1")
            append(member: "message", jsonString: status.message)
        }
        append(literal: "}}")
    }

    private mutating func append(spanID id: UInt64) {
        let digits = String(id, radix: 16)
        append(jsonString: String(repeating: "0", count: 16 - digits.count) + digits)
    }

    private mutating func append(_ attributes: SpanAttributes) {
        var all: [(String, SpanAttribute)] = []
        // The type is not a sequence.
        // swift-format-ignore: ReplaceForEachWithForLoop
        attributes.forEach { all.append(($0, $1)) }
        append(jsonList: all.sorted { $0.0 < $1.0 }) { $0.append($1.0, $1.1) }
    }

    fileprivate mutating func append(_ key: String, _ value: SpanAttribute) {
        append(literal: "{")
        append(member: "key", jsonString: key)
        append(member: "value")
        append(value)
        append(literal: "}")
    }

    private mutating func append(_ value: SpanAttribute) {
        switch value {
        // 64-bit numbers are texts in the JSON of protocol buffers.
        case .int32(let number): appendMember("intValue") { $0.append(jsonString: String(number)) }
        case .int64(let number): appendMember("intValue") { $0.append(jsonString: String(number)) }
        case .double(let number) where number.isFinite:
            appendMember("doubleValue") { $0.append(jsonNumber: number) }
        // As texts in the JSON of protocol buffers, which has no such numbers.
        case .double(let number):
            let text = number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity"
            appendMember("doubleValue") { $0.append(jsonString: text) }
        case .bool(let truth):
            append(literal: truth ? "{\"boolValue\":true}" : "{\"boolValue\":false}")
        case .string(let text): appendMember("stringValue") { $0.append(jsonString: text) }
        case .int32Array(let values): append(values.map { .int32($0) })
        case .int64Array(let values): append(values.map { .int64($0) })
        case .doubleArray(let values): append(values.map { .double($0) })
        case .boolArray(let values): append(values.map { .bool($0) })
        case .stringArray(let values): append(values.map { .string($0) })
        case .stringConvertible(let value):
            appendMember("stringValue") { $0.append(jsonString: "\(value)") }
        case .stringConvertibleArray(let values): append(values.map { .string("\($0)") })
        default: append(literal: "{}")
        }
    }

    private mutating func append(_ values: [SpanAttribute]) {
        append(literal: "{\"arrayValue\":{\"values\":")
        append(jsonList: values) { $0.append($1) }
        append(literal: "}}")
    }

    private mutating func appendMember(_ name: StaticString, _ value: (inout [UInt8]) -> Void) {
        append(literal: "{\"")
        append(literal: name)
        append(literal: "\":")
        value(&self)
        append(literal: "}")
    }
}

extension SpanKind {
    fileprivate var number: Int {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
#endif
