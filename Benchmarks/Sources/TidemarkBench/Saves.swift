// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Workload

/// One durable save at a time: the median time of one save.
final class OneWriter<Engine: Contender>: Trial {
    private let setting: Setting
    private let store: Engine
    private let probe: SyncProbe

    init(_ setting: Setting) async throws {
        self.setting = setting
        store = try await Engine.filled(setting, .oneWriter, setting.scale.startHistory)
        for number in 0..<setting.scale.warmUpSaveCount {
            let change = Change(zone: number % 4, number: 6_000_000 + number)
            try await store.save(store.prepare(Batch([change], isInsert: true), setting.pages))
        }
        probe = try SyncProbe(setting.folder, writeCount: setting.scale.saveCount)
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        let count = setting.scale.saveCount
        let commits = try (0..<count).map {
            let change = Change(zone: $0 % 4, number: 1_000_000 + repetition * count + $0)
            return try store.prepare(Batch([change], isInsert: true), setting.pages)
        }
        let time = try await store.medianTime(saving: commits)
        // The disk's own time, beside it in time and on the same file system.
        return [Name.oneWriter: time, Name.sync: try probe.median()]
    }

    func floors() throws -> [String: Double] {
        guard Engine.name == TidemarkContender.name else { return [:] }
        // As long as Tidemark takes from the end of a sync to its next write.
        return [Name.oneWriter: try probe.median(pause: .microseconds(33))]
    }

    func end() async throws { try await store.close() }
}

/// Durable saves of one record each by 64 writers at once: saves per second.
final class ManyWriters<Engine: Contender>: Trial {
    private let setting: Setting
    private let store: Engine

    init(_ setting: Setting) async throws {
        self.setting = setting
        store = try await Engine.filled(setting, .manyWriters, setting.scale.startHistory)
        let perWriter = setting.scale.warmUpSaveCount / 64
        try await store.save(writers: try commits(perWriter, from: 6_000_000))
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        let perWriter = max(1, setting.scale.saveCount / 10)
        let writers = try commits(perWriter, from: 1_000_000 + repetition * 64 * perWriter)
        let start = ContinuousClock.now
        try await store.save(writers: writers)
        let seconds = start.secondsUntilNow
        withExtendedLifetime(writers) {}
        return [Name.manyWriters: Double(64 * perWriter) / seconds]
    }

    /// New records of 64 writers, each a commit.
    private func commits(_ perWriter: Int, from first: Int) throws -> [[Engine.Prepared]] {
        try (0..<64).map { writer in
            try (0..<perWriter).map { index in
                let number = first + writer * perWriter + index
                let batch = Batch([Change(zone: writer % 4, number: number)], isInsert: true)
                return try store.prepare(batch, setting.pages)
            }
        }
    }

    func end() async throws { try await store.close() }
}

/// Durable batches of 400 new records: records per second.
final class InsertBatches<Engine: Contender>: Trial {
    private let setting: Setting
    private let store: Engine

    init(_ setting: Setting) async throws {
        self.setting = setting
        store = try await Engine.filled(setting, .insertBatches, setting.scale.startHistory)
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        let count = setting.scale.batchCount
        let commits = try batches(repetition).map { try store.prepare($0, setting.pages) }
        let seconds = try await store.seconds(saving: commits)
        return [Name.insertBatches: Double(count * 400) / seconds]
    }

    private func batches(_ repetition: Int) -> [Batch] {
        let count = setting.scale.batchCount
        return (0..<count).map { batch in
            let first = 1_000_000 + (repetition * count + batch) * 400
            let changes = (0..<400).map { Change(zone: batch % 4, number: first + $0) }
            return Batch(changes, isInsert: true)
        }
    }

    func floors() throws -> [String: Double] {
        guard Engine.name == TidemarkContender.name else { return [:] }
        let batches = batches(0)
        let seconds = try BatchFloor(folder: setting.folder).seconds(batches, setting.pages)
        return [Name.insertBatches: Double(batches.count * 400) / seconds]
    }

    func end() async throws { try await store.close() }
}

/// Durable batches of 400 records of one zone, picked at random: records per second.
final class UpdateBatches<Engine: Contender>: Trial {
    private let setting: Setting
    private let store: Engine
    private let history: History

    init(_ setting: Setting) async throws {
        self.setting = setting
        history = setting.scale.updatedHistory
        store = try await Engine.filled(setting, .updateBatches, history)
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        let count = setting.scale.batchCount
        let commits = try batches(repetition).map { try store.prepare($0, setting.pages) }
        let seconds = try await store.seconds(saving: commits)
        return [Name.updateBatches: Double(count * 400) / seconds]
    }

    private func batches(_ repetition: Int) -> [Batch] {
        let count = setting.scale.batchCount
        return (0..<count).map { batch in
            let version = repetition * count + batch + 1
            let zone = batch % 4
            let order = Shuffle(count: history.recordCount(ofZone: zone), seed: version)
            let changes = (0..<400).map {
                Change(zone: zone, number: order[$0], version: version)
            }
            return Batch(changes, isInsert: false)
        }
    }

    func floors() throws -> [String: Double] {
        guard Engine.name == TidemarkContender.name else { return [:] }
        let batches = batches(0)
        let old = try LZ4Blocks(history, setting.pages, path: setting.folder + "/old-versions")
        var seconds = try BatchFloor(folder: setting.folder).seconds(batches, setting.pages)
        for batch in batches { seconds += try old.secondsReading(batch, zoneCount: 4) }
        return [Name.updateBatches: Double(batches.count * 400) / seconds]
    }

