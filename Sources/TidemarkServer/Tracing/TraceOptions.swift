// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
public import TidemarkModel
import TidemarkWire

/// The options of an ``OTLPTracer``: the collector, and the part of spans to keep.
public struct TraceOptions: Hashable, Sendable {
    /// The address to which spans are posted.
    public var endpoint: String
    /// Header fields of each post, such as a credential for the collector.
    public var headers: [String: String] = [:]
    /// The name under which the spans are found.
    public var serviceName = "tidemark"
    /// The fraction of traces begun here that is kept, from 0 to 1.
    ///
    /// For a trace that was begun elsewhere, its own flag decides.
    public var ratio = 1.0
    /// The time between two posts.
    public var interval = Duration.seconds(1)
    /// Spans in one post.
    public var batchCount = 512
    /// The maximum number of pending spans; above it, the oldest are dropped.
    public var waitingLimit = 16_384

    /// Posts to an address.
    public init(endpoint: String) {
        self.endpoint = endpoint
    }

    /// Reads the variables of OpenTelemetry; `nil` if no endpoint is set.
    ///
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` is the address itself; `/v1/traces` is added to
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`. `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` and
    /// `OTEL_TRACES_SAMPLER_ARG` are the other members. Throws for an invalid address, and a ratio
    /// that is not a number from 0 to 1.
    public init?(environment: [String: String]) throws(SyncError) {
        func text(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        var variable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        if let endpoint = text(variable) {
            self.init(endpoint: endpoint)
        } else if let base = text("OTEL_EXPORTER_OTLP_ENDPOINT") {
            variable = "OTEL_EXPORTER_OTLP_ENDPOINT"
            self.init(endpoint: (base.hasSuffix("/") ? base : base + "/") + "v1/traces")
        } else {
            return nil
        }
        guard let url = URL(string: endpoint), url.host != nil,
            ["http", "https"].contains(url.scheme)
        else {
            throw SyncError(
                .invalidArguments,
                "\(variable) is not a web address: \(endpoint)."
            )
        }
        for pair in (text("OTEL_EXPORTER_OTLP_HEADERS") ?? "").split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = PercentCoding.decoded(parts[0]).trimmingCharacters(in: .whitespaces)
            headers[name] = PercentCoding.decoded(parts[1]).trimmingCharacters(in: .whitespaces)
        }
        serviceName = text("OTEL_SERVICE_NAME") ?? serviceName
        if let part = text("OTEL_TRACES_SAMPLER_ARG") {
            guard let number = Double(part), (0...1).contains(number) else {
                throw SyncError(
                    .invalidArguments,
                    "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is \(part)."
                )
            }
            ratio = number
        }
    }
}
#endif
