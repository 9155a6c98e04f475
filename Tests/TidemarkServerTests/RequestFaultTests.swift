// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Testing

@testable import TidemarkServer

@Suite struct RequestFaultTests {
    private func fates(_ faults: RequestFaults, of path: String) -> [RequestFaults.Fate] {
        (1...10_000).map { faults.fate(ofRequest: $0, to: path) }
    }

    @Test func `The shares of faults are met, and half of lost requests are executed`() {
        var faults = RequestFaults()
        faults.throttledShare = 0.2
        faults.lostShare = 0.5
        faults.latency = .milliseconds(100)
        let fates = fates(faults, of: "/database/1/a/development/public/zones/list")
        func count(_ end: RequestFaults.Fate.End) -> Int { fates.count { $0.end == end } }
        #expect(abs(count(.throttled) - 2000) < 200)
        // Half of those that are not throttled, in two halves.
        #expect(abs(count(.requestLost) - 2000) < 200)
        #expect(abs(count(.answerLost) - 2000) < 200)
        #expect(fates.allSatisfy { $0.wait >= .zero && $0.wait < .milliseconds(100) })
        let waits = fates.reduce(Duration.zero) { $0 + $1.wait } / fates.count
        #expect(waits > .milliseconds(45) && waits < .milliseconds(55))
    }

    @Test func `A fate is determined by seed, path and number`() {
        var faults = RequestFaults()
        faults.lostShare = 0.5
        faults.seed = 1
        let first = fates(faults, of: "/database/a")
        #expect(fates(faults, of: "/database/a") == first)
        #expect(fates(faults, of: "/database/b") != first)
        faults.seed = 2
        #expect(fates(faults, of: "/database/a") != first)
    }

    @Test func `Without faults, every request is answered at once`() {
        let fates = Set(fates(RequestFaults(), of: "/database/a"))
        #expect(fates == [RequestFaults.Fate(wait: .zero, end: .answered)])
    }

    @Test func `Each path has its own count, and pages have no faults`() {
        var faults = RequestFaults()
        faults.lostShare = 0.5
        let counts = RequestCounts(faults)
        let first = (0..<50).map { _ in counts.next(to: "/database/a") }
        #expect((0..<50).map { _ in counts.next(to: "/database/b") } != first)
        let again = RequestCounts(faults)
        #expect(
            (0..<50).map { _ in
                _ = again.next(to: "/database/b")
                return again.next(to: "/database/a")
            } == first
        )
        // The tickets of assets differ from run to run.
        #expect(
            (0..<50).map { counts.next(to: "/assets/\($0)") }
                == (0..<50).map { again.next(to: "/assets/x\($0)") }
        )
        #expect(
            (0..<50).map { counts.next(to: "/courier/\($0)") }
                == (0..<50).map { again.next(to: "/courier/x\($0)") }
        )
        #expect(counts.next(to: "/device/1/c/development/tokens/create") != nil)
        #expect(counts.next(to: "/signin") == nil)
        #expect(counts.next(to: "/health/live") == nil)
    }
}
#endif
