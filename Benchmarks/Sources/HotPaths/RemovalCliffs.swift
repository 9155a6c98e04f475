// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

// Removals of one user, and the saves of another one meanwhile.
extension Cliff {
    static let removals = [
        removal("one zone", "records of the zone", [10_000, 100_000, 1_000_000]) { store, size in
            let zone = ZoneID(zoneName: "zone")
            _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: remover)
            let ids = (0..<size).map { RecordID(recordName: "r\($0)", zone: zone) }
            try await store.saveNotes(ids, as: remover)
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

    /// The longest save of a user who saves one record after another while other work runs.
    ///
    /// In milliseconds of time that passes, unlike other figures: the waiting is what counts.
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
}
