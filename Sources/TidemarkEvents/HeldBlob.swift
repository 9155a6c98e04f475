// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The database that holds a blob, by the name of its folder (Docs/formats/assets.md).
///
/// The name is a cryptographic hash, so that no client can make two databases share one folder.
package struct BlobHolder: Hashable, Sendable {
    /// 32 lower-case hexadecimal digits.
    package let folderName: String

    private static let digitCount = 32

    /// Creates the folder of the database whose identity has a hash.
    package init(hash: BlobID) {
        folderName = String(hash.description.prefix(Self.digitCount))
    }

    /// Parses a folder's name; `nil` if it is not that of a database.
    package init?(folderName: String) {
        // Only the form that `init(hash:)` makes: each database has exactly one folder name.
        let isDigits = folderName.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isDigits, folderName.utf8.count == Self.digitCount else { return nil }
        self.folderName = folderName
    }
}

/// A blob of one database.
///
/// Equal bytes in another database are a different blob: permission for one does not give
/// permission for the other.
package struct HeldBlob: Hashable, Sendable {
    /// The database.
    package var holder: BlobHolder
    /// The id of its bytes.
    package var blob: BlobID

    package init(_ blob: BlobID, of holder: BlobHolder) {
        self.holder = holder
        self.blob = blob
    }
}

extension HeldBlob: CustomStringConvertible {
    /// The path of the blob in the folder of assets.
    package var description: String { "\(holder.folderName)/\(blob)" }
}
