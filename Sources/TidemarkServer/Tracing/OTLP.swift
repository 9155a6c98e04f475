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
        bytes.append(literal: "]},\"scopeSpans\":[{\"scope\":{\"name\":\"tidemark\"},\"spans\":[")
        for (index, span) in spans.enumerated() {
            if index > 0 { bytes.append(literal: ",") }
            bytes.append(span)
        }
        bytes.append(literal: "]}]}]}")
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ span: EndedSpan) {
        append(literal: "{\"traceId\":")
        append(jsonString: span.trace.traceID)
        append(literal: ",\"spanId\":")
        append(spanID: span.trace.parent)
        if let parent = span.parent {
            append(literal: ",\"parentSpanId\":")
            append(spanID: parent)
        }
        append(literal: ",\"name\":")
        append(jsonString: span.name)
        append(literal: ",\"kind\":")
        append(jsonNumber: span.kind.number)
        // The JSON form of Protocol Buffers writes 64-bit integers as strings.
        append(literal: ",\"startTimeUnixNano\":")
        append(jsonString: String(span.start))
        append(literal: ",\"endTimeUnixNano\":")
        append(jsonString: String(span.end))
        append(literal: ",\"attributes\":")
        append(span.attributes)
        if !span.events.isEmpty {
            append(literal: ",\"events\":")
            appendList(span.events) { bytes, event in
                bytes.append(literal: "{\"timeUnixNano\":")
                bytes.append(jsonString: String(event.nanosecondsSinceEpoch))
                bytes.append(literal: ",\"name\":")
                bytes.append(jsonString: event.name)
                bytes.append(literal: ",\"attributes\":")
                bytes.append(event.attributes)
                bytes.append(literal: "}")
            }
        }
        let links = span.links.compactMap { link in link.context.trace.map { ($0, link.attributes) }
        }
        if !links.isEmpty {
            append(literal: ",\"links\":")
            appendList(links) { bytes, link in
                bytes.append(literal: "{\"traceId\":")
                bytes.append(jsonString: link.0.traceID)
                bytes.append(literal: ",\"spanId\":")
                bytes.append(spanID: link.0.parent)
                bytes.append(literal: ",\"attributes\":")
                bytes.append(link.1)
                bytes.append(literal: "}")
            }
        }
        append(literal: ",\"flags\":")
        append(jsonNumber: span.trace.flags)
        append(literal: ",\"status\":{")
        if let status = span.status {
            // The codes of OTLP: 1 is "ok" and 2 is "error".
            append(literal: status.code == .error ? "\"code\":2" : "\"code\":1")
            if let message = status.message {
                append(literal: ",\"message\":")
                append(jsonString: message)
            }
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
        appendList(all.sorted { $0.0 < $1.0 }) { $0.append($1.0, $1.1) }
    }

    fileprivate mutating func append(_ key: String, _ value: SpanAttribute) {
        append(literal: "{\"key\":")
        append(jsonString: key)
        append(literal: ",\"value\":")
        append(value)
        append(literal: "}")
    }

    private mutating func append(_ value: SpanAttribute) {
        switch value {
        // 64-bit numbers are texts in the JSON of protocol buffers.
        case .int32(let number): appendMember("intValue") { $0.append(jsonString: String(number)) }
        case .int64(let number): appendMember("intValue") { $0.append(jsonString: String(number)) }
        case .double(let number): appendMember("doubleValue") { $0.append(jsonNumber: number) }
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
        appendList(values) { $0.append($1) }
        append(literal: "}}")
    }

    private mutating func appendMember(_ name: StaticString, _ value: (inout [UInt8]) -> Void) {
        append(literal: "{\"")
        append(literal: name)
        append(literal: "\":")
        value(&self)
        append(literal: "}")
    }

    private mutating func appendList<Value>(
        _ values: [Value],
        _ value: (inout [UInt8], Value) -> Void
    ) {
        append(literal: "[")
        for (index, each) in values.enumerated() {
            if index > 0 { append(literal: ",") }
            value(&self, each)
        }
        append(literal: "]")
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
