// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import TidemarkReplay

// What one user removes, what another one waits for meanwhile, and long differences.
extension Cliff {
    static let removals = [
        removal("one zone", "records of the zone", [10_000, 100_000, 1_000_000]) { store, size in
            let zone = ZoneID(zoneName: "zone")
            _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: remover)
            for start in stride(from: 0, to: size, by: 400) {
                let ids = (start..<min(start + 400, size)).map {
                    RecordID(recordName: "r\($0)", zone: zone)
                }
                try await store.saveNotes(ids, as: remover)
            }
            return [zone]
        },
        removal("a user's zones", "zones of the user", [100, 1_000, 10_000]) { store, size in
            let zones = (0..<size).map { ZoneID(zoneName: "zone \($0)") }
            for start in stride(from: 0, to: size, by: 400) {
                let some = Array(zones[start..<min(start + 400, size)])
                _ = try await store.modifyZones(ModifyZonesRequest(saves: some), as: remover)
                let ids = some.map { RecordID(recordName: "r", zone: $0) }
                try await store.saveNotes(ids, as: remover)
            }
            return zones
        },
    ]

    private static let remover = Caller(user: "remover")

    /// The longest save of another user while zones are removed, and compaction drops what they held.
    private static func removal(
        _ name: String,
        _ input: String,
        _ sizes: [Int],
        _ fill: @escaping @Sendable (Store, Int) async throws -> [ZoneID]
    ) -> Cliff {
        Cliff(
            "longest save of another user while \(name) is removed and compacted away",
            input,
            sizes,
            unit: "ms",
            bar: "50 ms"
        ) { size in
            try await withStore { store, _ in
                let zones = try await fill(store, size)
                return try await longestSave(in: store) {
                    for start in stride(from: 0, to: zones.count, by: 400) {
                        let some = Array(zones[start..<min(start + 400, zones.count)])
                        let request = ModifyZonesRequest(deletions: some)
                        let result = try await store.modifyZones(request, as: remover)
                        for deletion in result.deletions { _ = try deletion.get() }
                    }
                    var policy = CompactionPolicy()
                    policy.history = .none
                    _ = try await store.compact(policy)
                }
            }
        }
    }

    /// The milliseconds of the longest of some saves, which a user makes one after another while
    /// other work goes on: time that passes, unlike that of other works.
    private static func longestSave(
        in store: Store,
        during work: () async throws -> Void
    ) async throws -> Double {
        let writer = Caller(user: "writer")
        let zone = ZoneID(zoneName: "own")
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: writer)
        try await store.saveOne("r0", in: zone, writer)
        let saving = Task {
            var longest = Duration.zero
            var number = 0
            while !Task.isCancelled {
                let start = ContinuousClock.now
                do {
                    try await store.saveOne("r\(number % 1_000)", in: zone, writer)
                } catch {
                    // A save that the end of the work cancelled says nothing.
                    if Task.isCancelled { break }
                    throw error
                }
                longest = max(longest, ContinuousClock.now - start)
                number += 1
            }
            return longest / Duration.milliseconds(1)
        }
        do {
            try await work()
        } catch {
            saving.cancel()
            throw error
        }
        saving.cancel()
        return try await saving.value
    }

    static let differences = [
        Cliff(
            "differences between two points, all records changed",
            "changes",
            [3_000, 30_000, 300_000],
            unit: "ms",
            bar: "1,000 ms"
        ) { size in
            try await withStore { store, _ in
                let caller = Caller(user: "anna")
                let zone = ZoneID(zoneName: "zone")
                _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
                let ids = (0..<size).map { RecordID(recordName: "r\($0)", zone: zone) }
                func saveAll(_ number: Int64) async throws {
                    for start in stride(from: 0, to: size, by: 400) {
                        let some = Array(ids[start..<min(start + 400, size)])
                        try await store.saveNotes(some, number, as: caller)
                    }
                }
                try await saveAll(1)
                let first = store.lastSequence
                try await saveAll(2)
                return try await median(of: 3) { _ in
                    var count = 0
                    try await store.visitDifferences(after: first, of: caller.database) { _ in
                        count += 1
                        return true
                    }
                    guard count == size else { throw WrongCount() }
                } / 1_000
            }
        }
    ]

    static let successive = [
        Cliff(
            "a store made, used and closed",
            "stores before it",
            [100, 1_000, 10_000],
            bar: "as after 100"
        ) { size in
            func use() async throws {
                try await withStore { store, _ in try await store.saveOne("r") }
            }
            for _ in 0..<size { try await use() }
            return try await median(of: 50) { _ in try await use() }
        }
    ]
}

extension Store {
    /// Saves small records.
    fileprivate func saveNotes(
        _ ids: [RecordID],
        _ number: Int64 = 1,
        as caller: Caller
    ) async throws {
        let saves = try ids.map { id in
            RecordSave(
                id,
                type: "Note",
                fields: try Fields(["n": .int64(number)]),
                policy: .replace
            )
        }
        let result = try await modifyRecords(ModifyRecordsRequest(saves: saves), as: caller)
        for outcome in result.saves { _ = try outcome.get() }
    }
}
