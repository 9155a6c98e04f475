// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The assets that a request's saves name, and which of the saves are refused because of them.
package struct ConsultedAssets: Sendable {
    /// The assets, each as the database of its record would hold it.
    package var blobs: [HeldBlob] = []
    /// Why saves are refused, by index.
    package var refusals: [Int: SyncError] = [:]
    /// How many blobs collections had taken away before the assets were looked for.
    package let takenCount: UInt64

    /// No assets yet.
    package init(takenCount: UInt64) {
        self.takenCount = takenCount
    }

    /// Adds the assets that a line of an import names, wherever their bytes are.
    package mutating func add(_ fields: Fields, of holder: BlobHolder) {
        blobs += fields.assets.map { HeldBlob($0.blob, of: holder) }
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
