// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// A long log with 40 zones interleaved: small deltas warm and cold, opening after kill −9, replay.
final class LongLog<Engine: Contender>: Trial {
    private let setting: Setting
    private let history: History
    private var positions: [String] = []

    init(_ setting: Setting) async throws {
        self.setting = setting
        let recordCount = max(5_000, setting.eventCount / 10)
        history = History(
            zoneCount: 40,
            recordCount: recordCount,
            roundCount: setting.eventCount / recordCount
        )
        let store = try await Engine.filled(setting, .smallDelta, history)
        for zone in 0..<40 { positions.append(try await store.position(inZone: zone)) }
        // 100 changes in each zone, ten at a time, the zones taking turns.
        for turn in 0..<10 {
            for zone in 0..<40 {
                let changes = (0..<10).map {
                    Change(zone: zone, number: turn * 10 + $0, version: history.roundCount)
                }
                try await store.save(
                    store.prepare(Batch(changes, isInsert: false), setting.pages)
                )
            }
        }
        try await store.close()
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        var results: [String: Double] = [:]
        guard repetition >= setting.scale.killCount else {
            // All of them before the first kill: what is written there makes deltas longer.
            results[Name.delta(setting.eventCount, .warm)] = try await warmDelta()
            results[Name.delta(setting.eventCount, .cold)] = try coldDelta(zone: 7 * repetition)
            return results
        }
        let opening = try openAfterKill(repetition - setting.scale.killCount)
        results[Name.open(setting.eventCount)] = opening.milliseconds
        results[Name.openMemory(setting.eventCount)] = opening.peakMiB
        if setting.eventCount == setting.scale.eventCounts.last {
            results[Name.replay] = try await Engine.replay(setting.folder)
            if results[Name.replay] != nil {
                results[Name.replayOnOneProcessor] =
                    try Child.run(
                        "replay",
                        engine: Engine.name,
                        store: setting.folder,
                        onOneProcessor: true
                    ).eventsPerSecond
            }
        }
        return results
    }

    func end() async throws {}

    /// The median over all zones, five rounds after a first one that is not counted.
    func warmDelta() async throws -> Double {
        let store = try await Engine.open(setting.folder, for: .smallDelta, durability: .full)
        let sink = Sink()
        var times: [Double] = []
        for round in 0..<6 {
            for (zone, position) in positions.enumerated() {
                sink.reset()
                let start = ContinuousClock.now
                try await store.readChanges(zone: zone, since: position, into: sink)
                let time = start.microsecondsUntilNow
                guard sink.recordCount == 100 else {
                    throw WrongAnswer("\(Engine.name): \(sink.recordCount) changes instead of 100")
                }
                if round > 0 { times.append(time / 1000) }
            }
        }
        try await store.close()
        return times.median
    }

    /// In a fresh process, with none of the store's files in the page cache.
    private func coldDelta(zone: Int) throws -> Double {
        try PageCache.drop(setting.folder)
        return try Child.run(
            "delta",
            engine: Engine.name,
            store: setting.folder,
            ["--zone", String(zone), "--position", positions[zone]]
        ).milliseconds
    }

    /// A child that writes is killed; another one then opens what it left.
    private func openAfterKill(_ repetition: Int) throws -> ChildReport {
        try Child.writeAndKill(
            engine: Engine.name,
            store: setting.folder,
            [
                "--zones", "40", "--records", String(history.recordCount), "--version",
                String(history.roundCount + 1 + repetition),
            ],
            // How much is to be folded depends on when it dies.
            afterCommits: 20 + 70 * repetition
        )
        return try Child.run("open", engine: Engine.name, store: setting.folder)
    }
}
