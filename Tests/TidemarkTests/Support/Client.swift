// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Tidemark
import TidemarkLog
import TidemarkModel

/// One client of a store: who it is, and short ways to say what it wants.
struct Client {
    let store: Store
    var caller = Caller(database: .standard, user: UserID("_anna"), device: "phone", build: "1")
    var zone = ZoneID(zoneName: "Notes")

    func createZone() async throws {
        let result = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        for zone in result.saves { _ = try zone.get() }
    }

    func deleteZone(_ reason: ZoneDeletionReason = .deleted) async throws {
        let request = ModifyZonesRequest(deletions: [zone], deletionReason: reason)
        _ = try await store.modifyZones(request, as: caller).deletions[0].get()
    }

    func id(_ name: String) -> RecordID {
        RecordID(recordName: name, zone: zone)
    }

    func save(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?>,
        tag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged,
        type: String = "Note"
    ) throws -> RecordSave {
        RecordSave(id(name), type: type, fields: try Fields(fields), changeTag: tag, policy: policy)
    }

    @discardableResult
    func modify(
        _ saves: [RecordSave],
        delete deletions: [RecordDeletion] = [],
        isAtomic: Bool = true,
        request: String? = nil
    ) async throws -> ModifyRecordsResult {
        var caller = caller
        caller.requestID = request
        return try await store.modifyRecords(
            ModifyRecordsRequest(saves: saves, deletions: deletions, isAtomic: isAtomic),
            as: caller
        )
    }

    /// Saves a record by a request of its own; throws if it is refused.
    @discardableResult
    func put(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?>,
        tag: RecordChangeTag? = nil,
        policy: SavePolicy = .ifServerRecordUnchanged,
        type: String = "Note"
    ) async throws -> Record {
        let save = try save(name, fields, tag: tag, policy: policy, type: type)
        return try await modify([save]).saves[0].get()
    }

    func fetch(_ names: String...) async throws -> [Result<Record, SyncError>] {
        try await store.fetchRecords(FetchRecordsRequest(names.map(id)), as: caller)
    }

    /// A page of the zones that changed in the database.
    func databaseChanges(
        since token: ChangeToken? = nil,
        limit: Int? = nil
    ) async throws(SyncError) -> DatabaseChanges {
        let request = DatabaseChangesRequest(since: token, limit: limit)
        return try await store.databaseChanges(request, as: caller)
    }

    /// A page of a delta.
    func page(
        since token: ChangeToken? = nil,
        limit: Int? = nil
    ) async throws(SyncError) -> ZoneChanges {
        let request = ZoneChangesRequest(zone: zone, since: token, limit: limit)
        return try await store.zoneChanges(request, as: caller)
    }

    /// All pages of a delta.
    func changes(
        since token: ChangeToken? = nil,
        limit: Int? = nil
    ) async throws -> (changes: [RecordChange], token: ChangeToken) {
        var changes: [RecordChange] = []
        var token = token
        while true {
            let page = try await page(since: token, limit: limit)
            changes += page.changes
            token = page.token
            if !page.moreComing { return (changes, page.token) }
        }
    }
}

extension Client {
    /// A client of a new store in a folder, where its zone is.
    init(ofNewStoreIn folder: ScratchFolder) async throws {
        self.init(store: try Store.open(at: folder.path(), access: .creating))
        try await createZone()
    }
}

extension Result where Failure == SyncError {
    /// The error, if it is one.
    var error: SyncError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
