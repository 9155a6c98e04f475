// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension ZoneHandle {
    /// Stores bytes for a record of this zone to name.
    ///
    /// Save a record with the answer soon: bytes that no record names are collected. Durable when
    /// it returns.
    public func upload(_ bytes: some Sequence<UInt8>) async throws -> AssetReference {
        try await service.uploadAsset([UInt8](bytes), UploadAssetRequest(zone: id), as: caller)
    }

    /// Uploads bytes that arrive piece by piece, in bounded memory.
    public func upload<Pieces: AsyncSequence>(
        pieces: Pieces
    ) async throws -> AssetReference where Pieces.Element == [UInt8] {
        try await service.uploadAsset(pieces, UploadAssetRequest(zone: id), as: caller)
    }

    /// Downloads the bytes, or a range, of an asset that a field of a record names.
    ///
    /// Read them piece by piece, or with ``AssetDownload/bytes()`` all at once. Given a fetched
    /// record, the asset is that of its version; given a name, that of the newest version.
    public func download(
        _ field: String,
        of record: some RecordNamed,
        element: Int = 0,
        range: Range<UInt64>? = nil
    ) async throws -> AssetDownload {
        let request = DownloadAssetRequest(
            try recordID(record),
            field: field,
            element: element,
            changeTag: record.readVersion,
            range: range
        )
        return try await service.downloadAsset(request, as: caller)
    }
}
