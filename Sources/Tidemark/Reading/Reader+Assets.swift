// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkRules

// MARK: - Sending

extension Reader {
    /// The database that keeps the assets of a zone's records, and whether the caller may save any
    /// there.
    func database(
        of zone: ZoneID,
        as caller: Caller
    ) throws(SyncError) -> (id: DatabaseID, isWritable: Bool) {
        let picture = try picture(.visible)
        var zones = ConsultedZones(shared: try sharedZones(of: caller, picture))
        let index = try zones.index(
            of: zone,
            in: caller.database,
            creating: .implicit,
            picture.facts,
            options.limits
        )
        if let error = zones[index].error { throw error }
        let isWritable = zones.access(of: index)?.mayWriteSomething ?? true
        return (zones[index].identity.database, isWritable)
    }
}

// MARK: - Fetching

extension Reader {
    /// See ``Store/downloadAsset(_:as:)``, and as of a position ``Store/downloadAsset(_:as:asOf:)``.
    ///
    /// Fetching the record performs all checks of read permission.
    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller,
        asOf position: SequenceNumber? = nil
    ) throws(SyncError) -> AssetDownload {
        let fetch = FetchRecordsRequest([request.recordID])
        var record = try fetchRecords(fetch, as: caller, asOf: position)[0].get()
        if let tag = request.changeTag, tag != record.changeTag {
            record = try version(tag, before: record, as: caller)
        }
        return try download(try asset(request, in: record), of: record, request, as: caller)
    }

    /// The asset of a record that a request is about.
    func asset(
        _ request: DownloadAssetRequest,
        in record: Record
    ) throws(SyncError) -> AssetReference {
        let assets: [AssetReference] =
            switch record[request.fieldName] {
            case .asset(let asset): [asset]
            case .assetList(let list): list
            default: []
            }
        guard assets.indices.contains(request.element) else {
            throw .noAsset(request.recordID, field: request.fieldName, element: request.element)
        }
        return assets[request.element]
    }

    /// Takes note that a caller has had the bytes of an asset.
    func noteKnown(
        _ asset: AssetReference,
        in database: DatabaseID,
        by caller: Caller
    ) throws(SyncError) {
        let blob = HeldBlob(try asset.blob, of: BlobHolder(database))
        knownAssets.withLock { $0.note(blob, by: caller) }
    }

    /// The bytes that a request wants of an asset which the caller may read.
    func download(
        _ asset: AssetReference,
        of record: Record,
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) throws(SyncError) -> AssetDownload {
        let database = try database(of: request.recordID.zone, as: caller).id
        // A caller who may read the record may also name the bytes in other records of the database
        // (semantics.md, "Assets").
        try noteKnown(asset, in: database, by: caller)
        return try openAsset(asset, of: database, range: request.range, changeTag: record.changeTag)
    }

    /// An earlier version of a record that a caller may read as it is now.
    ///
    /// Not in a shared database: the version may be from before the record was shared.
    func version(
        _ tag: RecordChangeTag,
        before record: Record,
        as caller: Caller
    ) throws(SyncError) -> Record {
        guard let held = TagContent(tag) else { throw .tagInvalid(tag, record.recordID) }
        let picture = try picture(.visible)
        guard caller.database.scope != .shared,
            let latest = record.changeTag.flatMap({ TagContent($0) }),
            let old = try picture.facts.ancestor(
                held,
                of: record.recordID.name,
                before: try views.records(at: [latest.sequence])[0],
                line
            )
        else { throw .recordNotFound(record.recordID) }
        // The caller may read the record as it is now. An earlier version may be another user's
        // record of the same name.
        if let error = try access(of: caller, picture)?.refusal(of: .read, on: old.readBody()) {
            throw error
        }
        return try self.record(old, in: record.zone)
    }

    /// See ``Store/openAsset(_:of:range:)``.
    func openAsset(
        _ asset: AssetReference,
        of database: DatabaseID,
        range: Range<UInt64>?,
        changeTag: RecordChangeTag? = nil
    ) throws(SyncError) -> AssetDownload {
        let blob = HeldBlob(try asset.blob, of: BlobHolder(database))
        let reader = try explained { () throws(BlobError) in
            let reader = try blobs.open(blob)
            try reader.checkLength { $0 == asset.byteCount }
            // Before the caller sends a length. The size of an imported asset may be wrong, and its
            // bytes sound.
            if reader.byteCount != asset.byteCount { try blobs.verify(blob) }
            return reader
        }
        let all = 0..<reader.byteCount
        // A read of the whole blob finds damage before it returns the last piece. A part cannot be
        // checked by itself, so `BlobPart` verifies the whole blob first.
        guard let range = range?.clamped(to: all), range != all else {
            return AssetDownload(byteCount: reader.byteCount, range: all, changeTag: changeTag) {
                () async throws(SyncError) in
                let piece = try explained { () throws(BlobError) in
                    try reader.next(upTo: BlobReader.pieceByteCount)
                }
                return piece.isEmpty ? nil : piece
            }
        }
        let part = BlobPart(blob, range, of: blobs, blockingWork)
        return AssetDownload(byteCount: reader.byteCount, range: range, changeTag: changeTag) {
            () async throws(SyncError) in try await part.next(upTo: BlobReader.pieceByteCount)
        }
    }
}

