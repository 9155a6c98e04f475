// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

/// A store with 40 zones that took turns with commits of ten records, closed and opened again.
///
/// The zones' lists of changes come from the views on disk, and each commit is a block of its own.
final class InterleavedStore: Sendable {
    private static let zoneCount = 40
    private let store: Store
    private let folder: String
    private let tokens: [ChangeToken]

    init() throws {
        let folder = try ScratchFolder.make()
        let filling = try Store.open(at: folder, access: .creating, options: unsynced)
        tokens = try blocking {
            _ = try await filling.modifyZones(ModifyZonesRequest(saves: Self.zones), as: Caller())
            try await Self.save(0..<300, version: 0, in: filling)
            var tokens: [ChangeToken] = []
            for zone in Self.zones {
                tokens.append(try filling.currentToken(of: zone, as: Caller()))
            }
            try await Self.save(0..<100, version: 1, in: filling)
            return tokens
        }
        try filling.close()
        self.folder = folder
        store = try Store.open(at: folder, options: unsynced)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static let zones = (0..<zoneCount).map { ZoneID(zoneName: "zone \($0)") }

    /// Saves records of each zone, ten in a commit.
    private static func save(_ numbers: Range<Int>, version: Int, in store: Store) async throws {
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 10) {
            for (number, zone) in zones.enumerated() {
                let saves = try (start..<start + 10).map { record in
                    let change = Change(zone: number, number: record, version: version)
                    return RecordSave(
                        RecordID(recordName: change.name, zone: zone),
                        type: "Page",
                        fields: try Pages.fields(Pages.source.page(for: change)),
                        policy: .allKeys
                    )
                }
                let request = ModifyRecordsRequest(saves: saves)
                for save in try await store.modifyRecords(request, as: Caller()).saves {
                    _ = try save.get()
                }
            }
        }
    }

    /// Reads the 100 changes of a zone, and adds up the bytes of tags and bodies.
    func readDelta(_ number: Int) async throws {
        let zone = number % Self.zoneCount
        let request = ZoneChangesRequest(zone: Self.zones[zone], since: tokens[zone])
        let page = try await store.zoneChanges(request, as: Caller())
        var byteCount = 0
        for case .changed(let record) in page.changes {
            byteCount += record.changeTag?.text.utf8.count ?? 0
            byteCount += record.body.bytes.count
        }
        try demand(page.changes.count == 100 && byteCount > 10_000)
    }
}
