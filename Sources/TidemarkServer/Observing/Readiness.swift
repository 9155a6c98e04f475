// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation

/// The state of a store's disk, which determines if the store can write.
struct Readiness {
    /// The free bytes on the store's volume; `nil` if the system does not report them.
    var freeByteCount: Int64?
    /// True if the folder may be written to.
    var isWritable: Bool

    /// The least free bytes, those of a segment of the log: with fewer, a write can fail at any
    /// moment.
    static let leastByteCount: Int64 = 64 << 20

    /// The reason why the store cannot write; `nil` if it can.
    var problem: String? {
        guard isWritable else {
            return "The store's folder cannot be written to. Give the server's user permission."
        }
        guard let freeByteCount, freeByteCount < Self.leastByteCount else { return nil }
        return
            "The disk has \(freeByteCount) free bytes; at least \(Self.leastByteCount) are needed. "
            + "Free space on that disk."
    }
}

extension Readiness {
    /// Reads the system's information about a store's folder.
    init(ofStoreAt folder: String) {
        let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
        freeByteCount = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value
        isWritable = FileManager.default.isWritableFile(atPath: folder)
    }
}
#endif
