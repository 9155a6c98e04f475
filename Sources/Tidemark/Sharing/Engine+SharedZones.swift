// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Engine {
    /// What ends with a zone: the lists of what its shares show, links, and parts taken.
    func sharesEnd(
        with zone: ConsultedZone,
        _ picture: ViewPicture
    ) throws(SyncError) -> (audiences: [UInt64], SystemChange) {
        var change = SystemChange(zone: .shares)
        let keys = try Audiences(picture).keys(in: zone.identity)
        for share in try liveShares(of: zone, keys, picture) {
            guard let content = Share(share.fields) else { continue }
            let end = try content.consequencesOfEnd(of: Name(share.recordName), in: zone.identity)
            change.saves += end.saves
            change.deletions += end.deletions
        }
        return (keys, change)
    }

    /// The records of a zone's shares: they are in the lists of what those show; one of the whole
    /// zone goes by its name.
    private func liveShares(
        of zone: ConsultedZone,
        _ audiences: [UInt64],
        _ picture: ViewPicture
    ) throws(SyncError) -> [RecordBody] {
        var shares = [Name(Share.zoneWideName)]
        for key in audiences {
            let name: String
            do throws(ViewIndexError) {
                name = try picture.zone(key).identity.zoneName.string
            } catch {
                throw SyncError(error)
            }
            guard let token = name.split(separator: "\0").last,
                let link = try record(
                    named: Name(String(token)),
                    of: .shares,
                    in: zone.identity.database,
                    picture
                ),
                let target = ShareRecords.link(in: try link.readBody())
            else { continue }
            shares.append(target.shareName)
        }
        let own = ConsultedZones([zone])
        let records = shares.map {
            ConsultedItem(name: $0, zone: 0, slot: views.hash.slot(ofName: $0))
        }
        let found = try ConsultedItems(records, in: own, picture, views).items
        return try found.compactMap(\.live).map { (live) throws(SyncError) in try live.readBody() }
    }

    /// Deleting a zone of a shared database means leaving all shares in it; none can be made there.
    func leaveZones(
        _ request: ModifyZonesRequest,
        as caller: Caller
    ) async throws(SyncError) -> ModifyZonesResult {
        var result = ModifyZonesResult(saves: [], deletions: [])
        for _ in request.saves {
            result.saves.append(
                .failure(.badDatabase(caller.database, "create zones; its zones are others'"))
            )
        }
        for zone in request.deletions {
            do throws(SyncError) {
                try await leave(zone, as: caller)
                result.deletions.append(.success(zone))
            } catch {
                result.deletions.append(.failure(error))
            }
        }
        return result
    }

    private func leave(_ zone: ZoneID, as caller: Caller) async throws(SyncError) {
        let shared = try sharedZones(of: caller, try picture(.visible))
        guard let access = shared?.zones[zone] else { throw .zoneNotFound(zone) }
        let shares = access.parts.values.map { part in
            RecordDeletion(RecordID(recordName: part.shareName.string, zone: zone))
        }
        var unnamed = caller
        unnamed.requestID = nil
        let limit = max(options.limits.itemsPerRequest, 1)
        for start in stride(from: 0, to: shares.count, by: limit) {
            let some = Array(shares[start..<min(start + limit, shares.count)])
            let result = try await modifyRecords(
                ModifyRecordsRequest(deletions: some),
                as: unnamed
            )
            for deletion in result.deletions { _ = try deletion.get() }
        }
    }
}
