// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel
import TidemarkViews

/// The assets that a request's saves name, and which of the saves are refused because of them.
package struct ConsultedAssets: Sendable {
    /// The assets, each as the database of its record would hold it.
    package fileprivate(set) var blobs: [HeldBlob] = []
    /// Why saves are refused, by index.
    package fileprivate(set) var refusals: [Int: SyncError] = [:]
    /// How many blobs collections had taken away before the assets were looked for.
    package let takenCount: UInt64

    /// No assets yet.
    package init(takenCount: UInt64) {
        self.takenCount = takenCount
    }

    /// Adds the assets that a line of an import names, wherever their bytes are.
    mutating func add(_ fields: Fields, in database: DatabaseID) {
        let holder = BlobHolder(database)
        blobs += fields.assets.map { HeldBlob($0.blob, of: holder) }
    }
}

extension Engine {
    /// Looks for the assets that saves name; `nil` if they name none.
    ///
    /// Asks the file system once for each asset that the version before does not name.
    func consultAssets(
        _ request: ModifyRecordsRequest,
        _ items: ConsultedItems,
        in zones: ConsultedZones,
        as caller: Caller,
        _ picture: ViewPicture
    ) throws(SyncError) -> ConsultedAssets? {
        let saves = request.saves
        guard saves.indices.contains(where: { saves[$0].fields.namesAssets }) else { return nil }
        var assets = ConsultedAssets(takenCount: picture.takenBlobCount)
        for (index, save) in request.saves.enumerated() where save.fields.namesAssets {
            let item = items.items[index]
            let holder = BlobHolder(zones[item.zone].identity.database)
            var known: [BlobID: UInt64] = [:]
            for asset in try item.live?.readBody().fields.assets ?? [] {
                known[asset.blob] = asset.byteCount
            }
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
        do throws(BlobError) {
            guard knownAssets.withLock({ $0.mayName(blob, caller) }),
                let status = try blobs.durableStatus(of: blob)
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
        } catch {
            throw SyncError(error)
        }
    }
}

extension Fields {
    /// The assets that the fields name; one may come more than once.
    package var assets: [(blob: BlobID, byteCount: UInt64)] {
        var assets: [(blob: BlobID, byteCount: UInt64)] = []
        visitAssets { checksum, byteCount in
            let blob = checksum.withUnsafeBytes { BlobID($0) }
            if let blob { assets.append((blob, byteCount)) }
        }
        return assets
    }
}
