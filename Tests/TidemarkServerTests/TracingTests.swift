// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Testing
import TidemarkLock
import TidemarkModel
import Tracing

@testable import TidemarkServer

/// Spans, and how a collector gets them.
@Suite struct TracingTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"

    private func traceparent(_ flags: String) throws -> HTTPFields {
        let name = try #require(HTTPField.Name("traceparent"))
        return [name: "00-\(Self.trace)-\(Self.parent)-\(flags)"]
    }

    /// Runs a body with a collector, which refuses as many posts at first as it is told to.
    private func withCollector(
        refusing count: Int = 0,
        batchCount: Int = 512,
        _ body: @escaping @Sendable (Collector, OTLPTracer) async throws -> Void
    ) async throws {
        let collector = Collector(refusing: count)
        let router = Router()
        router.post("/v1/traces") { request, _ in try await collector.take(request) }
        var options = TraceOptions(endpoint: "")
        options.interval = .milliseconds(20)
        options.headers = ["X-Key": "collector-key"]
        options.batchCount = batchCount
        let wanted = options
        try await Application(router: router).test(.live) { client in
            var options = wanted
            options.endpoint = "http://localhost:\(try #require(client.port))/v1/traces"
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let tracer = OTLPTracer(options, logger: logger)
            let running = Task { try await tracer.run() }
            try await body(collector, tracer)
            running.cancel()
            try await running.value
        }
    }

    @Test func `A request is exported as a span without secrets`() async throws {
        try await withCollector { collector, tracer in
            try await ServerUnderTest.run(.router, tracer: tracer) { server in
                let web = try await server.signIn("ann")
                let headers = try traceparent("01")
                let lookup = #"{"records":[{"recordName":"a-secret-name"}]}"#
                let answer = try await server.send(
                    "private/records/lookup",
                    lookup,
                    web: web,
                    headers: headers
                )
                #expect(answer.status == 200)
                #expect(try await server.send("private/nope", headers: headers).status == 404)
                // Not kept: the trace says so.
                let unsampled = try traceparent("00")
                _ = try await server.send("public/zones/list", headers: unsampled)
                // A trace that begins here.
                _ = try await server.send("public/zones/list")
                let spans = try await collector.spans(count: 3)
                #expect(
                    spans.map { $0["name"] as? String } == [
                        "POST records/lookup", "POST other", "POST zones/list",
                    ]
                )
                let span = spans[0]
                #expect(span["traceId"] as? String == Self.trace)
                #expect(span["parentSpanId"] as? String == Self.parent)
                let id = try #require(span["spanId"] as? String)
                #expect(id.count == 16 && id != Self.parent)
                #expect(span["kind"] as? Int == 2)
                let start = try #require(
                    (span["startTimeUnixNano"] as? String).flatMap(UInt64.init)
                )
                let end = try #require((span["endTimeUnixNano"] as? String).flatMap(UInt64.init))
                #expect(start < end)
                #expect(abs(Double(start) / 1e9 - Date().timeIntervalSince1970) < 60)
                let attributes = Self.attributes(of: span)
                #expect(attributes["http.route"] == "records/lookup")
                #expect(attributes["http.response.status_code"] == "200")
                #expect(attributes["tidemark.database"] == "private")
                #expect(attributes["tidemark.user"]?.hasPrefix("_") == true)
                #expect(Self.attributes(of: spans[1])["error.type"] == "NOT_FOUND")
                let own = try #require(spans[2]["traceId"] as? String)
                #expect(own.count == 32 && own != Self.trace)
                #expect(spans[2]["parentSpanId"] == nil)
                for secret in [web, server.token, "a-secret-name", "ann@example.org"] {
                    #expect(!collector.text.contains(secret))
                }
                #expect(collector.resourceNames == ["tidemark"])
                #expect(collector.keys.allSatisfy { $0 == "collector-key" })
            }
        }
    }

    @Test func `Spans that the collector rejected are sent later, each once`() async throws {
        try await withCollector(refusing: 3, batchCount: 4) { collector, tracer in
            for number in 0..<10 {
                tracer.startSpan("work \(number)").end()
            }
            let spans = try await collector.spans(count: 10)
            #expect(spans.map { $0["name"] as? String } == (0..<10).map { "work \($0)" })
            #expect(collector.postCount >= 6)
        }
    }

    @Test func `Child spans, events and errors are encoded as OTLP`() async throws {
        try await withCollector { collector, tracer in
            struct Failure: Error, CustomStringConvertible { let description = "a secret value" }
            _ = try? tracer.withSpan("above") { (above: OTLPSpan) in
                above.updateAttributes { attributes in
                    attributes.set("count", value: .int64(7))
                    attributes.set("names", value: .stringArray(["a", "b"]))
                }
                try tracer.withSpan("below") { (_: OTLPSpan) throws in throw Failure() }
            }
            let spans = try await collector.spans(count: 2)
            let (below, above) = (spans[0], spans[1])
            #expect(below["name"] as? String == "below")
            #expect(below["traceId"] as? String == above["traceId"] as? String)
            #expect(below["parentSpanId"] as? String == above["spanId"] as? String)
            #expect((below["status"] as? [String: Any])?["code"] as? Int == 2)
            let event = try #require((below["events"] as? [[String: Any]])?.first)
            #expect(event["name"] as? String == "exception")
            #expect(Self.attributes(of: event)["exception.type"] == "Failure")
            #expect(Self.attributes(of: above)["count"] == "7")
            #expect(
                collector.text.contains(#"{"values":[{"stringValue":"a"},{"stringValue":"b"}]}"#)
            )
            #expect(!collector.text.contains("a secret value"))
        }
    }

    @Test func `Without a collector, the number of pending spans is limited`() async throws {
        var options = TraceOptions(endpoint: "http://localhost:1/v1/traces")
        options.waitingLimit = 5
        let tracer = OTLPTracer(
            options,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        for number in 0..<20 { tracer.startSpan("work \(number)").end() }
        #expect(tracer.waitingCount == 5)
        options.ratio = 0.25
        let some = OTLPTracer(options, logger: tracer.logger)
        let kept = (0..<4000).count { _ in some.startSpan("work").isRecording }
        #expect((800...1200).contains(kept))
    }

    @Test func `Options are read from the OpenTelemetry variables`() throws {
        #expect(try TraceOptions(environment: [:]) == nil)
        let options = try #require(
            try TraceOptions(environment: [
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/",
                "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, other=c=d",
                "OTEL_SERVICE_NAME": "sync", "OTEL_TRACES_SAMPLER_ARG": "0.5",
            ])
        )
        #expect(options.endpoint == "http://collector:4318/v1/traces")
        #expect(options.headers == ["api-key": "a b", "other": "c=d"])
        #expect(options.serviceName == "sync" && options.ratio == 0.5)
        let own = try TraceOptions(environment: [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://x/own"
        ])
        #expect(own?.endpoint == "https://x/own")
        for wrong in [
            ["OTEL_EXPORTER_OTLP_ENDPOINT": "collector"],
            ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_SAMPLER_ARG": "2"],
        ] {
            #expect(throws: SyncError.self) { try TraceOptions(environment: wrong) }
        }
    }

    private static func attributes(of object: [String: Any]) -> [String: String] {
        var attributes: [String: String] = [:]
        for entry in object["attributes"] as? [[String: Any]] ?? [] {
            guard let key = entry["key"] as? String, let value = entry["value"] as? [String: Any]
            else { continue }
            attributes[key] = (value["stringValue"] ?? value["intValue"]) as? String
        }
        return attributes
    }
}

