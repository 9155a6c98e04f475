// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel

extension Store {
    /// Uploads the bytes of an asset, piece by piece, and returns the reference for a save in the
    /// caller's database.
    ///
    /// Durable when it returns. Uploading bytes that the database already holds repairs them if
    /// they are damaged. An asset that no record names within a day may be collected.
    ///
    /// Throws `limitExceeded` for an asset that is too large, `assetFileModified` if the bytes are
    /// not the announced ones, `networkFailure` if the pieces stop, and the errors for a caller
    /// that may not save in that zone.
    public func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        let parts = try parts
        return try await parts.reader.answer(.assets, caller) { () throws(SyncError) in
            try await parts.writer().uploadAsset(pieces, request, as: caller)
        }
    }

    /// For each asset, in order, whether the database holds its bytes, so that they need not be sent.
    ///
    /// Only the checksum and the size of an asset count. Whether bytes are damaged is known when they
    /// are fetched.
    public func heldAssets(
        _ request: HeldAssetsRequest,
        as caller: Caller
    ) async throws(SyncError) -> [Bool] {
        let parts = try parts
        return try await parts.reader.answer(.assets, caller) { () throws(SyncError) in
            try parts.writer().heldAssets(request, as: caller)
        }
    }

    /// Returns the bytes of an asset that a record names, or some of them, if the caller may read
    /// the record.
    ///
    /// A client that holds an earlier version of the record names it by its change tag. All of an
    /// asset is read once before a part of it is returned.
    ///
    /// Throws the errors of fetching the record; `unknownItem` if the field has no such asset;
    /// `assetNotAvailable` if its bytes are missing or damaged.
    public func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        let parts = try parts
        return try await parts.reader.answer(.assets, caller) { () throws(SyncError) in
            try parts.reader.downloadAsset(request, as: caller)
        }
    }
}

/// The operator's door to assets: no permission of a user matters here.
extension Store {
    /// Takes in the bytes of an asset for a database.
    ///
    /// Throws as ``uploadAsset(_:_:as:)`` does, but for permissions.
    public func storeAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        announced: AssetReference? = nil,
        in database: DatabaseID = .standard
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        try await parts.writer().storeAsset(pieces, announced: announced, in: database)
    }

    /// The bytes of an asset of a database, or some of them.
    ///
    /// Throws `assetNotAvailable` if they are missing or damaged.
    public func openAsset(
        _ asset: AssetReference,
        of database: DatabaseID = .standard,
        range: Range<UInt64>? = nil
    ) throws(SyncError) -> AssetDownload {
        try parts.reader.openAsset(asset, of: database, range: range)
    }

    /// True if the store holds or held bytes of assets.
    ///
    /// One call of the file system.
    package var hasHeldAssets: Bool { (try? parts.reader.blobs.exist()) ?? true }

    /// The assets whose bytes a database holds, in the order of their checksums.
    ///
    /// O(assets).
    public func assets(of database: DatabaseID = .standard) throws(SyncError) -> [StoredAsset] {
        let parts = try parts
        do throws(FileError) {
            return try parts.reader.storedAssets(of: BlobHolder(database))
        } catch {
            throw SyncError(BlobError.file(error))
        }
    }

    /// Removes the bytes of assets that no version of any record names and that were uploaded more
    /// than a day ago.
    ///
    /// Returns the removed assets; with `isDryRun`, those that would be removed. Commits continue
    /// meanwhile. If there are assets of that age, this reads the whole log. Throws `zoneBusy` while
    /// another process, or a call that follows the log, reads the store.
    @discardableResult
    public func collectAssets(isDryRun: Bool = false) async throws(SyncError) -> [StoredAsset] {
        try await parts.upkeep.collectAssets(isDryRun: isDryRun)
    }
}
