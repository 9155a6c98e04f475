// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// The blobs of a store on some file system, and what tests do with them.
struct ScratchBlobs {
    static let holder = BlobHolder(.standard)
    /// The folder of the blobs that tests put without saying whose they are.
    static let folder = "/store/assets/\(holder.folderName)"

    let disk: SimulatedFileSystem
    let store: BlobStore

    /// Opens what is on a disk, or makes it on a new one.
    init(_ disk: SimulatedFileSystem = SimulatedFileSystem()) throws {
        try disk.createDirectory("/store")
        try disk.syncDirectory("/")
        self.disk = disk
        store = BlobStore(StoreFolder("/store"), disk)
    }

    /// A blob of the database that tests use.
    func held(_ blob: BlobID) -> HeldBlob { HeldBlob(blob, of: Self.holder) }

    /// Takes bytes in, a few at a time.
    @discardableResult
    func put(
        _ bytes: [UInt8],
        pieces: Int = 2,
        announced: BlobID? = nil,
        to holder: BlobHolder = holder
    ) throws -> BlobID {
        let upload = try store.upload(to: holder, limit: 1 << 20)
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try upload.append(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        let blob = try upload.finish(announced: announced)
        precondition(upload.byteCount == UInt64(bytes.count))
        return blob
    }

    /// All bytes of a blob, some at a time.
    func get(_ blob: BlobID, pieceByteCount: Int = 7) throws -> [UInt8] {
        let reader = try store.open(held(blob))
        var bytes: [UInt8] = []
        while true {
            let piece = try reader.next(upTo: pieceByteCount)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }

    /// Every blob there is.
    func all() throws -> [HeldBlob] {
        try store.holders().flatMap { holder in
            try store.blobs(of: holder).map { HeldBlob($0, of: holder) }
        }
    }
}
