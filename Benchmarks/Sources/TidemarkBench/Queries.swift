// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// Queries by indexed fields, and what keeping their index up to date takes.
///
/// Beside Tidemark there is one plain table of SQLite, whatever the layout is called.
final class Queries<Engine: Contender>: Trial {
    private let tasks: (any QueriedTasks)?
    private let setting: Setting

    init(_ setting: Setting) async throws {
        self.setting = setting
        let count = setting.scale.zoneRecordCount
        switch Engine.name {
        case "tidemark": tasks = try await TidemarkTasks(setting.folder, recordCount: count)
        case "sqlite": tasks = try await SQLiteTasks(setting.folder, recordCount: count)
        default: tasks = nil
        }
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        guard let tasks else { return [:] }
        let count = setting.scale.zoneRecordCount
        var results: [String: Double] = [:]
        if let speed = try await tasks.freshSpeed() { results[Name.queryIndexFresh] = speed }
        var random = SplitMix(seed: UInt64(repetition))
        let sink = Sink()
        results[Name.queryEqual] = try await median(sink, atLeast: 1) {
            let shelf = Int64(random.below(TaskRecord.shelfCount(of: count)))
            try await tasks.find(shelf: shelf, into: sink)
        }
        results[Name.queryRange] = try await median(sink, atLeast: 100) {
            let time = 1_700_000_000_000 + Int64(random.below(30_000_000_000))
            try await tasks.find(dueFrom: time, into: sink)
        }
        if let speed = try await tasks.replacementSpeed(version: repetition + 1) {
            results[Name.queryIndexReplaced] = speed
        }
        return results
    }

    func floors() async throws -> [String: Double] {
        var speeds: [Double] = []
        for version in 1_000..<1_005 {
            let speed = try await tasks?.replacementFloor(version: version)
            guard let speed else { return [:] }
            speeds.append(speed)
        }
        return [Name.queryIndexReplaced: speeds.median]
    }

    /// Microseconds of one query, after a few that fill the caches.
    private func median(
        _ sink: Sink,
        atLeast least: Int,
        _ find: () async throws -> Void
    ) async throws -> Double {
        var times: [Double] = []
        for turn in 0..<setting.scale.saveCount + 20 {
            sink.reset()
            let start = ContinuousClock.now
            try await find()
            if turn >= 20 { times.append(start.microsecondsUntilNow) }
            guard sink.recordCount >= min(least, setting.scale.zoneRecordCount / 100) else {
                throw WrongAnswer("\(Engine.name) found \(sink.recordCount) records")
            }
        }
        return times.median
    }

    func end() async throws { try await tasks?.close() }
}
