// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkModel

/// An upload that counts in the quotas of its database while it arrives, and until a record names it.
final class CountedUpload: Sendable {
    private let uploader: UnnamedUploads.Uploader
    private let quotas: QuotaSettings
    private let now: @Sendable () -> Int64
    /// The bytes that were counted.
    private let count = Lock(0)

    init(
        of user: UserID?,
        in database: DatabaseID,
        _ quotas: QuotaSettings,
        now: @escaping @Sendable () -> Int64
    ) {
        uploader = UnnamedUploads.Uploader(database: database, user: user)
        self.quotas = quotas
        self.now = now
    }

    deinit {
        // Of an upload that failed, nothing stays.
        end(as: nil)
    }

    /// Counts bytes that arrive; throws `quotaExceeded` if there is no room for them.
    func take(_ byteCount: Int) throws(SyncError) {
        let quotas = quotas.state.withLock { $0 }
        guard quotas.has(uploader.database) else { return }
        guard self.quotas.unnamed.take(byteCount, of: uploader, quotas, at: now()) else {
            throw .uploadsExceedQuota(of: uploader.database)
        }
        count.withLock { $0 += byteCount }
    }

    /// Ends the upload with the blob that it has become.
    func end(as blob: BlobID?) {
        let counted = count.withLock { count in
            defer { count = 0 }
            return count
        }
        if counted > 0 { quotas.unnamed.end(counted, of: uploader, as: blob, at: now()) }
    }
}
