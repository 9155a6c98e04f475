// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The results of uploading assets before the records that name them are saved.
struct SentAssets {
    /// The errors of assets that could not be uploaded, by their record.
    ///
    /// The records are still saved, with assets that the service cannot have. The service then
    /// refuses them, and decides the effect on the other records.
    private(set) var failures: [CKRecord.ID: CKError] = [:]

    /// Assets that have a name for now which nothing is known by.
    private var missing: [CKAsset] = []

    /// Bytes of one piece of a file.
    private static let pieceByteCount = 256 << 10

    /// Uploads the files of a record's assets that the database does not have, and reports the
    /// progress.
    ///
    /// An asset of a record of another database already has a reference, and must be uploaded
    /// again.
    mutating func send(
        of record: CKRecord,
        _ policy: SavePolicy,
        _ session: Session,
        _ progress: (Double) -> Void
    ) async throws(CKError) {
        let assets = record.assets(toSaveUnder: policy).map(\.asset)
        // The zone determines the database that gets the bytes. In a shared database it is the
        // owner's (Docs/semantics.md, "Assets").
        let zone = record.recordID.zoneID.model
        let unsent = assets.filter { $0.model == nil } + (await strangers(assets, zone, session))
        for (index, asset) in unsent.enumerated() {
            do throws(CKError) {
                try await send(asset, in: zone, session)
                // The last part is the save; `deliver` reports it as 1.
                progress(Double(index + 1) / Double(unsent.count + 1))
            } catch {
                // Any other error is about the connection or the database, and the next asset would
                // meet it too.
                guard Self.isOfFile(error) else { throw error }
                // Without the file, the service decides if the reference is valid.
                if asset.model != nil { continue }
                failures[record.recordID] = error
                // The service rejects the record for this reference with `assetFileNotFound`, and
                // treats the rest of the batch by its own rules. A save without the field would
                // clear it instead.
                asset.wasSent(as: AssetReference(checksum: Self.unknown(), byteCount: 0))
                missing.append(asset)
            }
        }
    }

    /// Removes the references of assets that could not be uploaded, so that a later save uploads
    /// them.
    mutating func forgetMissing() {
        for asset in missing { asset.wasNotSent() }
        missing = []
    }

    /// Returns the assets with a reference and a file whose bytes the database lacks or denies to
    /// the caller.
    private func strangers(
        _ assets: [CKAsset],
        _ zone: ZoneID,
        _ session: Session
    ) async -> [CKAsset] {
        let named = assets.filter { $0.model != nil && $0.fileURL != nil }
        if named.isEmpty { return [] }
        let request = HeldAssetsRequest(named.compactMap(\.model), zone: zone)
        // The save reports any error.
        let held = try? await session.call { (service, caller) async throws(SyncError) in
            try await service.heldAssets(request, as: caller)
        }
        return zip(named, held ?? []).filter { !$0.1 }.map(\.0)
    }

    private func send(
        _ asset: CKAsset,
        in zone: ZoneID,
        _ session: Session
    ) async throws(CKError) {
        guard let url = asset.fileURL else { return }
        do {
            try FileHandle(forReadingFrom: url).close()
        } catch {
            let isThere = FileManager.default.fileExists(atPath: url.path)
            throw CKError(
                .assetFileNotFound,
                "The asset's file \(url.path) "
                    + (isThere ? "cannot be read: \(error)." : "does not exist.")
            )
        }
        // A file that is written during the upload could give an asset with parts of both versions.
        // The service cannot detect that: it computes the checksum from the bytes it receives.
        let before = FileStamp(of: url)
        // An upload needs no request id: bytes are stored under their checksum, so a repeated
        // upload changes nothing.
        let reference = try await session.transfer {
            (service, caller, pulse) async throws(SyncError) in
            try await service.uploadAsset(
                FilePieces(url: url, byteCount: Self.pieceByteCount, pulse: pulse),
                UploadAssetRequest(zone: zone),
                as: caller
            )
        }
        guard FileStamp(of: url) == before else {
            throw CKError(
                .assetFileModified,
                "The asset's file \(url.path) changed while it was being sent."
            )
        }
        asset.wasSent(as: reference)
    }

    private static func isOfFile(_ error: CKError) -> Bool {
        // `limitExceeded` is about the size of this file (`Limits.bytesPerAsset`).
        [.assetFileNotFound, .assetFileModified, .limitExceeded].contains(error.code)
    }

    /// Returns a checksum that no bytes have.
    private static func unknown() -> [UInt8] {
        // As long as a SHA-256. That any bytes have a random checksum is as unlikely as a
        // collision.
        (0..<32).map { _ in UInt8.random(in: 0...255) }
    }
}

/// The attributes by which a changed or replaced file is detected.
private struct FileStamp: Equatable {
    private let byteCount: UInt64?
    private let modificationDate: Date?
    private let number: UInt64?

    init(of url: URL) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
        byteCount = attributes?[.size] as? UInt64
        modificationDate = attributes?[.modificationDate] as? Date
        number = attributes?[.systemFileNumber] as? UInt64
    }
}

/// A file's bytes, piece by piece; each iteration begins at the start of the file.
struct FilePieces: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    let url: URL
    let byteCount: Int
    /// Beats with each piece.
    var pulse: Pulse?

    struct AsyncIterator: AsyncIteratorProtocol {
        let url: URL
        let byteCount: Int
        let pulse: Pulse?
        /// Opened by the first piece, and closed with the iterator.
        ///
        /// After a timeout, the first attempt may still read while the second one does. With one
        /// handle and its one offset, each would get some of the other's pieces.
        private var file: FileHandle?

        fileprivate init(_ pieces: FilePieces) {
            url = pieces.url
            byteCount = pieces.byteCount
            pulse = pieces.pulse
        }

        mutating func next() async throws -> [UInt8]? {
            pulse?.beat()
            let file = try opened()
            do {
                guard let piece = try file.read(upToCount: byteCount), !piece.isEmpty else {
                    return nil
                }
                return Array(piece)
            } catch {
                // A failure of the file, and not of the connection: a repetition meets it again.
                throw SyncError(
                    .assetFileNotFound,
                    "The asset's file \(url.path) cannot be read: \(error)."
                )
            }
        }

        private mutating func opened() throws(SyncError) -> FileHandle {
            if let file { return file }
            do {
                let opened = try FileHandle(forReadingFrom: url)
                file = opened
                return opened
            } catch {
                throw SyncError(
                    .assetFileNotFound,
                    "The asset's file \(url.path) was removed while it was being sent."
                )
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
