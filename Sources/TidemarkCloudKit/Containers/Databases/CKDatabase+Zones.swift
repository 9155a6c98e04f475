// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKDatabase {
    /// The results of zones to save and to delete.
    public typealias ModifiedZones = (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )

    // MARK: One zone

    /// Returns a zone by its identity.
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone {
        try await answer { handler in
            fetchingZones([zoneID]) { handler($0.item(zoneID)) }
        }
    }

    /// Creates a zone, unless it exists; returns the zone of the service.
    @discardableResult
    public func save(_ zone: CKRecordZone) async throws -> CKRecordZone {
        try await answer { savingZone(zone, $0) }
    }

    /// Deletes a zone with its content; succeeds if it does not exist.
    @discardableResult
    public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        try await answer { deletingZone(zoneID, $0) }
    }

    @discardableResult
    func savingZone(
        _ zone: CKRecordZone,
        _ handler: @escaping ResultHandler<CKRecordZone>
    ) -> CKOperation {
        let zoneID = zone.zoneID
        return modifyingZones(saving: [zone]) {
            handler($0.map(\.saveResults).item(zoneID))
        }
    }

    @discardableResult
    func deletingZone(
        _ zoneID: CKRecordZone.ID,
        _ handler: @escaping ResultHandler<CKRecordZone.ID>
    ) -> CKOperation {
        modifyingZones(deleting: [zoneID]) { result in
            let outcome = result.map(\.deleteResults).item(zoneID)
            // The operation reports that the zone is missing; programs expect that this call does
            // not.
            if (outcome.error as? CKError)?.code == .zoneNotFound {
                handler(.success(zoneID))
            } else {
                handler(outcome.map { zoneID })
            }
        }
    }

    // MARK: Several zones

    /// Fetches zones by their identities.
    @preconcurrency
    public func fetch(
        withRecordZoneIDs zoneIDs: [CKRecordZone.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>
            ) -> Void
    ) {
        fetchingZones(zoneIDs, completionHandler)
    }

    /// Returns zones by their identities: each, or its error.
    public func recordZones(
        for ids: [CKRecordZone.ID]
    ) async throws -> [CKRecordZone.ID: Result<CKRecordZone, any Error>] {
        try await answer { fetchingZones(ids, $0) }
    }

    /// Returns all zones.
    public func allRecordZones() async throws -> [CKRecordZone] {
        try await answer { fetchingAllZones($0) }
    }

    @discardableResult
    func fetchingZones(
        _ zoneIDs: [CKRecordZone.ID],
        _ handler: @escaping ResultHandler<[CKRecordZone.ID: Result<CKRecordZone, any Error>]>
    ) -> CKOperation {
        let operation = CKFetchRecordZonesOperation(recordZoneIDs: zoneIDs)
        let items = Collected<[CKRecordZone.ID: Result<CKRecordZone, any Error>]>([:])
        operation.perRecordZoneResultBlock = { id, result in items.add { $0[id] = result } }
        operation.fetchRecordZonesResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    @discardableResult
    func fetchingAllZones(_ handler: @escaping ResultHandler<[CKRecordZone]>) -> CKOperation {
        let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        let items = Collected<[CKRecordZone]>([])
        operation.perRecordZoneResultBlock = { _, result in
            if let zone = result.value { items.add { $0.append(zone) } }
        }
        operation.fetchRecordZonesResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    /// Creates and deletes zones.
    @preconcurrency
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone],
        deleting recordZoneIDsToDelete: [CKRecordZone.ID] = [],
        completionHandler: @escaping @Sendable (Result<ModifiedZones, any Error>) -> Void
    ) {
        modifyingZones(
            saving: recordZonesToSave,
            deleting: recordZoneIDsToDelete,
            completionHandler
        )
    }

    /// Creates and deletes zones, and returns the result of each.
    public func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone],
        deleting recordZoneIDsToDelete: [CKRecordZone.ID] = []
    ) async throws -> ModifiedZones {
        try await answer {
            modifyingZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete, $0)
        }
    }

    @discardableResult
    func modifyingZones(
        saving saves: [CKRecordZone] = [],
        deleting deletions: [CKRecordZone.ID] = [],
        _ handler: @escaping ResultHandler<ModifiedZones>
    ) -> CKOperation {
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: saves,
            recordZoneIDsToDelete: deletions
        )
        let items = Collected<ModifiedZones>(([:], [:]))
        operation.perRecordZoneSaveBlock = { id, result in
            items.add { $0.saveResults[id] = result }
        }
        operation.perRecordZoneDeleteBlock = { id, result in
            items.add { $0.deleteResults[id] = result }
        }
        operation.modifyRecordZonesResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }
}
