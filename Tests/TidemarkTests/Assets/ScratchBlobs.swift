// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

@testable import Tidemark

/// The blobs of a store on some file system, and what tests do with them.
struct ScratchBlobs {
    static let folder = "/store/assets"

    let disk: SimulatedFileSystem
    let store: BlobStore

    /// Opens what is on a disk, or makes it on a new one.
    init(_ disk: SimulatedFileSystem = SimulatedFileSystem()) throws {
        try disk.createDirectory("/store")
        try disk.syncDirectory("/")
        self.disk = disk
        store = try BlobStore(folder: Self.folder, in: "/store", fileSystem: disk)
    }

    /// Takes bytes in, a few at a time.
    @discardableResult
    func put(_ bytes: [UInt8], pieces: Int = 2, announced: BlobID? = nil) throws -> BlobID {
        var upload = try store.upload(limit: 1 << 20)
        let size = max(1, (bytes.count + pieces - 1) / pieces)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let end = min(start + size, bytes.count)
            try upload.append(bytes.span.bytes.extracting(start..<end))
        }
        let stored = try upload.finish(announced: announced)
        precondition(stored.byteCount == UInt64(bytes.count))
        return stored.blob
    }

    /// All bytes of a blob, some at a time.
    func get(_ blob: BlobID, bufferByteCount: Int = 7) throws -> [UInt8] {
        var reader = try store.open(blob)
        var buffer = [UInt8](repeating: 0, count: bufferByteCount)
        var bytes: [UInt8] = []
        while true {
            let count = try reader.next(into: &buffer)
            if count == 0 { return bytes }
            bytes += buffer.prefix(count)
        }
    }

    /// Every blob there is.
    func all() throws -> [BlobID] {
        try (UInt8.min...UInt8.max).flatMap { try store.blobs(beginningWith: $0) }
    }
}
