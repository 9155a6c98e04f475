// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// The limits that keep one container from using the whole server.
///
/// They bound the concurrent requests of each container. The queries and deltas of each container
/// wait for one another.
final class ContainerGates: Sendable {
    private struct Gate {
        var open = 0
        var scans = 0
        /// The waiting scans, first come, first served; no more of them than open requests.
        var waiting: [CheckedContinuation<Void, Never>] = []

        /// Counts an open request; false if there is the maximum number of them.
        mutating func open(upTo limit: Int) -> Bool {
            guard open < limit else { return false }
            open += 1
            return true
        }
    }

    private let gates = Lock([ContainerID: Gate]())

    /// Performs work for a request of a container, which may be refused or have to wait.
    ///
    /// Throws `THROTTLED` if the container has the maximum number of open requests.
    func pass<Answer>(
        _ container: ContainerID,
        requests: Int,
        scans: Int?,
        _ work: () async throws(WebError) -> Answer
    ) async throws(WebError) -> Answer {
        let isIn = gates.withLock { $0[container, default: Gate()].open(upTo: requests) }
        guard isIn else {
            throw .throttled(
                "The container has \(requests) open requests, which is the limit.",
                retryAfter: 1
            )
        }
        // This runs after `endScan` below, as deferred statements run in reverse order. `leave` may
        // remove the gate, and with it the count of scans.
        defer { leave(container) }
        guard let scans else { return try await work() }
        await beginScan(container, limit: scans)
        defer { endScan(container, limit: scans) }
        return try await work()
    }

    /// Returns the number of requests of a container that are being answered, and of its scans that
    /// are under way.
    func counts(of container: ContainerID) -> (open: Int, scans: Int) {
        gates.withLock { gates in
            gates[container].map { ($0.open, $0.scans) } ?? (0, 0)
        }
    }

    private func leave(_ container: ContainerID) {
        gates.withLock { gates in
            gates[container]?.open -= 1
            // Paths name containers, so those without requests are not kept.
            if gates[container]?.open == 0 { gates[container] = nil }
        }
    }

    private func beginScan(_ container: ContainerID, limit: Int) async {
        // Cancellation does not end this wait. A request whose client is gone keeps its place in
        // the line, and counts as open, until its turn.
        await withCheckedContinuation { continuation in
            let isFree = gates.withLock { gates in
                guard gates[container]?.scans ?? 0 >= limit else {
                    gates[container]?.scans += 1
                    return true
                }
                gates[container]?.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func endScan(_ container: ContainerID, limit: Int) {
        let next: CheckedContinuation<Void, Never>? = gates.withLock { gates in
            // The limit may have been lowered in the meantime; then the place is not reused.
            if let gate = gates[container], !gate.waiting.isEmpty, gate.scans <= limit {
                // The place passes to the next scan, and `scans` stays the same. No later request
                // can take it first.
                return gates[container]?.waiting.removeFirst()
            }
            gates[container]?.scans -= 1
            return nil
        }
        next?.resume()
    }
}
#endif