/// A part of a blob, handed out once all of the blob is known to be sound.
private final class BlobPart: Sendable {
    private struct Progress {
        var reader: BlobReader?
        var offset: UInt64
    }

    private let blob: HeldBlob
    private let end: UInt64
    private let blobs: BlobStore
    private let blockingWork: BlockingWork
    private let progress: Lock<Progress>

    init(_ blob: HeldBlob, _ range: Range<UInt64>, of blobs: BlobStore, _ work: BlockingWork) {
        self.blob = blob
        self.blobs = blobs
        blockingWork = work
        end = range.upperBound
        progress = Lock(Progress(offset: range.lowerBound))
    }

    func next(upTo count: Int) async throws(SyncError) -> [UInt8]? {
        let reader = try await openReader()
        // The piece is taken under the lock and read outside of it, so concurrent callers get
        // different pieces.
        let (start, count) = progress.withLock { progress in
            let start = progress.offset
            progress.offset = min(end, start + UInt64(count))
            return (start, Int(progress.offset - start))
        }
        if count == 0 { return nil }
        return try explained { () throws(BlobError) in try reader.read(count, at: start) }
    }

    /// The file, opened after it was found sound: so it is that one, or one that was sent since.
    private func openReader() async throws(SyncError) -> BlobReader {
        if let reader = progress.withLock({ $0.reader }) { return reader }
        let reader = try await blockingWork.run { [blob, blobs] () throws(SyncError) in
            try explained { () throws(BlobError) in
                try blobs.verifyOnce(blob)
                return try blobs.open(blob)
            }
        }
        progress.withLock { $0.reader = reader }
        return reader
    }
}

extension AssetReference {
    /// The blob that it names.
    var blob: BlobID {
        get throws(SyncError) {
            if let blob = BlobID(checksum) { return blob }
            throw SyncError(
                .invalidArguments,
                "An asset's checksum is a SHA-256 of \(BlobID.byteCount) bytes; this one has "
                    + "\(checksum.count)."
            )
        }
    }
}

extension AsyncIteratorProtocol where Element == [UInt8] {
    /// Returns the next piece of an upload; converts transfer failures into errors for callers.
    mutating func nextPiece() async throws(SyncError) -> [UInt8]? {
        do {
            return try await next(isolation: #isolation)
        } catch let error as SyncError {
            throw error
        } catch is CancellationError {
            throw SyncError(.operationCancelled, "The upload was cancelled.")
        } catch {
            throw .uploadBroken("\(error)")
        }
    }
}

/// Blobs' errors as a caller meets them.
func explained<Answer>(_ body: () throws(BlobError) -> Answer) throws(SyncError) -> Answer {
    do throws(BlobError) {
        return try body()
    } catch {
        throw SyncError(error)
    }
}
