// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLock
package import TidemarkLog

/// The blobs of a store: files named by the SHA-256 of their bytes, in a folder for each database
/// (Docs/formats/assets.md).
///
/// A file gets its blob's name only once it is complete and durable. So after any crash a blob is
/// either complete or missing. Calls block on disk I/O. Safe to use from several threads; only one
/// process at a time may write.
package final class BlobStore: Sendable {
    private let store: StoreFolder
    private let fileSystem: any FileSystem

    private struct State {
        /// True once this process has created the folders and removed the leftovers of earlier
        /// processes.
        var isPrepared = false
        /// True once the store is closed: another owner may use the same names.
        var isClosed = false
        /// Databases whose folder was synced by this process.
        var syncedFolders: Set<BlobHolder> = []
        /// Blobs that have their name, which a crash could still take away.
        var namedOnly: Set<HeldBlob> = []
        /// The number of files created in `incoming`, which makes their names unique.
        var incomingCount: UInt64 = 0
        /// Blobs that were read to their end and are as they should be, each with its file's length
        /// and time then.
        var sound: [HeldBlob: FileStatus] = [:]
    }

    /// Held also over calls to the file system that have to be one step: preparing, once, and giving
    /// or taking a name.
    private let state = Lock(State())
    /// The maximum number of databases or blobs to remember; beyond it, all are forgotten.
    private static let rememberedCount = 10_000

    /// Creates the blob store of a folder, without any I/O.
    package init(_ store: StoreFolder, _ fileSystem: any FileSystem) {
        self.store = store
        self.fileSystem = fileSystem
    }

    /// The folder of all blobs.
    package var folder: String { store.assets }

    /// Returns true if an upload has ever begun.
    func exist() throws(FileError) -> Bool { try fileSystem.exists(folder) }

    private var incoming: String { folder + "/incoming" }

    private func path(of holder: BlobHolder) -> String { "\(folder)/\(holder.folderName)" }

    /// Returns the path of a blob.
    package func path(of blob: HeldBlob) -> String { "\(folder)/\(blob)" }
}

// MARK: - Writing

extension BlobStore {
    /// Begins the upload of a blob of at most `limit` bytes.
    ///
    /// The first upload in a process removes the uploads that earlier processes did not finish.
    package func upload(to holder: BlobHolder, limit: UInt64) throws(BlobError) -> BlobUpload {
        do throws(FileError) {
            try prepareOnce()
            let number = state.withLock { state in
                state.incomingCount += 1
                return state.incomingCount
            }
            let file = try fileSystem.open("\(incoming)/\(number)", .create)
            return BlobUpload(to: self, of: holder, file, limit: limit)
        } catch {
            throw .file(error)
        }
    }

    /// Prepares the folder of uploads and of taken blobs, if this process has not done so before.
    func prepareOnce() throws(FileError) {
        try state.withLock { state throws(FileError) in
            // After the close, the files may be those of the next owner.
            if state.isPrepared || state.isClosed { return }
            try fileSystem.createDirectory(folder)
            try fileSystem.syncDirectory(store.path)
            try fileSystem.createDirectory(incoming)
            // Only one process may write, and this one has uploaded and taken nothing. So all files
            // here are leftovers.
            for name in try fileSystem.list(incoming) {
                try fileSystem.remove("\(incoming)/\(name)")
            }
            state.isPrepared = true
        }
    }

    /// Gives a complete, synced file a blob's name, and makes the name durable.
    ///
    /// A file that has the name already is replaced: it may be damaged, and this one is not. Returns
    /// false if the store was closed meanwhile.
    func adopt(_ file: String, as blob: HeldBlob) throws(FileError) -> Bool {
        let folder = path(of: blob.holder)
        let path = path(of: blob)
        // The folder first: the name of the blob is only as durable as the name of its folder.
        try fileSystem.createDirectory(folder)
        try syncOnce(blob.holder)
        let isAdopted = try state.withLock { state throws(FileError) in
            if state.isClosed { return false }
            // A new name is not durable before the folder is synced. Until then `durableStatus`
            // hides the blob, so that no durable commit names a blob that a crash removes.
            let isNew = try fileSystem.status(of: path) == nil
            state.sound[blob] = nil
            if isNew { state.namedOnly.insert(blob) }
            try fileSystem.rename(file, to: path)
            return true
        }
        guard isAdopted else { return false }
        try fileSystem.syncDirectory(folder)
        state.withLock { _ = $0.namedOnly.remove(blob) }
        return true
    }

    /// Syncs a database's folder and its name, unless this process has done so before: a process
    /// that was killed may have left names there that are not durable.
    private func syncOnce(_ holder: BlobHolder) throws(FileError) {
        if state.withLock({ $0.syncedFolders.contains(holder) }) { return }
        try fileSystem.syncDirectory(folder)
        try fileSystem.syncDirectory(path(of: holder))
        state.withLock { state in
            if state.syncedFolders.count >= Self.rememberedCount { state.syncedFolders = [] }
            state.syncedFolders.insert(holder)
        }
    }

    /// Removes the file of an upload that does not finish.
    func discard(_ path: String) {
        // If this fails, the next process removes it. After the close, the path may be that of an
        // upload of the next owner.
        state.withLock { if !$0.isClosed { try? fileSystem.remove(path) } }
    }

