// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import TidemarkReplay

// Differences between two points of a store.
extension Cliff {
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
                try await store.saveNotes(ids, 1, as: caller)
                let first = store.lastSequence
                try await store.saveNotes(ids, 2, as: caller)
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
}
