// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

/// A store whose owner shared records after saving them, and the participant who reads them.
final class SharedStore: Sendable {
    private static let owner = UserID("_owner")
    private static let guest = UserID("_guest")
    private static let zone = ZoneID(zoneName: "tasks", ownerName: owner.userRecordName)
    private let store: Store
    private let folder: String

    /// Makes a store with so many records below the root of a share.
    init(recordCount: Int) throws {
        let folder = try ScratchFolder.make()
        let store = try Store.open(at: folder, access: .creating, options: unsynced)
        self.folder = folder
        self.store = store
        try blocking {
            let zones = ModifyZonesRequest(saves: [Self.zone])
            _ = try await store.modifyZones(zones, as: Self.ownerCaller)
            try await Self.save([try Self.save("root", 0, under: nil)], in: store)
            for start in stride(from: 0, to: recordCount, by: 400) {
                let numbers = start..<min(start + 400, recordCount)
                try await Self.save(
                    try numbers.map { try Self.save("task \($0)", $0, under: "root") },
                    in: store
                )
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
            let saved = try await Self.save([share], in: store)
            guard let token = saved[0].share?.token else { throw WrongCount() }
            _ = try await store.acceptShare(token, as: Self.guestCaller)
        }
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static let ownerCaller = Caller(database: DatabaseID(owner: owner), user: owner)
    private static let guestCaller = Caller(
        database: DatabaseID(scope: .shared, owner: guest),
        user: guest
    )

    private static func save(
        _ name: String,
        _ number: Int,
        under parent: String?
    ) throws -> RecordSave {
        let task = TaskRecord(number, of: 10_000)
        return RecordSave(
            RecordID(recordName: name, zone: zone),
            type: "Task",
            fields: try Fields(["title": .string(task.title), "note": .string(task.note)]),
            parent: parent.map { .set(Name($0)) } ?? .unchanged,
            policy: .changedKeys
        )
    }

    @discardableResult
    private static func save(_ saves: [RecordSave], in store: Store) async throws -> [Record] {
        try await store.modifyRecords(ModifyRecordsRequest(saves: saves), as: ownerCaller)
            .saves.map { try $0.get() }
    }

    /// Reads records from the first one on, in pages, as the participant; returns how many.
    func readAll(atMost count: Int) async throws -> Int {
        var seen = 0
        var request = ZoneChangesRequest(zone: Self.zone)
        while seen < count {
            let page = try await store.zoneChanges(request, as: Self.guestCaller)
            seen += page.changes.count
            request.since = page.token
            if !page.moreComing { break }
        }
        return seen
    }
}
