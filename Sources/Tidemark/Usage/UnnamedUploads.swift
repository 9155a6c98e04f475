// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkModel

/// The bytes that users have uploaded within a day and that no record names yet.
///
/// The quotas of databases and containers limit them apart from the records: an upload comes before the
/// record that names it, and would otherwise count for nothing. They are only in memory, so after a
/// restart they count no more.
final class UnnamedUploads: Sendable {
    /// The uploads of one user to one database.
    struct Uploader: Hashable {
        var database: DatabaseID
        var user: UserID?
    }

    private struct Blob: Hashable {
        var blob: BlobID
        var database: DatabaseID
    }

    private struct Upload {
        var uploader: Uploader
        var byteCount: Int
        /// The time in milliseconds at which the blob may be collected.
        var end: Int64
    }

    /// A user of a container, whatever the databases.
    private struct Member: Hashable {
        var container: ContainerID
        var user: UserID?

        init(_ uploader: Uploader) {
            container = uploader.database.container
            user = uploader.user
        }
    }

    private struct State {
        var byUploader: [Uploader: Int] = [:]
        var byMember: [Member: Int] = [:]
        var byDatabase: [DatabaseID: Int] = [:]
        var byContainer: [ContainerID: Int] = [:]
        /// The uploads that have ended.
        var blobs: [Blob: Upload] = [:]
        /// The earliest end of an upload; may be one that a record names by now.
        var firstEnd = Int64.max

        mutating func add(_ count: Int, of uploader: Uploader) {
            func add<Key: Hashable>(_ sums: inout [Key: Int], _ key: Key) {
                let sum = (sums[key] ?? 0) + count
                sums[key] = sum == 0 ? nil : sum
            }
            add(&byUploader, uploader)
            add(&byMember, Member(uploader))
            add(&byDatabase, uploader.database)
            add(&byContainer, uploader.database.container)
        }

        mutating func remove(_ blob: Blob) {
            guard let upload = blobs.removeValue(forKey: blob) else { return }
            add(-upload.byteCount, of: upload.uploader)
        }

        mutating func expire(at now: Int64) {
            guard now >= firstEnd else { return }
            for (blob, upload) in blobs where upload.end <= now { remove(blob) }
            firstEnd = blobs.values.lazy.map(\.end).min() ?? .max
        }
    }

    private let state = Lock(State())

    /// The milliseconds after which an upload that no record names may be collected.
    private static let lifetime: Int64 = 24 * 60 * 60 * 1000
    /// The bytes that the smallest blob occupies on disk.
    private static let smallestByteCount = 4096

    /// Counts bytes that arrive; returns false if a quota leaves no room for them.
    func take(_ count: Int, of uploader: Uploader, _ quotas: Quotas, at now: Int64) -> Bool {
        let database = uploader.database
        let (quota, containerQuota) = quotas.quotas(of: database)
        return state.withLock { state in
            state.expire(at: now)
            func leavesRoom(_ quota: Int?, own: Int?, all: Int?) -> Bool {
                guard let quota else { return true }
                // All together may have twice as much as one user, so that one user keeps nobody else
                // from uploading.
                return (own ?? 0).clampedSum(count) <= quota
                    && (all ?? 0).clampedSum(count) <= quota.clampedSum(quota)
            }
            guard
                leavesRoom(
                    quota,
                    own: state.byUploader[uploader],
                    all: state.byDatabase[database]
                ),
                leavesRoom(
                    containerQuota,
                    own: state.byMember[Member(uploader)],
                    all: state.byContainer[database.container]
                )
            else { return false }
            state.add(count, of: uploader)
            return true
        }
    }

    /// Ends an upload of some bytes, which are those of a blob now, or gone.
    func end(_ count: Int, of uploader: Uploader, as blob: BlobID?, at now: Int64) {
        state.withLock { state in
            state.add(-count, of: uploader)
            guard let blob else { return }
            let key = Blob(blob: blob, database: uploader.database)
            state.remove(key)
            let byteCount = max(count, Self.smallestByteCount)
            let end = now + Self.lifetime
            state.blobs[key] = Upload(uploader: uploader, byteCount: byteCount, end: end)
            state.firstEnd = min(state.firstEnd, end)
            state.add(byteCount, of: uploader)
        }
    }

    /// Counts blobs of a database no more, because a record names them.
    func name(_ blobs: [BlobID], in database: DatabaseID) {
        state.withLock { state in
            for blob in blobs { state.remove(Blob(blob: blob, database: database)) }
        }
    }
}
