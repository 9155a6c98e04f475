// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The bytes of an asset as a store keeps them.
public struct StoredAsset: Hashable, Sendable {
    /// The SHA-256 of the bytes, 32 bytes.
    public var checksum: [UInt8] { blob.blob.checksum }
    /// The number of bytes.
    public let byteCount: UInt64
    /// The time of the last upload, in milliseconds since 1970.
    public let modified: Int64
    /// Their file.
    public let path: String
    package let blob: HeldBlob

    init(_ blob: HeldBlob, _ status: FileStatus, path: String) {
        self.blob = blob
        self.path = path
        byteCount = status.byteCount
        modified = status.modified
    }
}
