// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLock
import TidemarkLog

/// The upload of a blob.
///
/// The blob is invisible before ``finish(announced:)``; an upload that is released leaves nothing
/// behind.
package final class BlobUpload: Sendable {
    private let store: BlobStore
    private let holder: BlobHolder
    private let file: any LogFile
    private let limit: UInt64

    private struct Progress {
        var hash = BlobHash()
        var byteCount: UInt64 = 0
        var isAdopted = false
    }

    /// The lock that is held while the file is written: callers append their bytes one after
    /// another.
    private let progress = Lock(Progress())

    init(to store: BlobStore, of holder: BlobHolder, _ file: any LogFile, limit: UInt64) {
        self.store = store
        self.holder = holder
        self.file = file
        self.limit = limit
    }

    deinit {
        file.close()
        if !progress.withLock({ $0.isAdopted }) { store.discard(file.path) }
    }

    /// The number of bytes received so far.
    package var byteCount: UInt64 { progress.withLock { $0.byteCount } }

    /// Appends bytes.
    ///
    /// Each call makes one system call, so pass some thousand bytes at a time.
    package func append(_ bytes: [UInt8]) throws(BlobError) {
        try progress.withLock { progress throws(BlobError) in
            // `byteCount` never exceeds `limit`, so the difference cannot wrap.
            guard UInt64(bytes.count) <= limit - progress.byteCount else {
                throw .tooLarge(limit: limit)
            }
            do throws(FileError) {
                try file.write(bytes.span.bytes, at: progress.byteCount)
            } catch {
                throw .file(error)
            }
            progress.hash.update(bytes.span.bytes)
            progress.byteCount += UInt64(bytes.count)
        }
    }

    /// Makes the blob durable under its name, if it matches the announced name or none was
    /// announced.
    ///
    /// Nothing may be appended afterwards.
    package func finish(announced: BlobID? = nil) throws(BlobError) -> BlobID {
        let blob = progress.withLock { $0.hash.finish() }
        if let announced, announced != blob {
            throw .mismatch(announced: announced, found: blob)
        }
        let isAdopted: Bool
        do throws(FileError) {
            // The bytes must be durable before the name. After a crash, a blob with its name but
            // without its bytes would be damaged.
            try file.sync()
            isAdopted = try store.adopt(file.path, as: HeldBlob(blob, of: holder))
        } catch {
            throw .file(error)
        }
        guard isAdopted else { throw .closed }
        progress.withLock { $0.isAdopted = true }
        return blob
    }
}
