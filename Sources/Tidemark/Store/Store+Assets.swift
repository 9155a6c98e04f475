// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel

extension Store {
    /// Takes in the bytes of an asset, piece by piece, and answers with what a save in the caller's
    /// database names it by.
    ///
    /// Durable when it returns. Sending bytes that the database holds already repairs them if they
    /// are damaged. What no record names within a day may be collected.
    ///
    /// Throws `limitExceeded` for an asset that is too large, `assetFileModified` for bytes that are
    /// not those that were announced, `networkFailure` if the pieces stop coming, and what keeps the
    /// caller from saving in that zone.
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

    /// The bytes of an asset that a record names, or some of them, for whoever may read the record.
    ///
    /// A client that holds an earlier version of the record names it by its change tag. Before a part
    /// of an asset comes, all of it is read once.
    ///
    /// Throws what fetching the record would; `unknownItem` if the field has no such asset;
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

    /// Removes the bytes of assets that no version of any record names and that were sent more than a
    /// day ago, and returns what was removed; with `isDryRun` what would be.
    ///
    /// Commits go on meanwhile. Reads the whole log if there is anything that old.
    @discardableResult
    public func collectAssets(isDryRun: Bool = false) async throws(SyncError) -> [StoredAsset] {
        try await parts.upkeep.collectAssets(isDryRun: isDryRun)
    }
}
