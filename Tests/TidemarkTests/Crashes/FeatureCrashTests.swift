// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The machine stops, calls fail and the disk is full while records are shared, subscribed to and
/// found, and while schemas, users, roles and assets change.
///
/// What everybody sees after reopening is exactly what was acknowledged, or one step more; what any
/// device was given a token for leads there.
@Suite struct FeatureCrashTests {
    /// The workload without any fault, looked at after every step.
    private func whole(_ workload: FeatureWorkload) async throws -> FeatureRun {
        let files = SimulatedFileSystem(keepsTrace: false)
        let run = try await FeatureRun(workload, on: files, MemoryViewIndex(), looks: true)
        if let failure = run.failure { throw failure }
        #expect(run.acknowledged == workload.steps.count)
        // Else a step would not be seen, and neither would its loss.
        for (number, (before, after)) in zip(run.pictures, run.pictures.dropFirst()).enumerated() {
            #expect(before != after, "step \(number) changes nothing that can be seen")
        }
        return run
    }

    private func callCount(_ workload: FeatureWorkload) async throws -> Int {
        let files = SimulatedFileSystem(keepsTrace: false)
        _ = try await FeatureRun(workload, on: files, MemoryViewIndex())
        return files.callCount
    }

    @Test(arguments: FeatureWorkload.allCases)
    func `After a crash at any call, exactly the acknowledged changes exist`(
        workload: FeatureWorkload
    ) async throws {
        let whole = try await whole(workload)
        let callCount = try await callCount(workload)
        #expect(callCount > 100)
        var stoppedCount = 0
        for call in stride(from: 1, through: callCount, by: runsLongTests ? 1 : 13) {
            let files = SimulatedFileSystem(keepsTrace: false)
            files.stop(atCall: call)
            let index = MemoryViewIndex()
            let run = try await FeatureRun(workload, on: files, index)
            if run.failure != nil { stoppedCount += 1 }
            var outcomes = CrashOutcome.all(afterStopAt: call)
            if runsLongTests {
                outcomes += files.crashOutcomes(limit: 6, seed: UInt64(call))
            } else {
                outcomes = [outcomes[call % 4], outcomes[(call + 2) % 4]]
            }
            for (position, outcome) in outcomes.enumerated() {
                // The views survive one of the crashes, and are lost in the others.
                let views = position == call % outcomes.count ? index : MemoryViewIndex()
                try await run.checkAfterwards(
                    files.crash(outcome),
                    views,
                    whole,
                    "stopped at call \(call), \(outcome)",
                    seed: 2 + UInt64(call)
                )
            }
        }
        #expect(stoppedCount > callCount / (runsLongTests ? 2 : 26))
    }

    @Test(arguments: FeatureWorkload.allCases)
    func `A failed call loses no acknowledged change`(workload: FeatureWorkload) async throws {
        let whole = try await whole(workload)
        let callCount = try await callCount(workload)
        var failedCount = 0
        for call in stride(from: 2, through: callCount, by: runsLongTests ? 1 : 23) {
            // An input or output error, and no space left.
            for number: Int32 in runsLongTests ? [5, 28] : [call % 2 == 0 ? 5 : 28] {
                let place = "error \(number) at call \(call)"
                let files = SimulatedFileSystem(keepsTrace: false)
                files.failCall(call, with: number)
                let index = MemoryViewIndex()
                let run = try await FeatureRun(workload, on: files, index) { world, run in
                    // Whoever cannot write any more can still be read.
                    let picture = try await world.picture(withNotifications: false)
                    run.check(picture, is: whole.pictures, place + ", read")
                }
                if run.failure != nil { failedCount += 1 }
                files.clearFaults()
                for outcome: CrashOutcome in [.processKilled, .losingEverythingUnsynced] {
                    try await run.checkAfterwards(
                        files.crash(outcome),
                        outcome == .processKilled ? index : MemoryViewIndex(),
                        whole,
                        "\(place), \(outcome)",
                        seed: 2 + UInt64(call)
                    )
                }
            }
        }
        #expect(failedCount > 3)
    }

    @Test(arguments: FeatureWorkload.allCases)
    func `A full disk rejects writes, serves reads, and accepts writes when it has space`(
        workload: FeatureWorkload
    ) async throws {
        let whole = try await whole(workload)
        let last = try #require(whole.pictures.last)
        var refusedCount = 0
        let stepCount = workload.steps.count
        for full in stride(from: 1, to: stepCount, by: runsLongTests ? 1 : 9) {
            let files = SimulatedFileSystem(keepsTrace: false)
            var world = try FeatureWorld(files, MemoryViewIndex(), .creating)
            var run = FeatureRun()
            run.acknowledged = 0
            try await run.go(on: world, Array(workload.steps.prefix(full)))
            files.setCapacity(1)
            while run.acknowledged != stepCount {
                do {
                    try await run.go(on: world, workload.steps)
                } catch let error as SyncError {
                    let place = "full after \(full), refused \(run.acknowledged ?? 0): \(error)"
                    #expect([.quotaExceeded, .serverResponseLost].contains(error.code), "\(place)")
                    refusedCount += 1
                    run.check(
                        try await world.picture(withNotifications: false),
                        is: whole.pictures,
                        place
                    )
                    files.setCapacity(nil)
                    guard error.code == .serverResponseLost else { continue }
                    // The writer has ended; whether the step is on disk shows after reopening.
                    try? world.store.close()
                    world = try FeatureWorld(files, seed: 2)
                    let next = (run.acknowledged ?? 0) + 1
                    if try await world.picture() == whole.pictures[next] { run.acknowledged = next }
                }
            }
            #expect(try await world.picture() == last, "full after \(full)")
            try await world.check(run.given, "full after \(full)")
            try world.store.close()
        }
        #expect(refusedCount > 0)
    }
}
