// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// What a save waits for while the store compacts itself, beside what it waits for else: for Tidemark
/// alone.
final class WhileCompacting<Engine: Contender>: Trial {
    private let setting: Setting
    private let isMeasured = Engine.name == TidemarkContender.name

    /// The rate of which the bar speaks.
    private let bytesPerSecond = 10_000_000

    init(_ setting: Setting) {
        self.setting = setting
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        guard isMeasured else { return [:] }
        var setting = setting
        setting.folder += "/\(repetition)"
        try FileManager.default.createDirectory(
            atPath: setting.folder,
            withIntermediateDirectories: true
        )
        let store = try await TidemarkContender.open(
            setting.folder,
            for: .oneWriter,
            durability: .none
        )
        // A quarter of it is left.
        try await store.fill(
            History(zoneCount: 4, recordCount: setting.scale.startRecordCount / 4, roundCount: 4),
            setting.pages
        )
        try store.close()
        let idle = try await TidemarkContender.saveTimes(
            (setting.folder, setting.scale.saveCount * 20, 1_000_000),
            setting.pages,
            compactingAt: nil
        )
        let busy = try await TidemarkContender.saveTimes(
            (setting.folder, .max - 3_000_000, 2_000_000),
            setting.pages,
            compactingAt: bytesPerSecond
        )
        guard busy.count > 200 else {
            throw WrongAnswer("the compaction was over after \(busy.count) saves")
        }
        try FileManager.default.removeItem(atPath: setting.folder)
        return [
            Name.compactingMedian: busy.percentile(50) / idle.percentile(50),
            Name.compactingP99: busy.percentile(99) / idle.percentile(99),
        ]
    }

    func end() {}
}

extension [Double] {
    /// The value that so many in a hundred are not above.
    fileprivate func percentile(_ percent: Int) -> Double {
        isEmpty ? 0 : sorted()[Swift.min(count - 1, count * percent / 100)]
    }
}
