// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension Upkeep {
    /// The time that an unnamed blob is kept, in milliseconds: one day.
    private static let assetGrace: Int64 = 24 * 60 * 60 * 1000

    /// See ``Store/collectAssets(isDryRun:)``.
    func collectAssets(isDryRun: Bool) async throws(SyncError) -> [StoredAsset] {
        if !isDryRun, try isRead() {
            throw SyncError(
                .zoneBusy,
                "Another process, or a call that follows the log, reads the store, and may need assets "
                    + "that its records named before. Collect them when it has ended."
            )
        }
        return try await collect(isDryRun: isDryRun)
    }

    /// Collects assets at the end of a compaction; returns none while the log is being read, as a backup
    /// does: like replaced segments, their bytes stay for a later run.
    func collectAfterCompaction() async throws(SyncError) -> [StoredAsset] {
        try isRead() ? [] : await collect(isDryRun: false)
    }

    /// True if somebody may read segments that compaction has replaced, whose events name other assets.
    ///
    /// A reader that begins later finds the segments that the collection searches.
    private func isRead() throws(SyncError) -> Bool {
        let log = try writer().log
        return try SyncError.wrapping { () throws(LogError) in try log.isRead() }
    }

    private func collect(isDryRun: Bool) async throws(SyncError) -> [StoredAsset] {
        let committer = try writer().committer
        let limit = reader.now() - Self.assetGrace
        // Listed first: a store without old blobs then reads no log.
        var candidates = try await reader.blockingWork.run { () throws(SyncError) in
            try self.blobs(writtenBefore: limit)
        }
        if candidates.isEmpty { return [] }
        // Both happen under one lock, so no commit is missed. Those up to `start` are found in the
        // log, and later ones are noted in the overlay.
        let start = reader.views.overlay.withLock { overlay in
            overlay.assets.beginCollection()
            return overlay.appended
        }
        defer { reader.views.overlay.withLock { $0.assets.endCollection() } }
        // The log is read up to `start` below, and a reader sees only durable events.
        try await committer.waitUntilDurable(start)
        let old = candidates
        candidates = try await reader.blockingWork.run { () throws(SyncError) in
            try self.remove(named: start, from: old)
        }
        let garbage = candidates.values.sorted { $0.path < $1.path }
        if isDryRun { return garbage }
        // Again: somebody may have begun to read before a compaction replaced what the search read.
        if try isRead() { return [] }
        return try await reader.blockingWork.run { () throws(SyncError) in
            try self.take(garbage, writtenBefore: limit)
        }
    }

    /// The blobs of all databases that were written before a time.
    private func blobs(writtenBefore time: Int64) throws(SyncError) -> [HeldBlob: StoredAsset] {
        do throws(FileError) {
            var found: [HeldBlob: StoredAsset] = [:]
            for holder in try reader.blobs.holders() {
                for asset in try reader.storedAssets(of: holder) where asset.modified < time {
                    found[asset.blob] = asset
                }
            }
            return found
        } catch {
            throw SyncError(BlobError.file(error))
        }
    }

    /// Removes from the candidates the blobs that the log names up to a position, and returns the
    /// rest.
    private func remove(
        named last: SequenceNumber,
        from candidates: [HeldBlob: StoredAsset]
    ) throws(SyncError) -> [HeldBlob: StoredAsset] {
        var left = candidates
        var named = NamedBlobs()
        try reader.source.visit(from: 1, through: last) {
            (event) throws(EventFormatError) in
            for asset in try named.assets(of: event) { left[asset.blob] = nil }
            return !left.isEmpty
        }
        return left
    }

    /// Removes unnamed blobs, except those that were named by a commit or uploaded since the
    /// search.
    func take(
        _ garbage: [StoredAsset],
        writtenBefore time: Int64
    ) throws(SyncError) -> [StoredAsset] {
        do throws(FileError) {
            var taken: [StoredAsset] = []
            try reader.blobs.prepareOnce()
            for asset in garbage {
                // Only a rename, and nothing that waits, because the lock is the serialization
                // point.
                let isTaken = try reader.views.overlay.withLock { overlay throws(FileError) in
                    // `noteTaken` makes a plan that was decided before this removal be decided
                    // again. So no commit names a blob that is already gone.
                    if overlay.assets.isNamed(asset.blob) { return false }
                    let isTaken = try reader.blobs.take(asset.blob, writtenBefore: time)
                    if isTaken { overlay.assets.noteTaken() }
                    return isTaken
                }
                if isTaken { taken.append(asset) }
            }
            // Outside the lock: the bytes have lost their names, and removing them may take long.
            try reader.blobs.finishTaking(taken.map(\.blob))
            return taken
        } catch {
            throw SyncError(BlobError.file(error))
        }
    }
}
