// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

/// A store with a tree of records that one user shares with another, closed and opened again.
final class SharedStore: Sendable {
    private static let owner = UserID("_owner")
    private static let zone = ZoneID(zoneName: "tree", ownerName: owner.userRecordName)
    private static let asOwner = Caller(database: DatabaseID(owner: owner), user: owner)
    private static let asParticipant = Caller(
        database: DatabaseID(scope: .shared, owner: UserID("_guest")),
        user: UserID("_guest")
    )
    private let store: Store
    private let folder: String

    /// Saves a root with so many records below it, and then shares it: none of the records changes
    /// when the participant gets it.
    init(recordCount: Int) throws {
        let folder = try ScratchFolder.make()
        let filling = try Store.open(at: folder, access: .creating, options: unsynced)
        try blocking {
            let zones = ModifyZonesRequest(saves: [Self.zone])
            _ = try await filling.modifyZones(zones, as: Self.asOwner)
            try await Self.save(["root"], under: nil, in: filling)
            for start in stride(from: 0, to: recordCount, by: 400) {
                let names = (start..<min(start + 400, recordCount)).map { "r\($0)" }
                try await Self.save(names, under: "root", in: filling)
            }
            let share = RecordSave(
                RecordID(recordName: "share", zone: Self.zone),
                type: Share.recordType,
                fields: Fields(),
                share: ShareContent(
                    root: "root",
                    participants: [
                        ShareParticipant(user: UserID("_guest"), permission: .readWrite)
                    ]
                )
            )
            let saved = try await filling.modifyRecords(
                ModifyRecordsRequest(saves: [share]),
                as: Self.asOwner
            )
            guard let token = try saved.saves[0].get().share?.token else { throw WrongCount() }
            _ = try await filling.acceptShare(token, as: Self.asParticipant)
        }
        try filling.close()
        self.folder = folder
        store = try Store.open(at: folder, options: unsynced)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func save(
        _ names: [String],
        under parent: String?,
        in store: Store
    ) async throws {
        let saves = try names.enumerated().map { number, name in
            RecordSave(
                RecordID(recordName: name, zone: zone),
                type: "Page",
                fields: try Pages.fields(
                    Pages.source.page(for: Change(zone: 0, number: number, version: 0))
                ),
                parent: parent.map { .set(Name($0)) } ?? .unchanged
            )
        }
        let result = try await store.modifyRecords(ModifyRecordsRequest(saves: saves), as: asOwner)
        for save in result.saves { _ = try save.get() }
    }

    /// Reads pages as the participant until there were so many records.
    func readAll(atMost count: Int) async throws -> Int {
        var seen = 0
        var request = ZoneChangesRequest(zone: Self.zone, limit: 5_000)
        while seen < count {
            let page = try await store.zoneChanges(request, as: Self.asParticipant)
            seen += page.changes.count
            request.since = page.token
            if !page.moreComing { break }
        }
        return seen
    }
}
