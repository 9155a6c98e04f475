// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

extension Store {
    /// Keeps all there is, or nothing but what is live now.
    func compact(keeping kept: Kept) async throws -> CompactionReport {
        var policy = CompactionPolicy()
        policy.history = kept == .history ? .all : .none
        policy.tombstones = policy.history
        return try await compact(policy)
    }
}

extension TidemarkContender {
    /// How long each of so many saves of one new record took, in microseconds, one after another.
    ///
    /// With a rate the store compacts itself meanwhile, from its opening on, and what is measured ends
    /// when that is over.
    package static func saveTimes(
        _ setting: (folder: String, count: Int, first: Int),
        _ pages: PageSource,
        compactingAt bytesPerSecond: Int?
    ) async throws -> [Double] {
        var options = StoreOptions()
        if let bytesPerSecond {
            var policy = CompactionPolicy()
            policy.history = .none
            var compaction = BackgroundCompaction(policy)
            compaction.bytesPerSecond = bytesPerSecond
            options.backgroundCompaction = compaction
        }
        let store = try Store.open(at: path(in: setting.folder), options: options)
        let contender = TidemarkContender(store)
        var times: [Double] = []
        for number in 0..<setting.count {
            let change = Change(zone: number % 4, number: setting.first + number)
            let save = try contender.prepare(Batch([change], isInsert: true), pages)
            let start = ContinuousClock.now
            try await contender.save(save)
            times.append(start.duration(to: .now) / .microseconds(1))
            if let outcome = try store.lastCompaction {
                _ = try outcome.get()
                break
            }
        }
        try store.close()
        return times
    }
}
