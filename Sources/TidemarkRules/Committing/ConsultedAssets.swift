// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The assets that a request's saves refer to, and the saves that are rejected because of assets.
package struct ConsultedAssets: Sendable {
    /// The assets, each with the database of its record.
    package var blobs: [HeldBlob] = []
    /// The errors of rejected saves, by index.
    package var refusals: [Int: SyncError] = [:]
    /// The number of blobs that garbage collections had removed before the assets were looked up.
    package let takenCount: UInt64

    /// Creates an empty set of assets.
    package init(takenCount: UInt64) {
        self.takenCount = takenCount
    }

    /// Adds the assets that a line of an import refers to, wherever their bytes are.
    package mutating func add(_ fields: Fields, of holder: BlobHolder) {
        blobs += fields.assets.map { HeldBlob($0.blob, of: holder) }
    }
}

extension Fields {
    /// The assets that the fields refer to; the same one may occur several times.
    package var assets: [(blob: BlobID, byteCount: UInt64)] {
        // From the bytes of the fields: no value is decoded.
        var assets: [(blob: BlobID, byteCount: UInt64)] = []
        visitAssets { checksum, byteCount in
            let blob = checksum.withUnsafeBytes { BlobID($0) }
            if let blob { assets.append((blob, byteCount)) }
        }
        return assets
    }
}
