// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

extension HotPath {
    /// The whole engine, through its door; nothing is synced.
    static let engine = [
        saveOne, insertBatch, insertBatchJournalled, updateBatch, unchangedBatch, refusedBatch,
        firstSync, participantSync, smallDelta, smallDeltaJournalled, interleavedDelta, emptyDelta,
        emptyDeltaJournalled,
        queryEqual, queryRange, replay,
    ]

    /// Saves a new record in a request of its own.
    private static let saveOne = HotPath(name: "engine.save") { count in
        let store = try ScratchStore()
        let requests = try (0..<count).map { try ScratchStore.request([$0], .insert) }
        return goingOn(through: requests, by: 1) { try await store.save($0) }
    }

    /// Saves new records in requests of 400; one operation is one record.
    private static let insertBatch = insertBatch("engine.insert400", .refusals)

    /// The same with a full journal.
    private static let insertBatchJournalled = insertBatch("engine.insert400.fullJournal", .full)

    private static func insertBatch(_ name: String, _ journal: StoreOptions.Journal) -> HotPath {
        HotPath(name: name) { count in
            let store = try ScratchStore(journal: journal)
            let requests = try ScratchStore.requests(count, .insert)
            return goingOn(through: requests, by: 400) { try await store.save($0) }
        }
    }

    /// Saves records in requests of 400 that are all refused, since they are there, and stand in the
    /// journal; one operation is one record.
    private static let refusedBatch = HotPath(name: "engine.refused400") { count in
        let store = try ScratchStore(recordCount: count)
        let requests = try ScratchStore.requests(count, .insert)
        return goingOn(through: requests, by: 400) { request in
            let result = try await store.store.modifyRecords(request, as: Caller())
            for outcome in result.saves {
                if case .success = outcome { throw WrongCount() }
            }
        }
    }

    /// Replaces records in requests of 400; one operation is one record.
    private static let updateBatch = HotPath(name: "engine.update400") { count in
        let store = try ScratchStore(recordCount: count)
        let requests = try ScratchStore.requests(count, .update)
        return goingOn(through: requests, by: 400) { try await store.save($0) }
    }

    /// Saves records in requests of 400, each picked at random and with the tag of its version, so
    /// that it is saved only if it is still that; one operation is one record.
    private static let unchangedBatch = HotPath(name: "engine.unchanged400") { count in
        let store = try ScratchStore(recordCount: count)
        let tags = try blocking { try await store.tags() }
        let order = Shuffle(count: count, seed: 1)
        let requests = try stride(from: 0, to: count, by: 400).map { start in
            let numbers = (start..<min(start + 400, count)).map { order[$0] }
            return try ScratchStore.request(numbers, .unchanged(tags))
        }
        return goingOn(through: requests, by: 400) { try await store.save($0) }
    }

    /// Reads all records of a zone; one operation is one record.
    private static let firstSync = HotPath(name: "engine.firstSync") { count in
        let store = try ScratchStore(recordCount: count, reopened: true)
        return Prepared { count in
            try blocking { try demand(try await store.readAll(atMost: count) >= count) }
        }
    }

    /// Reads a tree of records that was shared with a participant after it was saved, page by page,
    /// as the participant; one operation is one record.
    private static let participantSync = HotPath(name: "engine.firstSync.participant") { count in
        let store = try SharedStore(recordCount: count)
        return Prepared { count in
            try blocking { try demand(try await store.readAll(atMost: count) >= count) }
        }
    }

    /// Reads the last 100 changes of a zone; one operation is one delta.
    private static let smallDelta = delta("engine.delta100", of: 100, .refusals)

    /// The same with a full journal.
    private static let smallDeltaJournalled = delta("engine.delta100.fullJournal", of: 100, .full)

