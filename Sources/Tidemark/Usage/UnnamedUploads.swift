// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkModel

/// The bytes that users have uploaded within a day and that no record names yet, by database.
///
/// A quota limits them apart from the records: an upload is before the record that names it, and would
/// otherwise count for nothing. They are only in memory, so after a restart they count no more.
final class UnnamedUploads: Sendable {
    private struct Uploads {
        /// Bytes of uploads that have not ended.
        var arriving = 0
        /// Bytes of uploads that have ended.
        private var held = 0
        /// The bytes of each blob, and the time in milliseconds at which it may be collected.
        private var blobs: [BlobID: (byteCount: Int, end: Int64)] = [:]

        var byteCount: Int { arriving.clampedSum(held) }

        mutating func set(_ blob: BlobID, _ value: (byteCount: Int, end: Int64)?) {
            held += (value?.byteCount ?? 0) - (blobs[blob]?.byteCount ?? 0)
            blobs[blob] = value
        }

        mutating func removeBlobs(endedAt now: Int64) {
            for (blob, value) in blobs where value.end <= now { set(blob, nil) }
        }
    }

    private let databases = Lock<[DatabaseID: Uploads]>([:])

    /// The milliseconds after which an upload that no record names may be collected.
    private static let lifetime: Int64 = 24 * 60 * 60 * 1000
    /// The bytes that the smallest blob occupies on disk.
    private static let smallestByteCount = 4096

    /// Counts bytes that arrive for a database; returns false if its quota or that of its container
    /// leaves no room for them.
    ///
    /// O(databases with such uploads).
    func take(_ count: Int, in database: DatabaseID, _ quotas: Quotas, at now: Int64) -> Bool {
        let (quota, containerQuota) = quotas.quotas(of: database)
        return databases.withLock { databases in
            func room(_ quota: Int?, _ isCounted: (DatabaseID) -> Bool) -> Int {
                guard let quota else { return .max }
                return databases.reduce(quota) { room, entry in
                    isCounted(entry.key) ? room.clampedSum(-entry.value.byteCount) : room
                }
            }
            func leavesRoom() -> Bool {
                count <= room(quota) { $0 == database }
                    && count <= room(containerQuota) { $0.container == database.container }
            }
            if !leavesRoom() {
                for id in databases.keys { databases[id]?.removeBlobs(endedAt: now) }
                guard leavesRoom() else { return false }
            }
            databases[database, default: Uploads()].arriving += count
            return true
        }
    }

    /// Ends an upload of some bytes, which are those of a blob now, or gone.
    func end(_ count: Int, in database: DatabaseID, as blob: BlobID?, at now: Int64) {
        databases.withLock { databases in
            databases[database, default: Uploads()].arriving -= count
            if let blob {
                databases[database]?.set(
                    blob,
                    (max(count, Self.smallestByteCount), now + Self.lifetime)
                )
            }
            if databases[database]?.byteCount == 0 { databases[database] = nil }
        }
    }

    /// Counts blobs of a database no more, because a record names them.
    func name(_ blobs: [BlobID], in database: DatabaseID) {
        databases.withLock { databases in
            for blob in blobs { databases[database]?.set(blob, nil) }
            if databases[database]?.byteCount == 0 { databases[database] = nil }
        }
    }
}

/// An upload that counts in the quotas of its database while it arrives, and until a record names it.
final class CountedUpload: Sendable {
    private let database: DatabaseID
    private let quotas: QuotaSettings
    private let now: @Sendable () -> Int64
    /// The bytes that were counted.
    private let count = Lock(0)

    init(in database: DatabaseID, _ quotas: QuotaSettings, now: @escaping @Sendable () -> Int64) {
        self.database = database
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
        guard quotas.has(database) else { return }
        guard self.quotas.unnamed.take(byteCount, in: database, quotas, at: now()) else {
            throw .uploadsExceedQuota(of: database)
        }
        count.withLock { $0 += byteCount }
    }

    /// Ends the upload with the blob that it has become.
    func end(as blob: BlobID?) {
        let counted = count.withLock { count in
            defer { count = 0 }
            return count
        }
        if counted > 0 { quotas.unnamed.end(counted, in: database, as: blob, at: now()) }
    }
}