    /// Ends the uploads that are running: none of them gets a name any more.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// Links blobs of another store under the same names here; returns those that the file system
    /// cannot link.
    ///
    /// The bytes are not checked. Use it only for the folder of a store that is being created.
    func share(
        _ blobs: [BlobID],
        of holder: BlobHolder,
        from other: BlobStore
    ) throws(FileError) -> [BlobID] {
        try fileSystem.createDirectory(folder)
        try fileSystem.createDirectory(path(of: holder))
        var others: [BlobID] = []
        for blob in blobs.map({ HeldBlob($0, of: holder) }) {
            do throws(FileError) {
                if try !fileSystem.linkIfPossible(other.path(of: blob), to: path(of: blob)) {
                    others.append(blob.blob)
                }
            } catch {
                // Linked before by an attempt that was cut off, or collected meanwhile.
                guard error.isAlreadyThere || error.isMissing else { throw error }
            }
        }
        try fileSystem.syncDirectory(path(of: holder))
        try fileSystem.syncDirectory(folder)
        try fileSystem.syncDirectory(store.path)
        return others
    }

    /// Removes a blob's name unless the blob was written after a time; returns true if the name was
    /// removed.
    ///
    /// Excludes an upload of the same blob. ``finishTaking(_:)`` removes the bytes. The caller has called
    /// ``prepareOnce()``.
    func take(_ blob: HeldBlob, writtenBefore time: Int64) throws(FileError) -> Bool {
        try state.withLock { state throws(FileError) in
            // Looked up again, under the lock: an upload of the same bytes may have replaced the
            // file since it was listed.
            guard let status = try fileSystem.status(of: path(of: blob)), status.modified < time
            else { return false }
            if state.isClosed { return false }
            state.incomingCount += 1
            state.sound[blob] = nil
            // The bytes stay in `incoming` until `finishTaking`. If the process stops before that,
            // `prepareOnce` of the next one removes them.
            try fileSystem.rename(
                path(of: blob),
                to: "\(incoming)/\(Self.takenPrefix)\(state.incomingCount)"
            )
            return true
        }
    }

    /// Removes the bytes of taken blobs, and makes the removal durable.
    func finishTaking(_ blobs: [HeldBlob]) throws(FileError) {
        if blobs.isEmpty { return }
        for name in try fileSystem.list(incoming) where name.hasPrefix(Self.takenPrefix) {
            do throws(FileError) {
                try fileSystem.remove("\(incoming)/\(name)")
            } catch {
                // Another collection may have been faster.
                guard error.isMissing else { throw error }
            }
        }
        for holder in Set(blobs.map(\.holder)) { try fileSystem.syncDirectory(path(of: holder)) }
    }

    private static let takenPrefix = "taken-"
}

// MARK: - Reading

extension BlobStore {
    /// Returns the status of a blob's file; `nil` if the file does not exist.
    ///
    /// The status does not show if the bytes are correct; reading them does.
    package func status(of blob: HeldBlob) throws(FileError) -> FileStatus? {
        try fileSystem.status(of: path(of: blob))
    }

    /// Returns the status of a blob that a commit may name, once no crash can remove the blob; only
    /// for writers.
    func durableStatus(of blob: HeldBlob) throws(BlobError) -> FileStatus? {
        do throws(FileError) {
            guard let status = try status(of: blob) else { return nil }
            try syncOnce(blob.holder)
            return state.withLock { $0.namedOnly.contains(blob) } ? nil : status
        } catch {
            throw .file(error)
        }
    }

    /// Opens a blob for reading.
    package func open(_ blob: HeldBlob) throws(BlobError) -> BlobReader {
        let path = path(of: blob)
        do throws(FileError) {
            let file = try fileSystem.open(path, .read)
            return BlobReader(blob.blob, file, byteCount: try file.byteCount())
        } catch {
            throw error.isMissing ? .missing(blob.blob) : .file(error)
        }
    }

    /// Reads a blob to its end and compares its checksum; throws the errors of
    /// ``BlobReader/next(upTo:)``.
    package func verify(_ blob: HeldBlob) throws(BlobError) {
        try open(blob).readToEnd()
    }

    /// The same, unless this process has done so before and the file's length and time have not
    /// changed since.
    package func verifyOnce(_ blob: HeldBlob) throws(BlobError) {
        // The status is read before the bytes. If the file is replaced during the check, the
        // remembered status does not match the new file.
        let status: FileStatus?
        do throws(FileError) {
            status = try self.status(of: blob)
        } catch {
            throw .file(error)
        }
        guard let status else { throw .missing(blob.blob) }
        if state.withLock({ $0.sound[blob] }) == status { return }
        try verify(blob)
        state.withLock { state in
            if state.sound.count >= Self.rememberedCount { state.sound = [:] }
            state.sound[blob] = status
        }
    }

    /// The databases that have a folder, in the order of the folders' names.
    package func holders() throws(FileError) -> [BlobHolder] {
        guard try fileSystem.exists(folder) else { return [] }
        return try fileSystem.list(folder).compactMap { BlobHolder(folderName: $0) }
    }

    /// The blobs of a database, in the order of their checksums.
    package func blobs(of holder: BlobHolder) throws(FileError) -> [BlobID] {
        let folder = path(of: holder)
        guard try fileSystem.exists(folder) else { return [] }
        return try fileSystem.list(folder).compactMap { BlobID(hexadecimal: $0) }
    }
}
