// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Creates and deletes zones, each independently.
///
/// Unchecked: see ``CKOperation``.
open class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

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
    /// Called at the end, with the zones that were created and deleted.
    open var modifyRecordZonesCompletionBlock:
        (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?

    private var saved: [CKRecordZone] = []
    private var deleted: [CKRecordZone.ID] = []

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
        var errors: [AnyHashable: any Error] = [:]
        for (zone, result) in zip(zones, result.saves) {
            let outcome = result.map { CKRecordZone($0) }
                .mapError { CKError($0) as any Error }
            errors[zone.zoneID] = outcome.error
            tell(.zone(zone.zoneID, outcome))
        }
        for (id, result) in zip(deletions, result.deletions) {
            let error = result.error.map { CKError($0) }
            errors[id] = error
            tell(.deletedZone(id, error))
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func deliver(_ report: OperationReport) {
        switch report {
        case .zone(let id, let outcome):
            // On the queue of the callbacks, as `complete`, which reads both lists.
            if let zone = outcome.value { saved.append(zone) }
            perRecordZoneSaveBlock?(id, outcome)
        case .deletedZone(let id, let error):
            if error == nil { deleted.append(id) }
            perRecordZoneDeleteBlock?(id, Result(failing: error))
        default: break
        }
    }

    override func keep(in request: inout KeptRequest) {
        request.zoneIDs = (recordZonesToSave ?? []).map(\.zoneID.archived)
        // The saves come first in one list, and their number separates them from the deletions
        // (Docs/formats/devices.md, "A long-lived operation").
        request.numbers = ["saves": request.zoneIDs.count]
        request.zoneIDs += (recordZoneIDsToDelete ?? []).map(\.archived)
    }

    override func restore(from request: KeptRequest) {
        let ids = request.zoneIDs.map { CKRecordZone.ID($0) }
        // A damaged file can have any number.
        let count = min(max(request.numbers["saves"] ?? 0, 0), ids.count)
        recordZonesToSave = ids[..<count].map { CKRecordZone(zoneID: $0) }
        recordZoneIDsToDelete = Array(ids[count...])
    }

    override func complete(_ error: (any Error)?) {
        modifyRecordZonesResultBlock?(Result(failing: error))
        let isAnswered = hasItems(error)
        modifyRecordZonesCompletionBlock?(
            isAnswered ? saved : nil,
            isAnswered ? deleted : nil,
            error
        )
    }
}
