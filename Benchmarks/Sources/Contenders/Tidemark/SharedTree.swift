// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import Workload

/// A tree of records that one user shares with another, who fetches what its owner fetches.
package final class SharedTree {
    private static let owner = UserID("_owner")
    private static let guest = UserID("_guest")
    private static let zone = ZoneID(zoneName: "tasks", ownerName: owner.userRecordName)
    private let store: Store
    private let recordCount: Int

    /// Stores a root with so many records below it and as many beside it, and shares it.
    package init(_ folder: String, recordCount: Int) async throws {
        self.recordCount = recordCount
        var options = StoreOptions()
        options.durability = .none
        options.cacheByteCount = 64 << 20
        store = try Store.open(at: folder + "/shared.tide", access: .creating, options: options)
        _ = try await store.modifyZones(
            ModifyZonesRequest(saves: [Self.zone]),
            as: Self.ownerCaller
        )
        try await save([try Self.save("root", TaskRecord(0, of: recordCount), under: nil)])
        for parent in ["root", nil] {
            for start in stride(from: 0, to: recordCount, by: 400) {
                try await save(
                    try (start..<min(start + 400, recordCount)).map { number in
                        let name = (parent == nil ? "beside" : "below") + "\(number)"
                        return try Self.save(
                            name,
                            TaskRecord(number, of: recordCount),
                            under: parent
                        )
                    }
                )
            }
        }
        let share = RecordSave(
            RecordID(recordName: "share", zone: Self.zone),
            type: Share.recordType,
            fields: Fields(),
            share: ShareContent(
                root: "root",
                participants: [ShareParticipant(user: Self.guest, permission: .readWrite)]
            )
        )
        let saved = try await store.modifyRecords(
            ModifyRecordsRequest(saves: [share]),
            as: Self.ownerCaller
        )
        guard let token = try saved.saves[0].get().share?.token else { return }
        _ = try await store.acceptShare(token, as: Self.guestCaller)
    }

    private static let ownerCaller = Caller(database: DatabaseID(owner: owner), user: owner)
    private static let guestCaller = Caller(
        database: DatabaseID(scope: .shared, owner: guest),
        user: guest
    )

    private static func save(
        _ name: String,
        _ task: TaskRecord,
        under parent: String?
    ) throws -> RecordSave {
        RecordSave(
            RecordID(recordName: name, zone: zone),
            type: "Task",
            fields: try Fields([
                "title": .string(task.title), "note": .string(task.note),
                "shelf": .int64(task.shelf), "price": .double(task.price),
            ]),
            parent: parent.map { .set(Name($0)) } ?? .unchanged,
            policy: .changedKeys
        )
    }

    private func save(_ saves: [RecordSave]) async throws {
        let result = try await store.modifyRecords(
            ModifyRecordsRequest(saves: saves),
            as: Self.ownerCaller
        )
        for save in result.saves { _ = try save.get() }
    }

    /// Fetches all pages from a token as the owner or as the guest; says how many lines there were and
    /// where the zone is then.
    package func fetch(
        asGuest: Bool,
        since token: ChangeToken?
    ) async throws -> (count: Int, token: ChangeToken?) {
        var token = token
        var count = 0
        while true {
            let page = try await store.zoneChanges(
                ZoneChangesRequest(zone: Self.zone, since: token),
                as: asGuest ? Self.guestCaller : Self.ownerCaller
            )
            count += page.changes.count
            token = page.token
            if !page.moreComing { return (count, token) }
        }
    }

    /// Saves a hundred of the shared records again.
    package func change(_ version: Int) async throws {
        let order = Shuffle(count: recordCount, seed: version)
        try await save(
            try (0..<min(100, recordCount)).map { index in
                let number = order[index]
                let task = TaskRecord(number, version: version, of: recordCount)
                return try Self.save("below\(number)", task, under: nil)
            }
        )
    }

    package func close() throws { try store.close() }
}
