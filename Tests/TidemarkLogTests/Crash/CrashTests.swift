// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import TidemarkLock

@testable import TidemarkLog

/// Power is lost, or the process ends, between any two calls of a workload.
@Suite struct CrashTests {
    /// Whether the large versions of the slow tests run.

    @Test func `After every crash, all acknowledged commits exist and none is partial`() throws {
        let verdict = Verdict()
        let limit = runsLongTests ? 60 : 8
        for seed in 1...(runsLongTests ? 5 : 1) as ClosedRange<UInt64> {
            try CrashWorkload(seed: seed).run(on: SimulatedFileSystem()) { disk, history in
                let outcomes = disk.crashOutcomes(limit: limit, seed: seed) + [.processKilled]
                for (index, outcome) in outcomes.enumerated() {
                    verdict.add(
                        CrashPromise.violation(
                            on: disk.crash(outcome),
                            after: history,
                            goingOn: index % 3 == 0
                        ),
                        at: "seed \(seed), before call \(disk.callCount + 1), \(outcome)"
                    )
                }
            }
        }
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 800)
    }

    @Test func `A crash during recovery from a crash loses nothing`() throws {
        let verdict = Verdict()
        let points = Lock(0)
        let distance = runsLongTests ? 1 : 19
        try CrashWorkload(seed: 2).run(on: SimulatedFileSystem()) { disk, history in
            let number = points.withLock { points in
                points += 1
                return points
            }
            guard number % distance == 0 else { return }
            for outcome in [.processKilled, .seeded(UInt64(number))] as [CrashOutcome] {
                recover(disk.crash(outcome), history, verdict)
            }
        }
        #expect(verdict.violations.prefix(3) == [])
        #expect(verdict.triedCount > 400)
    }

    /// Opens a store after a crash, and tries the crashes that can come meanwhile and right after.
    private func recover(
        _ image: SimulatedFileSystem,
        _ history: History,
        _ verdict: Verdict
    ) {
        let limit = runsLongTests ? 8 : 2
        // An opening that has begun ends what a close before it promised.
        var begun = history
        begun.isClosed = false
        let promised = Lock(begun)
        let tryCrashes = { @Sendable (disk: SimulatedFileSystem) in
            let history = promised.withLock { $0 }
            for outcome in disk.crashOutcomes(limit: limit) + [.processKilled] {
                verdict.add(
                    CrashPromise.violation(
                        on: disk.crash(outcome),
                        after: history,
                        goingOn: runsLongTests
                    ),
                    at: "\(outcome) after \(disk.trace.last?.description ?? "nothing")"
                )
            }
        }
        do throws(LogError) {
            let files = WatchedFileSystem(image, willChange: tryCrashes)
            let (log, report) = try CrashWorkload.open(
                files,
                seed: 55,
                creating: !history.isCreated
            )
            // What can be read now is promised, even if nobody was promised it before.
            try promised.withLock { (promised) throws(LogError) in
                try promised.adopt(log, report)
            }
            tryCrashes(image)
        } catch {
            verdict.add(error.message, at: "the first recovery")
        }
    }
}

/// How many crashes were tried, and the promises they broke.
final class Verdict: Sendable {
    private let state = Lock((tried: 0, violations: [String]()))

    var triedCount: Int { state.withLock { $0.tried } }
    var violations: [String] { state.withLock { $0.violations } }

    func add(_ violation: String?, at place: @autoclosure () -> String) {
        let text = violation.map { "\(place()): \($0)" }
        state.withLock {
            $0.tried += 1
            if let text { $0.violations.append(text) }
        }
    }
}
