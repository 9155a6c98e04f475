// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock

/// A counter of requests that writes its counts as Prometheus text.
final class Metrics: Sendable {
    private struct Answered: Hashable {
        let endpoint: String
        let status: Int
    }

    private struct Times {
        var count = 0
        var seconds = 0.0
        /// The number of requests that took at most each bound.
        var counts = [Int](repeating: 0, count: Metrics.bounds.count)

        mutating func add(_ seconds: Double) {
            count += 1
            self.seconds += seconds
            // Prometheus wants cumulative counts: a request counts under every bound that it did
            // not exceed.
            for index in counts.indices where seconds <= Metrics.bounds[index] {
                counts[index] += 1
            }
        }
    }

    private struct State {
        var answered: [Answered: Int] = [:]
        var times: [String: Times] = [:]
        var open = 0
    }

    /// Upper bounds of the histogram, in seconds.
    private static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

    private let state = Lock(State())

    func begins() { state.withLock { $0.open += 1 } }

    /// Counts an answered request; one without an endpoint is counted under "other".
    func ends(_ endpoint: String?, status: Int, after time: Duration) {
        // Callers pass names of known endpoints only, never parts of a path. Otherwise any client
        // could create series without end.
        let endpoint = endpoint ?? "other"
        let parts = time.components
        let seconds = Double(parts.seconds) + Double(parts.attoseconds) / 1e18
        state.withLock { state in
            state.open -= 1
            state.answered[Answered(endpoint: endpoint, status: status), default: 0] += 1
            // In place: a copy of the counts would be an allocation for each request.
            state.times[endpoint, default: Times()].add(seconds)
        }
    }

    /// Returns the counts, and the position of the log's last event.
    func text(lastSequence: UInt64) -> String {
        // A copy: every request takes this lock, and must not wait while the text is made.
        let state = state.withLock { $0 }
        var lines = [
            "# HELP tidemark_requests_total Requests that were answered.",
            "# TYPE tidemark_requests_total counter",
        ]
        for (key, count) in state.answered.sorted(by: {
            ($0.key.endpoint, $0.key.status) < ($1.key.endpoint, $1.key.status)
        }) {
            lines.append(
                "tidemark_requests_total{endpoint=\"\(key.endpoint)\",status=\"\(key.status)\"} \(count)"
            )
        }
        lines += [
            "# HELP tidemark_request_seconds Time from a request's head to its answer's head.",
            "# TYPE tidemark_request_seconds histogram",
        ]
        for (endpoint, times) in state.times.sorted(by: { $0.key < $1.key }) {
            let name = "tidemark_request_seconds"
            for (bound, count) in zip(Self.bounds, times.counts) {
                lines.append("\(name)_bucket{endpoint=\"\(endpoint)\",le=\"\(bound)\"} \(count)")
            }
            lines += [
                "\(name)_bucket{endpoint=\"\(endpoint)\",le=\"+Inf\"} \(times.count)",
                "\(name)_sum{endpoint=\"\(endpoint)\"} \(times.seconds)",
                "\(name)_count{endpoint=\"\(endpoint)\"} \(times.count)",
            ]
        }
        lines += [
            "# HELP tidemark_requests_open Requests that are being answered.",
            "# TYPE tidemark_requests_open gauge",
            "tidemark_requests_open \(state.open)",
            "# HELP tidemark_log_sequence Position of the log's last event.",
            "# TYPE tidemark_log_sequence counter",
            "tidemark_log_sequence \(lastSequence)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }
}
#endif
