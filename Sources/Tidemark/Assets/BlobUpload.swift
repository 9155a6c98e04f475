// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// A blob on its way in: nobody sees it before ``finish(announced:)``, and dropping it leaves
/// nothing behind.
package struct BlobUpload: ~Copyable {
    private let store: BlobStore
    private let file: any LogFile
    private let limit: UInt64
    private var hash = BlobHash()
    private var byteCount: UInt64 = 0
    private var isAdopted = false

    init(to store: BlobStore, _ file: any LogFile, limit: UInt64) {
        self.store = store
        self.file = file
        self.limit = limit
    }

    deinit {
        file.close()
        if !isAdopted { store.discard(file.path) }
    }

    /// Takes the next bytes; a call to the file system for each, so bring some thousand at a time.
    package mutating func append(_ bytes: RawSpan) throws(BlobError) {
        guard UInt64(bytes.byteCount) <= limit - byteCount else { throw .tooLarge(limit: limit) }
        do throws(FileError) {
            try file.write(bytes, at: byteCount)
        } catch {
            throw .file(error)
        }
        hash.update(bytes)
        byteCount += UInt64(bytes.byteCount)
    }

    /// Makes the blob durable under its name, if it is the one that was announced or none was.
    package consuming func finish(
        announced: BlobID? = nil
    ) throws(BlobError) -> (blob: BlobID, byteCount: UInt64) {
        let blob = hash.finish()
        if let announced, announced != blob {
            throw .mismatch(announced: announced, found: blob)
        }
        do throws(FileError) {
            try file.sync()
            try store.adopt(file.path, as: blob)
        } catch {
            throw .file(error)
        }
        isAdopted = true
        return (blob, byteCount)
    }
}
