// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches zones.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Fetches zones by their identities.
    public convenience init(recordZoneIDs zoneIDs: [CKRecordZone.ID]) {
        self.init()
        recordZoneIDs = zoneIDs
    }

    /// Fetches all zones of the database.
    open class func fetchAllRecordZonesOperation() -> Self {
        let operation = CKFetchRecordZonesOperation()
        operation.fetchesAll = true
        return Self.own(operation)
    }

    var fetchesAll = false

    /// The zones to fetch.
    open var recordZoneIDs: [CKRecordZone.ID]?

    /// Called for each zone.
    open var perRecordZoneResultBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end, with the zones that were found.
    open var fetchRecordZonesCompletionBlock:
        (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?

    private var found: [CKRecordZone.ID: CKRecordZone] = [:]

    override func perform(_ session: Session) async throws(CKError) {
        // A service lists all zones of a database; it has no call for single ones.
        let zones = try await session.call { (service, caller) async throws(SyncError) in
            try await service.zones(as: caller)
        }
        var byID: [ZoneID: Zone] = [:]
        for zone in zones { byID[zone.zoneID] = zone }
        let ids = fetchesAll ? zones.map(\.zoneID) : (recordZoneIDs ?? []).map(\.model)
        var errors: [AnyHashable: any Error] = [:]
        for model in ids {
            let id = CKRecordZone.ID(model)
            let outcome: Result<CKRecordZone, any Error>
            if let zone = byID[model] ?? byID[session.caller.spelledByService(model)] {
                // The result has the spelling of the request (Docs/semantics.md, "Who asks").
                let asked = Zone(zoneID: model, capabilities: zone.capabilities)
                outcome = .success(await withShare(asked, session))
            } else {
                let error = await absence(of: model, session)
                errors[id] = error
                outcome = .failure(error)
            }
            tell(.zone(id, outcome))
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    /// Returns a zone under the requested name, with its share if the whole zone is shared.
    private func withShare(_ zone: Zone, _ session: Session) async -> CKRecordZone {
        guard zone.capabilities.contains(.zoneWideSharing) else { return CKRecordZone(zone) }
        // The reference to the share is an extra: if the share cannot be fetched, the zone still
        // can. Its fields are not needed.
        let share = RecordID(recordName: Share.zoneWideName, zone: zone.zoneID)
        let request = FetchRecordsRequest([share], desiredKeys: [])
        let answers = try? await session.call { (service, caller) async throws(SyncError) in
            try await service.fetchRecords(request, as: caller)
        }
        return CKRecordZone(zone, share: answers?.first?.value?.recordID)
    }

    /// Returns the error for a missing zone, which the service reports to calls that use the zone.
    private func absence(of zone: ZoneID, _ session: Session) async -> CKError {
        // A list omits a missing zone without a reason. A call that uses the zone fails with the
        // reason, such as `userDeletedZone` after a purge (Docs/semantics.md, "Zones").
        do throws(CKError) {
            _ = try await session.call { (service, caller) async throws(SyncError) in
                try await service.zoneChanges(ZoneChangesRequest(zone: zone, limit: 1), as: caller)
            }
        } catch {
            return error
        }
        return CKError(
            .zoneNotFound,
            "Zone '\(zone.zoneName)' was created after it was looked up. Fetch it again."
        )
    }

    override func deliver(_ report: OperationReport) {
        guard case .zone(let id, let outcome) = report else { return }
        found[id] = outcome.value
        perRecordZoneResultBlock?(id, outcome)
    }

    override func keep(in request: inout KeptRequest) {
        request.zoneIDs = (recordZoneIDs ?? []).map(\.archived)
        request.numbers = ["all": fetchesAll ? 1 : 0]
    }

    override func restore(from request: KeptRequest) {
        recordZoneIDs = request.zoneIDs.map { CKRecordZone.ID($0) }
        fetchesAll = request.numbers["all"] == 1
    }

    override func complete(_ error: (any Error)?) {
        fetchRecordZonesResultBlock?(Result(ofWhole: error))
        fetchRecordZonesCompletionBlock?(hasItems(error) ? found : nil, error)
    }
}

extension Caller {
    /// Returns a zone as lists of zones spell it.
    ///
    /// The caller may name a zone of their own by its owner's name, which those lists omit.
    fileprivate func spelledByService(_ zone: ZoneID) -> ZoneID {
        let isOwn = database.scope != .shared && zone.ownerName == user?.userRecordName
        return isOwn ? ZoneID(zoneName: zone.zoneName) : zone
    }
}
