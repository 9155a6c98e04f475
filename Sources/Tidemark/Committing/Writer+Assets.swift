// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

// MARK: - Sending

extension Writer {
    /// See ``Store/uploadAsset(_:_:as:)``.
    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        try reader.checkAccess(of: caller, writes: true)
        let database = try writableDatabase(of: request.zone, as: caller)
        let counted = CountedUpload(of: caller.user, in: database, quotas, now: reader.now)
        let asset = try await storeAsset(
            pieces,
            announced: request.announced,
            in: database,
            counted
        )
        counted.end(as: try asset.blob)
        try reader.noteKnown(asset, in: database, by: caller)
        return asset
    }

    /// See ``Store/storeAsset(_:announced:in:)``.
    func storeAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        announced: AssetReference?,
        in database: DatabaseID,
        _ counted: CountedUpload? = nil
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        // An announced size is checked first, so that a file that is too large is rejected before
        // any byte is written.
        let limit = UInt64(clamping: reader.options.limits.bytesPerAsset)
        if let announced {
            if announced.byteCount > limit { throw SyncError(.tooLarge(limit: limit)) }
            _ = try announced.blob
        }
        let upload = try explained { () throws(BlobError) in
            try reader.blobs.upload(to: BlobHolder(database), limit: limit)
        }
        var iterator = pieces.makeAsyncIterator()
        while let piece = try await iterator.nextPiece() {
            try counted?.take(piece.count)
            try explained { () throws(BlobError) in try upload.append(piece) }
        }
        // Before `finish`, which gives the bytes their name. An upload that is released before that
        // leaves no file.
        if let announced, announced.byteCount != upload.byteCount {
            throw SyncError(
                .assetFileModified,
                "The asset was announced with \(announced.byteCount) bytes, but "
                    + "\(upload.byteCount) arrived."
            )
        }
        // The file and its folders are synced here, which may take long.
        return try await reader.blockingWork.run { () throws(SyncError) in
            let blob = try explained { () throws(BlobError) in
                try upload.finish(announced: announced.flatMap { BlobID($0.checksum) })
            }
            return AssetReference(checksum: blob.checksum, byteCount: upload.byteCount)
        }
    }

    /// See ``Store/heldAssets(_:as:)``.
    func heldAssets(_ request: HeldAssetsRequest, as caller: Caller) throws(SyncError) -> [Bool] {
        try reader.checkAccess(of: caller, writes: true)
        try reader.options.limits.check(itemCount: request.assets.count)
        let holder = BlobHolder(try writableDatabase(of: request.zone, as: caller))
        var held: [Bool] = []
        for asset in request.assets {
            guard let blob = BlobID(asset.checksum) else {
                held.append(false)
                continue
            }
            let heldBlob = HeldBlob(blob, of: holder)
            let status = try explained { () throws(BlobError) in
                try reader.blobs.durableStatus(of: heldBlob)
            }
            // Without this check, the answer would tell a caller whether another user of the
            // database has the bytes (semantics.md, "Assets").
            let mayName = reader.knownAssets.withLock { $0.mayName(heldBlob, caller) }
            held.append(mayName && status?.byteCount == asset.byteCount)
        }
        return held
    }

    /// Returns the database of a zone for a caller that is to save records there.
    private func writableDatabase(
        of zone: ZoneID,
        as caller: Caller
    ) throws(SyncError) -> DatabaseID {
        let database = try reader.database(of: zone, as: caller)
        guard database.isWritable else {
            throw .permissionFailure("No share lets you save records in the zone \(zone).")
        }
        return database.id
    }
}
