// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Reader {
    /// See ``Store/assets(of:)``.
    func storedAssets(of holder: BlobHolder) throws(FileError) -> [StoredAsset] {
        var assets: [StoredAsset] = []
        for id in try blobs.blobs(of: holder) {
            let blob = HeldBlob(id, of: holder)
            // A collection may have removed the blob since the folder was listed.
            guard let status = try blobs.status(of: blob) else { continue }
            assets.append(StoredAsset(blob, status, path: blobs.path(of: blob)))
        }
        return assets
    }
}
