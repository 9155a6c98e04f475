// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// Looks for the assets that saves name; `nil` if they name none.
    ///
    /// Queries the file system once for each asset that the version before does not name.
    func consultAssets(
        _ request: ModifyRecordsRequest,
        _ items: ConsultedItems,
        in zones: ConsultedZones,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> ConsultedAssets? {
        let saves = request.saves
        let namesAssets = saves.indices.contains { index in
            saves[index].fields.mayHave(.assets) && saves[index].fields.namesAssets
        }
        guard namesAssets else { return nil }
        var assets = ConsultedAssets(takenCount: picture.takenBlobCount)
        for (index, save) in request.saves.enumerated() where save.fields.namesAssets {
            let item = items.items[index]
            // The database of the zone, which is the owner's if the caller is a participant: assets
            // belong to the owner of the records.
            let holder = BlobHolder(zones[item.zone].identity.database)
            var known: [BlobID: UInt64] = [:]
            for asset in item.liveBody?.fields.assets ?? [] {
                known[asset.blob] = asset.byteCount
            }
            // The live version names the other assets. So no collection has removed them, and they
            // need no lookup.
            for asset in save.fields.assets where known[asset.blob] != asset.byteCount {
                let blob = HeldBlob(asset.blob, of: holder)
                assets.blobs.append(blob)
                guard assets.refusals[index] == nil else { continue }
                assets.refusals[index] = try refusal(
                    of: save,
                    naming: blob,
                    byteCount: asset.byteCount,
                    as: caller
                )
            }
        }
        return assets
    }

    private func refusal(
        of save: RecordSave,
        naming blob: HeldBlob,
        byteCount: UInt64,
        as caller: Caller
    ) throws(SyncError) -> SyncError? {
        try explained { () throws(BlobError) -> SyncError? in
            // The right to name a blob is checked before its existence. So a caller without it gets
            // the same error in both cases.
            guard reader.knownAssets.withLock({ $0.mayName(blob, caller) }),
                let status = try reader.blobs.durableStatus(of: blob)
            else {
                return .assetNotHeld(save.recordID, blob.blob.description)
            }
            guard status.byteCount == byteCount else {
                return .assetSizeDiffers(
                    save.recordID,
                    blob.blob.description,
                    found: status.byteCount,
                    said: byteCount
                )
            }
            return nil
        }
    }
}