    func end() async throws { try await store.close() }
}

/// Durable saves of existing records, picked at random, each done only if it is still the version
/// that the client holds, beside saves of new ones in the same store, one by one and in batches of
/// 400: for Tidemark alone.
final class UnchangedBatches<Engine: Contender>: Trial {
    private let setting: Setting
    private let store: TidemarkContender?
    private let history: History
    private var held: HeldTags
    /// The batches that the last repetition changed, and the seconds of an insert beside them.
    private var last: [String: (batches: [Batch], insertSeconds: Double)] = [:]

    init(_ setting: Setting) async throws {
        self.setting = setting
        history = setting.scale.updatedHistory
        held = HeldTags(zoneCount: 4)
        store =
            Engine.name == TidemarkContender.name
            ? try await TidemarkContender.filled(setting, .updateBatches, history) : nil
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        guard let store else { return [:] }
        try await held.fetch(from: store)
        let inserts = try (0..<setting.scale.batchCount).map { batch in
            let first = 2_000_000 + (repetition * setting.scale.batchCount + batch) * 400
            let changes = (0..<400).map { Change(zone: batch % 4, number: first + $0) }
            return try store.prepare(Batch(changes, isInsert: true), setting.pages)
        }
        let updates = try (0..<4).flatMap { try self.updates(ofZone: $0, repetition, store) }
        let count = setting.scale.saveCount
        let newOnes = try (0..<count).map { save in
            let number = 8_000_000 + repetition * count + save
            let change = Change(zone: save % 4, number: number)
            return try store.prepare(Batch([change], isInsert: true), setting.pages)
        }
        let share = try await share(of: updates.map(\.prepared), by: inserts, repetition, store)
        // The tags of what was just saved.
        try await held.fetch(from: store)
        let neighbours = try (0..<4).flatMap {
            try self.updates(ofZone: $0, repetition, store, isShuffled: false)
        }
        let moreInserts = try (0..<neighbours.count).map { batch in
            let first = 4_000_000 + (repetition * neighbours.count + batch) * 400
            let changes = (0..<400).map { Change(zone: batch % 4, number: first + $0) }
            return try store.prepare(Batch(changes, isInsert: true), setting.pages)
        }
        let neighboursShare = try await self.share(
            of: neighbours.map(\.prepared),
            by: moreInserts,
            repetition,
            store
        )
        try await held.fetch(from: store)
        let order = Shuffle(count: history.recordCount(ofZone: 0), seed: repetition)
        let oldOnes = try (0..<min(count, history.recordCount(ofZone: 0))).map { save in
            let change = Change(zone: 0, number: order[save], version: 1_000 + repetition)
            return try held.prepare([change], for: store, setting.pages)
        }
        last = [
            Name.unchangedBatches: (updates.map(\.batch), share.insertSeconds),
            Name.unchangedNeighbours: (neighbours.map(\.batch), neighboursShare.insertSeconds),
        ]
        return [
            Name.unchangedBatches: share.value,
            Name.unchangedNeighbours: neighboursShare.value,
            Name.unchangedOneWriter: try await self.share(
                of: oldOnes,
                by: newOnes,
                repetition,
                store
            ).value,
        ]
    }

    /// The shares if a save of an existing record took as long as one of a new one, and reading and
    /// decoding the old versions besides.
    func floors() throws -> [String: Double] {
        if last.isEmpty { return [:] }
        let old = try LZ4Blocks(history, setting.pages, path: setting.folder + "/old-versions")
        return try last.mapValues { batches, insertSeconds in
            let seconds = try batches.reduce(0.0) { try $0 + old.secondsReading($1, zoneCount: 4) }
            return insertSeconds / (insertSeconds + seconds / Double(batches.count))
        }
    }

    /// The speed of some commits by that of others, and the seconds that one of those took.
    private func share(
        of updates: [TidemarkContender.Prepared],
        by inserts: [TidemarkContender.Prepared],
        _ repetition: Int,
        _ store: TidemarkContender
    ) async throws -> (value: Double, insertSeconds: Double) {
        var seconds = [0.0, 0.0]
        // Who goes first takes turns.
        for turn in [repetition % 2, 1 - repetition % 2] {
            let commits = turn == 0 ? inserts : updates
            seconds[turn] = try await store.seconds(saving: commits) / Double(commits.count)
        }
        return (seconds[0] / seconds[1], seconds[0])
    }

    /// A zone's part of a repetition's batches; no record comes in two of them.
    ///
    /// They are picked at random, or are those that were saved one after another.
    private func updates(
        ofZone zone: Int,
        _ repetition: Int,
        _ store: TidemarkContender,
        isShuffled: Bool = true
    ) throws -> [(batch: Batch, prepared: TidemarkContender.Prepared)] {
        let recordCount = history.recordCount(ofZone: zone)
        let order = Shuffle(count: recordCount, seed: repetition * 4 + zone)
        let count = min(max(1, setting.scale.batchCount / 4), recordCount / 400)
        let first = repetition * count * 400
        return try (0..<count).map { batch in
            let changes = (batch * 400..<batch * 400 + 400).map { place in
                Change(
                    zone: zone,
                    number: isShuffled ? order[place] : (first + place) % recordCount,
                    version: repetition + (isShuffled ? 1 : 501)
                )
            }
            let prepared = try held.prepare(changes, for: store, setting.pages)
            return (Batch(changes, isInsert: false), prepared)
        }
    }

    func end() async throws { try store?.close() }
}
