// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// One run of a workload, up to its end or to what stopped it.
struct FeatureRun {
    /// How many steps were acknowledged; `nil` if not even the opening was.
    var acknowledged: Int?
    /// What devices held after some of the steps.
    var given: [FeatureWorld.Devices] = []
    /// What stopped it.
    var failure: (any Error)?
    /// What was seen after the opening and after each step, if somebody looked.
    var pictures: [[String: String]] = []

    /// A run that has not begun.
    init() {}

    /// Runs a workload on a disk; with `looks`, everything is looked at after every step, as nobody
    /// does who wants to stop the disk at a certain call.
    init(
        _ workload: FeatureWorkload,
        on files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        looks: Bool = false,
        atFailure: (FeatureWorld, FeatureRun) async throws -> Void = { _, _ in }
    ) async throws {
        do {
            let world = try FeatureWorld(files, index, .creating)
            acknowledged = 0
            if looks { pictures.append(try await world.picture()) }
            do {
                try await go(on: world, workload.steps, looks: looks)
            } catch {
                failure = error
                try await atFailure(world, self)
            }
            if failure == nil { try world.store.close() } else { try? world.store.close() }
        } catch let error where error is SyncError || error is LogError {
            failure = failure ?? error
        }
    }

    /// Goes on with the steps that have not been acknowledged.
    mutating func go(
        on world: FeatureWorld,
        _ steps: [FeatureWorkload.Step],
        looks: Bool = false
    ) async throws {
        for (number, step) in steps.enumerated().dropFirst(acknowledged ?? 0) {
            try await step(world)
            acknowledged = number + 1
            // Not after each, so that some commits have not been notified of when others come.
            if number % 3 == 2 {
                given.append(try await world.sync(given.last, after: number + 1))
            }
            if looks { pictures.append(try await world.picture()) }
        }
    }

    /// Says that a store shows what it did after the acknowledged steps, or after one more.
    func check(_ picture: [String: String], is pictures: [[String: String]], _ place: String) {
        let first = acknowledged ?? 0
        let possible = pictures[first...min(first + 1, pictures.count - 1)]
        if possible.contains(where: { Self.shows(picture, $0) }) { return }
        let differences = pictures[first].keys.sorted().filter {
            pictures[first][$0] != picture[$0]
        }
        Issue.record(
            """
            \(place): after step \(first) not what was acknowledged: \
            \(differences.map { "\($0): \(picture[$0] ?? "") instead of \(pictures[first][$0] ?? "")" })
            """
        )
    }

    /// Whether a picture is another one, but for notifications that were not looked at.
    static func shows(_ picture: [String: String], _ other: [String: String]) -> Bool {
        picture == other
            || picture
                == other.filter { !$0.key.hasSuffix("hears") && !$0.key.hasSuffix("subscribes") }
    }

    /// Opens what a crash or a fault has left, and compares; then goes on to the workload's end.
    func checkAfterwards(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ whole: FeatureRun,
        _ place: String,
        seed: UInt64
    ) async throws {
        let opened = Result { () throws(LogError) in try FeatureWorld(files, index, seed: seed) }
        if case .failure(let error) = opened, error.code == .notAStore {
            #expect(acknowledged == nil, "\(place): \(error)")
            return
        }
        let world = try opened.get()
        check(try await world.picture(), is: whole.pictures, place)
        try await world.check(given, place)
        try world.store.close()
        // What was read was so for good.
        let again = try FeatureWorld(files, index, seed: seed + 1)
        check(try await again.picture(), is: whole.pictures, place + ", opened again")
        try again.store.close()
    }
}
