// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

/// Creates and deletes zones, each by itself.
///
/// Unchecked: as ``CKOperation`` says.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Nothing to do yet.
    public required init() {}

    /// Creates and deletes zones.
    public convenience init(
        recordZonesToSave: [CKRecordZone]? = nil,
        recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
    ) {
        self.init()
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    /// The zones to create; those that are there stay as they are.
    open var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete with all that is in them.
    open var recordZoneIDsToDelete: [CKRecordZone.ID]?

    /// Called for each zone that was to be created.
    open var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Called for each zone that was to be deleted.
    open var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    /// Called at the end.
    open var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end, with what was created and deleted.
    open var modifyRecordZonesCompletionBlock:
        (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

    private var done: (saved: [CKRecordZone], deleted: [CKRecordZone.ID])?

    override func perform(_ session: Session) async throws(CKError) {
        let zones = recordZonesToSave ?? []
        let deletions = recordZoneIDsToDelete ?? []
        let request = ModifyZonesRequest(
            saves: zones.map(\.zoneID.model),
            deletions: deletions.map(\.model)
        )
        let result = try await session.change { (service, caller) async throws(SyncError) in
            try await service.modifyZones(request, as: caller)
        }
        var saved: [CKRecordZone] = []
        var deleted: [CKRecordZone.ID] = []
        var errors: [AnyHashable: any Error] = [:]
        for (zone, result) in zip(zones, result.saves) {
            let outcome = result.map { CKRecordZone($0) }
                .mapError { CKError($0) as any Error }
            if let zone = outcome.value { saved.append(zone) }
            errors[zone.zoneID] = outcome.error
            tell { self.perRecordZoneSaveBlock?(zone.zoneID, outcome) }
        }
        for (id, result) in zip(deletions, result.deletions) {
            let error = result.error.map { CKError($0) }
            if let error { errors[id] = error } else { deleted.append(id) }
            tell { self.perRecordZoneDeleteBlock?(id, Result(failing: error)) }
        }
        done = (saved, deleted)
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func keep(in request: inout KeptRequest) { keepOwn(in: &request) }

    override func restore(from request: KeptRequest) { restoreOwn(from: request) }

    override func complete(_ error: (any Error)?) {
        modifyRecordZonesResultBlock?(Result(failing: error))
        modifyRecordZonesCompletionBlock?(done?.saved, done?.deleted, error)
    }
}