    /// Reads 100 changes of one of 40 zones that took turns, with the tag and the body of each; one
    /// operation is one delta.
    private static let interleavedDelta = HotPath(name: "engine.delta100.interleaved") { _ in
        let store = try InterleavedStore()
        return Prepared { count in
            try blocking {
                for number in 0..<count { try await store.readDelta(number) }
            }
        }
    }

    /// Hears that nothing has changed; one operation is one delta.
    private static let emptyDelta = delta("engine.delta0", of: 0, .refusals)

    /// The same with a full journal.
    private static let emptyDeltaJournalled = delta("engine.delta0.fullJournal", of: 0, .full)

    private static func delta(
        _ name: String,
        of changeCount: Int,
        _ journal: StoreOptions.Journal
    ) -> HotPath {
        HotPath(name: name) { count in
            let store = try ScratchStore(recordCount: 1_200, journal: journal)
            let token = try blocking {
                let token = try await store.lastToken()
                let numbers = 1_200..<1_200 + changeCount
                if changeCount > 0 { try await store.save(ScratchStore.request(numbers, .insert)) }
                return token
            }
            return Prepared { count in
                try blocking {
                    for _ in 0..<count {
                        let request = ZoneChangesRequest(zone: ScratchStore.zone, since: token)
                        let delta = try await store.store.zoneChanges(request, as: Caller())
                        try demand(delta.changes.count == changeCount)
                    }
                }
            }
        }
    }

    /// Finds about 100 records that have one value in an indexed field; one operation is one query.
    private static let queryEqual = query("engine.query100.equal") { number in
        Query(
            recordType: "Task",
            predicate: .compare("shelf", .equal, .value(.int64(Int64(number % 60))))
        )
    }

    /// Finds the first 100 records from a time on, in the order of an indexed field; one operation is
    /// one query.
    private static let queryRange = query("engine.query100.range") { number in
        let time = 1_700_000_000_000 + Int64(number % 100) * 300_000_000
        return Query(
            recordType: "Task",
            predicate: .compare("due", .greaterThanOrEqual, .value(.timestamp(time))),
            sortDescriptors: [.init("due")]
        )
    }

    private static func query(
        _ name: String,
        _ query: @escaping @Sendable (_ number: Int) -> Query
    ) -> HotPath {
        HotPath(name: name) { _ in
            let store = try ScratchStore()
            for request in try ScratchStore.tasks(6_000) {
                try blocking { try await store.save(request) }
            }
            let run: @Sendable (Int) async throws -> Void = { count in
                for number in 0..<count {
                    let request = QueryRequest(query(number), in: ScratchStore.zone, limit: 100)
                    let found = try await store.store.query(request, as: Caller()).records
                    try demand(found.count > 50)
                }
            }
            // The first query builds the index.
            try blocking { try await run(1) }
            return Prepared { count in try blocking { try await run(count) } }
        }
    }

    /// Computes the views from the log; one operation is one event.
    private static let replay = HotPath(name: "engine.replay") { count in
        let store = try ScratchStore(recordCount: count)
        try store.store.close()
        return Prepared { count in
            guard count > 0 else { return }
            try FileManager.default.removeItem(atPath: store.folder + "/views")
            var options = StoreOptions()
            options.durability = .none
            let opened = try Store.open(at: store.folder, options: options)
            try demand(opened.lastSequence.rawValue > count)
            try opened.close()
        }
    }
}

/// A run takes the requests that come after those of the last run.
private func goingOn(
    through requests: [ModifyRecordsRequest],
    by operationCount: Int,
    _ save: @escaping @Sendable (ModifyRecordsRequest) async throws -> Void
) -> HotPath.Prepared {
    var next = 0
    return HotPath.Prepared { count in
        // Rounded up: the operations are counted, and a part of a request cannot be sent.
        let requestCount = (count + operationCount - 1) / operationCount
        let part = requests[next..<min(next + requestCount, requests.count)]
        next = part.endIndex
        try blocking { for request in part { try await save(request) } }
    }
}
