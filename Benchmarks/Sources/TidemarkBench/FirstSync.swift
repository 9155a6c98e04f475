// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// A device's first sync: every live record of a zone, in the order in which they came.
final class FirstSync<Engine: Contender>: Trial {
    private let reading: ZoneReading<Engine>
    /// Beside Tidemark only: what it does when no block is kept decoded, and the floor under that.
    private let decoding: (reading: ZoneReading<Engine>, floor: DecodingFloor)?
    /// True if no cache holds the zone.
    private let isWhole: Bool

    init(_ setting: Setting) async throws {
        reading = try await ZoneReading(setting, .firstSync, roundCount: 1)
        isWhole = setting.scale.isWhole
        guard Engine.name == "tidemark" else {
            decoding = nil
            return
        }
        var uncached = setting
        uncached.folder += "/uncached"
        try FileManager.default.createDirectory(
            atPath: uncached.folder,
            withIntermediateDirectories: true
        )
        let history = History(
            zoneCount: 1,
            recordCount: setting.scale.zoneRecordCount,
            roundCount: 1
        )
        decoding = (
            try await ZoneReading(uncached, .firstSyncUncached, roundCount: 1),
            try DecodingFloor(history, setting.pages, folder: uncached.folder)
        )
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        var results = [Name.firstSync: try await reading.recordsPerSecond()]
        if let decoding {
            let speed = try await decoding.reading.recordsPerSecond()
            results[Name.firstSyncUncached] = speed
            let alone = try decoding.floor.recordsPerSecond(into: Sink())
            results[Name.firstSyncShare] = speed / alone
        }
        return results
    }

    func floors() throws -> [String: Double] {
        guard let floor = decoding?.floor else { return [:] }
        let speed = try floor.recordsPerSecondOfTwoThreads()
        var floors = [
            Name.firstSyncUncached: speed,
            Name.firstSyncShare: speed / (try floor.recordsPerSecond(into: Sink())),
        ]
        if isWhole { floors[Name.firstSync] = speed }
        return floors
    }

    func end() async throws {
        try await reading.store.close()
        try await decoding?.reading.store.close()
    }
}

/// The same after every record was updated three times in random order and the store was compacted.
final class FirstSyncAfterUpdates<Engine: Contender>: Trial {
    private let reading: ZoneReading<Engine>

    init(_ setting: Setting) async throws {
        reading = try await ZoneReading(setting, .firstSyncAfterUpdates, roundCount: 4)
        try await reading.store.compact()
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        [Name.firstSyncAfterUpdates: try await reading.recordsPerSecond()]
    }

    func end() async throws { try await reading.store.close() }
}

/// A store with one zone, and the time it takes to read all of it.
final class ZoneReading<Engine: Contender> {
    let store: Engine
    private let recordCount: Int
    private let sink = Sink()

    init(_ setting: Setting, _ work: Work, roundCount: Int) async throws {
        recordCount = setting.scale.zoneRecordCount
        let history = History(zoneCount: 1, recordCount: recordCount, roundCount: roundCount)
        store = try await Engine.filled(setting, work, history)
    }

    func recordsPerSecond() async throws -> Double {
        sink.reset()
        let start = ContinuousClock.now
        try await store.readAll(zone: 0, into: sink)
        let seconds = start.secondsUntilNow
        guard sink.recordCount == recordCount else {
            throw WrongAnswer("\(Engine.name) read \(sink.recordCount) of \(recordCount) records")
        }
        return Double(recordCount) / seconds
    }
}

/// An engine gave another answer than the work calls for: nothing that it measured counts.
struct WrongAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
