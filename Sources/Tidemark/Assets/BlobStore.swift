// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// The blobs of a store: files named by the SHA-256 of their bytes (Docs/formats/assets.md).
///
/// What is under a blob's name was complete and durable before it got the name, so a blob is there
/// whole or not at all, whatever crashed. Calls block while the disk works. Safe to use from several
/// threads; only ``remove(_:)`` must not meet an upload of the same blob, which the engine sees to.
package final class BlobStore: Sendable {
    /// The folder: the store's `assets`.
    package let folder: String
    private let fileSystem: any FileSystem

    /// What is known about the folders inside.
    private struct State {
        /// Whether each of the 256 folders is durable as a name.
        var isDurable: [Bool]
        /// Counts uploads, for names that no two of them share.
        var uploadCount: UInt64 = 0
    }

    private let state: Lock<State>

    /// Opens a store's blobs for reading and writing, and makes the folder if it is missing.
    ///
    /// Whatever an upload left behind that did not come to its end is removed: there must be one
    /// writer.
    package init(folder: String, in parent: String, fileSystem: any FileSystem) throws(FileError) {
        self.folder = folder
        self.fileSystem = fileSystem
        try fileSystem.createDirectory(folder)
        try fileSystem.createDirectory(folder + "/incoming")
        var isDurable = Array(repeating: false, count: 256)
        for name in try fileSystem.list(folder) {
            if let byte = Self.folderByte(name) { isDurable[Int(byte)] = true }
        }
        for name in try fileSystem.list(folder + "/incoming") {
            try fileSystem.remove(folder + "/incoming/" + name)
        }
        // A process that ended early may have made folders that are not durable yet.
        try fileSystem.syncDirectory(folder)
        try fileSystem.syncDirectory(parent)
        state = Lock(State(isDurable: isDurable))
    }

    /// Opens a store's blobs for reading alone: nothing is made, and uploads are a programming error.
    package init(reading folder: String, fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
        state = Lock(State(isDurable: Array(repeating: false, count: 256)))
    }

    /// Where a blob is.
    package func path(of blob: BlobID) -> String {
        let name = blob.description
        return "\(folder)/\(name.prefix(2))/\(name.dropFirst(2))"
    }

    /// Whether there is a file of the blob's name.
    ///
    /// Whether its bytes are right is known when they are read.
    package func holds(_ blob: BlobID) throws(FileError) -> Bool {
        try fileSystem.exists(path(of: blob))
    }

    /// Begins to take in a blob of at most so many bytes.
    package func upload(limit: UInt64) throws(FileError) -> BlobUpload {
        let number = state.withLock { state in
            state.uploadCount += 1
            return state.uploadCount
        }
        let path = "\(folder)/incoming/\(number)"
        return BlobUpload(to: self, try fileSystem.open(path, .create), limit: limit)
    }

    /// Opens a blob for reading.
    package func open(_ blob: BlobID) throws(BlobError) -> BlobReader {
        let path = path(of: blob)
        do throws(FileError) {
            let file = try fileSystem.open(path, .read)
            return BlobReader(blob, file, byteCount: try file.byteCount())
        } catch {
            throw error.isMissing ? .missing(blob) : .file(error)
        }
    }

    /// Reads a blob to its end and compares its checksum: throws what ``BlobReader/next(into:)``
    /// would.
    package func verify(_ blob: BlobID) throws(BlobError) {
        var reader = try open(blob)
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while try reader.next(into: &buffer) > 0 {}
    }

    /// Removes blobs for good; those that are not there are passed over.
    ///
    /// Each folder is synced once.
    package func remove(_ blobs: [BlobID]) throws(FileError) {
        var folders: Set<UInt8> = []
        for blob in blobs {
            do throws(FileError) {
                try fileSystem.remove(path(of: blob))
                folders.insert(blob.firstByte)
            } catch {
                guard error.isMissing else { throw error }
            }
        }
        for byte in folders.sorted() { try fileSystem.syncDirectory(folderPath(byte)) }
    }

    /// The blobs in one of the 256 folders, by their first byte, in the order of their names; other
    /// files there have no business and are left out.
    package func blobs(beginningWith byte: UInt8) throws(FileError) -> [BlobID] {
        let path = folderPath(byte)
        guard try fileSystem.exists(path) else { return [] }
        let prefix = Self.folderName(byte)
        return try fileSystem.list(path).compactMap { BlobID(hexadecimal: prefix + $0) }
    }

    /// Gives a complete, synced file a blob's name, and makes the name durable.
    ///
    /// A file that has the name already is replaced: it may be damaged, and this one is not.
    func adopt(_ path: String, as blob: BlobID) throws(FileError) {
        let byte = blob.firstByte
        if !state.withLock({ $0.isDurable[Int(byte)] }) {
            try fileSystem.createDirectory(folderPath(byte))
            try fileSystem.syncDirectory(folder)
            state.withLock { $0.isDurable[Int(byte)] = true }
        }
        try fileSystem.rename(path, to: self.path(of: blob))
        try fileSystem.syncDirectory(folderPath(byte))
    }

    /// Removes what an upload leaves behind that does not come to its end.
    func discard(_ path: String) {
        // If this fails, the next opening removes it.
        try? fileSystem.remove(path)
    }

    private func folderPath(_ byte: UInt8) -> String { "\(folder)/\(Self.folderName(byte))" }

    private static func folderName(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private static func folderByte(_ name: String) -> UInt8? {
        guard let byte = UInt8(name, radix: 16), folderName(byte) == name else { return nil }
        return byte
    }
}