/// A collector of spans.
private final class Collector: Sendable {
    private struct State {
        var bodies: [[UInt8]] = []
        var keys: [String] = []
        var postCount = 0
        var refusals: Int
    }

    private let state: Lock<State>

    init(refusing count: Int) {
        state = Lock(State(refusals: count))
    }

    func take(_ request: Request) async throws -> HTTPResponse.Status {
        let body = Array(try await request.body.collect(upTo: 1 << 20).readableBytesView)
        let key = HTTPField.Name("X-Key").flatMap { request.headers[$0] } ?? ""
        return state.withLock { state in
            state.postCount += 1
            state.keys.append(key)
            if state.refusals > 0 {
                state.refusals -= 1
                return .serviceUnavailable
            }
            state.bodies.append(body)
            return .ok
        }
    }

    var postCount: Int { state.withLock { $0.postCount } }
    var keys: [String] { state.withLock { $0.keys } }

    var text: String {
        state.withLock { state in
            state.bodies.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
        }
    }

    private var resources: [[String: Any]] {
        state.withLock { $0.bodies }.flatMap { body in
            let json = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
            return json?["resourceSpans"] as? [[String: Any]] ?? []
        }
    }

    /// The names of the services that the spans are of.
    var resourceNames: Set<String> {
        Set(
            resources.compactMap { entry in
                let resource = entry["resource"] as? [String: Any]
                let first = (resource?["attributes"] as? [[String: Any]])?.first
                return (first?["value"] as? [String: Any])?["stringValue"] as? String
            }
        )
    }

    /// The spans, once there are so many.
    func spans(count: Int) async throws -> [[String: Any]] {
        for _ in 0..<500 {
            let spans = resources.flatMap { $0["scopeSpans"] as? [[String: Any]] ?? [] }
                .flatMap { $0["spans"] as? [[String: Any]] ?? [] }
            if spans.count >= count { return spans }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw ServerUnderTest.Missing()
    }
}
#endif
