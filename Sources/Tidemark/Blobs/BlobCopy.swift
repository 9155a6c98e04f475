// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog

/// The result of copying the blobs of one store.
package struct BlobCopy: Sendable {
    /// Blobs that are in the copy.
    package private(set) var count = 0
    /// The number of blobs in the copy that were added now.
    package private(set) var copiedCount = 0
    /// The number of blobs that share one file with the source.
    package private(set) var sharedCount = 0
    /// The blobs that are not copied because they are unreadable or damaged.
    package private(set) var damage: [LogError] = []
    /// The lengths of the source's blobs, read when the first file with holes is met.
    private var lengths: BlobLengths?

    /// Creates an empty result: nothing was copied.
    init() {}

    /// Copies all sound blobs of a store into another store's folder, skipping those that exist
    /// there with the same length.
    ///
    /// Uses links where possible; the bytes of linked blobs are not checked.
    ///
    /// Throws if the destination cannot be written.
    init(
        from source: StoreFolder,
        to destination: StoreFolder,
        _ fileSystem: any FileSystem,
        by means: LogBackup.Means = .copies
    ) throws(LogError) {
        let log = source
        let source = BlobStore(log, fileSystem)
        let copies = BlobStore(destination, fileSystem)
        var blobs: [HeldBlob] = []
        do throws(FileError) {
            for holder in try source.holders() {
                blobs += try source.blobs(of: holder).map { HeldBlob($0, of: holder) }
            }
        } catch {
            damage.append(LogError(BlobError.file(error), source.folder))
        }
        if means == .links { blobs = try share(blobs, source, copies) }
        for blob in blobs {
            try bring(blob, source, copies) { BlobLengths(of: log, fileSystem) }
        }
        lengths = nil
    }

    /// Gives blobs a second name in the copy, and returns those that have to be copied.
    private mutating func share(
        _ blobs: [HeldBlob],
        _ source: BlobStore,
        _ copies: BlobStore
    ) throws(LogError) -> [HeldBlob] {
        var others: [HeldBlob] = []
        for (holder, held) in Dictionary(grouping: blobs, by: \.holder) {
            do throws(FileError) {
                let unshared = try copies.share(held.map(\.blob), of: holder, from: source)
                others += unshared.map { HeldBlob($0, of: holder) }
                sharedCount += held.count - unshared.count
            } catch {
                throw LogError(BlobError.file(error), copies.folder)
            }
        }
        count = sharedCount
        return others
    }

    private mutating func bring(
        _ blob: HeldBlob,
        _ source: BlobStore,
        _ copies: BlobStore,
        readLengths: () -> BlobLengths
    ) throws(LogError) {
        do throws(BlobError) {
            if try Self.isThere(blob, source, copies) {
                count += 1
                return
            }
            // The source is read to its end first. So damage of the source is a finding, and a
            // later error is one of the destination and ends the copy.
            let reader = try source.open(blob)
            try reader.checkLength { byteCount in
                let known = lengths ?? readLengths()
                lengths = known
                return known.allow(byteCount, of: blob)
            }
            try reader.readToEnd()
        } catch .missing {
            // A store that is in use has collected it meanwhile.
            return
        } catch {
            damage.append(LogError(error, source.path(of: blob)))
            return
        }
        do throws(BlobError) {
            try Self.copy(blob, from: source, to: copies)
        } catch .missing {
            // The same, since it was read.
            return
        } catch {
            throw LogError(error, copies.path(of: blob))
        }
        count += 1
        copiedCount += 1
    }

    /// Returns true if the copy already has a blob, durably enough to survive a crash.
    private static func isThere(
        _ blob: HeldBlob,
        _ source: BlobStore,
        _ copies: BlobStore
    ) throws(BlobError) -> Bool {
        guard let status = try? source.status(of: blob),
            let copy = try? copies.status(of: blob), copy.byteCount == status.byteCount
        else { return false }
        return try copies.durableStatus(of: blob) != nil
    }

    private static func copy(
        _ blob: HeldBlob,
        from source: BlobStore,
        to copies: BlobStore
    ) throws(BlobError) {
        let reader = try source.open(blob)
        let upload = try copies.upload(to: blob.holder, limit: .max)
        while true {
            let piece = try reader.next(upTo: BlobReader.pieceByteCount)
            if piece.isEmpty { break }
            try upload.append(piece)
        }
        _ = try upload.finish(announced: blob.blob)
    }
}

extension LogError {
    /// A blob that could not be copied.
    fileprivate init(_ error: BlobError, _ path: String) {
        switch error {
        case .file(let cause):
            self.init(
                cause.isOutOfSpace ? .full : .unreadable,
                error.description,
                path: path,
                cause: cause
            )
        default:
            self.init(.corrupted, error.description, path: path)
        }
    }
}
