// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation
import Workload

/// Durable saves with 10,000 subscriptions by query on the type, beside the same saves without: for
/// Tidemark alone.
///
/// One record in fourteen is notified of, as each is saved; the notifications are made meanwhile.
final class Subscribed<Engine: Contender>: Trial {
    private let setting: Setting
    private let plain: TidemarkContender?
    private let subscribed: TidemarkContender?

    private static var subscriptionCount: Int { 10_000 }
    private static var firstNumber: Int { 1_000_000 }
    private static var step: Int { 14 }

    init(_ setting: Setting) async throws {
        self.setting = setting
        guard Engine.name == TidemarkContender.name else {
            plain = nil
            subscribed = nil
            return
        }
        func open(_ name: String) async throws -> TidemarkContender {
            var own = setting
            own.folder += "/" + name
            try FileManager.default.createDirectory(
                atPath: own.folder,
                withIntermediateDirectories: true
            )
            return try await TidemarkContender.filled(own, .insertBatches, own.scale.startHistory)
        }
        plain = try await open("plain")
        subscribed = try await open("subscribed")
        try await subscribed?.subscribe(
            count: Self.subscriptionCount,
            every: Self.step,
            from: Self.firstNumber
        )
        try await subscribed?.waitUntilNotified()
    }

    func measure(_ repetition: Int) async throws -> [String: Double] {
        guard let plain, let subscribed else { return [:] }
        // Who goes first takes turns.
        let first = repetition % 2 == 0 ? plain : subscribed
        let second = repetition % 2 == 0 ? subscribed : plain
        var batches: [ObjectIdentifier: (saved: Double, notified: Double)] = [:]
        var single: [ObjectIdentifier: Double] = [:]
        for store in [first, second] {
            batches[ObjectIdentifier(store)] = try await insert(repetition, store)
            single[ObjectIdentifier(store)] = try await saveOneByOne(repetition, store)
        }
        guard let without = batches[ObjectIdentifier(plain)],
            let with = batches[ObjectIdentifier(subscribed)],
            let oneWithout = single[ObjectIdentifier(plain)],
            let oneWith = single[ObjectIdentifier(subscribed)]
        else { return [:] }
        return [
            Name.subscribedInserts: without.saved / with.saved,
            Name.subscribedInsertsNotified: without.saved / with.notified,
            Name.subscribedOneWriter: oneWithout / oneWith,
        ]
    }

    /// Seconds for a repetition's batches, and until all of it was notified of.
    private func insert(
        _ repetition: Int,
        _ store: TidemarkContender
    ) async throws -> (saved: Double, notified: Double) {
        let count = setting.scale.batchCount
        let commits = try (0..<count).map { batch in
            let first = Self.firstNumber + (repetition * count + batch) * 400
            // The subscriptions name the zone's titles.
            let changes = (0..<400).map { Change(zone: (first + $0) % 4, number: first + $0) }
            return try store.prepare(Batch(changes, isInsert: true), setting.pages)
        }
        let start = ContinuousClock.now
        for commit in commits { try await store.save(commit) }
        let saved = start.secondsUntilNow
        try await store.waitUntilNotified()
        let notified = start.secondsUntilNow
        withExtendedLifetime(commits) {}
        return (saved, notified)
    }

    /// The median time of one save.
    private func saveOneByOne(_ repetition: Int, _ store: TidemarkContender) async throws -> Double
    {
        let count = setting.scale.saveCount
        let commits = try (0..<count).map {
            let number = Self.firstNumber + 500_000 + repetition * count + $0
            return try store.prepare(
                Batch([Change(zone: number % 4, number: number)], isInsert: true),
                setting.pages
            )
        }
        let time = try await store.medianTime(saving: commits)
        try await store.waitUntilNotified()
        return time
    }

    func end() async throws {
        guard let plain, let subscribed else { return }
        // A figure without notifications would be none.
        let expected = setting.scale.batchCount * setting.scale.repetitionCount * 400 / Self.step
        let found = try await subscribed.notificationCount()
        guard found >= min(expected, Self.subscriptionCount) * 9 / 10 else {
            throw WrongAnswer("\(found) notifications were made of about \(expected)")
        }
        try plain.close()
        try subscribed.close()
    }
}
