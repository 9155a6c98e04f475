// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The bytes of an asset as a store keeps them.
public struct StoredAsset: Hashable, Sendable {
    /// The SHA-256 of the bytes, 32 bytes.
    public var checksum: [UInt8] { blob.blob.checksum }
    /// How many bytes there are.
    public let byteCount: UInt64
    /// When they were sent last, in milliseconds since 1970.
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
