// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The files of a store, other than the log, that an erasure removes, and the file that marks a
/// pending erasure.
struct ErasureFiles {
    private let folder: StoreFolder
    private let environment: StoreEnvironment
    private let blobs: BlobStore

    private var fileSystem: any FileSystem { environment.log.fileSystem }

    init(_ folder: StoreFolder, _ environment: StoreEnvironment) {
        self.folder = folder
        self.environment = environment
        blobs = BlobStore(folder, environment.log.fileSystem)
    }

    // MARK: Under way

    /// Returns the subject of a pending erasure of the store; `nil` if there is none.
    func pending() throws(LogError) -> ErasureSubject? {
        let bytes = try LogError.wrapping { () throws(FileError) -> [UInt8]? in
            guard try fileSystem.exists(folder.erasing) else { return nil }
            return try fileSystem.contents(of: folder.erasing)
        }
        guard let bytes else { return nil }
        if let version = ErasureSubject.newerVersion(of: bytes) {
            throw LogError(
                .newerVersion,
                "The file says in version \(version) what is being erased; this program reads version "
                    + "\(ErasureSubject.version). Use a newer version of Tidemark.",
                path: folder.erasing
            )
        }
        guard let subject = ErasureSubject(bytes: bytes) else {
            throw LogError(
                .corrupted,
                "The file does not say what is being erased. Remove it, and erase once more.",
                path: folder.erasing
            )
        }
        return subject
    }

    /// Refuses a store that is to be copied while something is being erased: the copy would have it.
    func checkNothingIsPending() throws(LogError) {
        guard try pending() != nil else { return }
        throw LogError(
            .locked,
            "An erasure of this store was interrupted, so a copy would still hold the erased data. "
                + "Open the store for writing or erase again, which completes the erasure, then "
                + "repeat this.",
            path: folder.erasing
        )
    }

    /// Makes it durable that something is being erased, from here on whatever happens.
    ///
    /// If it throws, the store is as before, unless the machine stops before the directory is synced.
    func begin(_ subject: ErasureSubject) throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            if try fileSystem.exists(folder.nextErasing) {
                try fileSystem.remove(folder.nextErasing)
            }
            let wasPending = try fileSystem.exists(folder.erasing)
            // The name ERASING is given only to a complete, synced file. A partial one would make
            // `pending` fail, and with it every open for writing.
            let file = try fileSystem.open(folder.nextErasing, .create)
            defer { file.close() }
            // In this order: the bytes, their sync, the name, the folder's sync. After a crash the
            // name leads to the whole file or does not exist.
            try file.write(subject.bytes.span.bytes, at: 0)
            try file.sync()
            try fileSystem.rename(folder.nextErasing, to: folder.erasing)
            do throws(FileError) {
                try fileSystem.syncDirectory(folder.path)
            } catch {
                // The caller reports a failure, so the next open must not complete the erasure. One
                // that was pending before stays pending.
                if !wasPending { try? fileSystem.remove(folder.erasing) }
                throw error
            }
        }
    }

    /// Marks the erasure as done.
    func end() throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.remove(folder.erasing)
            try fileSystem.syncDirectory(folder.path)
        }
    }

    // MARK: Assets

    /// All that the databases of a user hold, whether or not a record names it.
    func blobs(of traces: ErasureTraces) throws(LogError) -> Set<HeldBlob> {
        guard traces.subject.user != nil else { return [] }
        let own = traces.users.flatMap { user in
            traces.homes.map { $0.sibling(.private, of: user) }
        }
        return try LogError.wrapping { () throws(FileError) in
            var found: Set<HeldBlob> = []
            for holder in Set((own + traces.databases).map { BlobHolder($0) }) {
                for blob in try blobs.blobs(of: holder) { found.insert(HeldBlob(blob, of: holder)) }
            }
            return found
        }
    }

    /// Counts those assets that are there.
    func count(_ lost: Set<HeldBlob>, in receipt: inout ErasureReceipt) throws(LogError) {
        receipt.assets = ErasureReceipt.Files()
        receipt.sharedAssetCount = 0
        for blob in lost {
            // A blob may be gone already: an interrupted erasure runs again from its beginning.
            try LogError.wrapping { () throws(FileError) in
                guard let status = try blobs.status(of: blob) else { return }
                receipt.assets.add(status.byteCount)
                let linkCount = try fileSystem.linkCount(of: blobs.path(of: blob))
                if linkCount > 1 { receipt.sharedAssetCount += 1 }
            }
        }
    }

    /// Removes assets and interrupted uploads immediately.
    func remove(_ lost: Set<HeldBlob>) throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            // An unfinished upload has no checksum yet, so it could belong to the subject. Clients
            // can upload again.
            try removeFiles(in: folder.assets + "/incoming")
            var folders: Set<String> = []
            for blob in lost.sorted(by: { $0.description < $1.description }) {
                let path = blobs.path(of: blob)
                guard try fileSystem.exists(path) else { continue }
                try fileSystem.remove(path)
                folders.insert(folder.assets + "/" + blob.holder.folderName)
            }
            // One sync per folder makes all its removals durable. It comes before the log is
            // replaced, after which nothing names the files.
            for folder in folders.sorted() { try fileSystem.syncDirectory(folder) }
        }
    }

    // MARK: Caches

    private var cacheFolders: (views: [String], queries: [String]) {
        (
            [folder.views, folder.views + "/renewed"],
            [folder.queries] + (environment.queryFolder.map { [$0] } ?? [])
        )
    }

    /// Counts the files of zone views and query indexes.
    func countCaches(in receipt: inout ErasureReceipt) throws(LogError) {
        let folders = cacheFolders
        receipt.views = try figures(of: folders.views)
        receipt.queries = try figures(of: folders.queries)
    }

    private func figures(of folders: [String]) throws(LogError) -> ErasureReceipt.Files {
        try LogError.wrapping { () throws(FileError) in
            var files = ErasureReceipt.Files()
            for folder in folders where try fileSystem.exists(folder) {
                for name in try fileSystem.list(folder) where name != "renewed" {
                    files.add(try fileSystem.status(of: folder + "/" + name)?.byteCount ?? 0)
                }
            }
            return files
        }
    }

    /// Removes zone views and query indexes.
    func removeCaches() throws(LogError) {
        do throws(ViewIndexError) {
            // First the index by its own rule, which removes the checks before the data. The loop
            // below removes all other files.
            try environment.removeIndex(folder.views)
        } catch {
            // A store that was restored or forked has none before its first opening for writing.
            let isThere = try LogError.wrapping { () throws(FileError) in
                try fileSystem.exists(folder.views)
            }
            guard !isThere else {
                throw LogError(.unreadable, error.message)
            }
        }
        let folders = cacheFolders
        try LogError.wrapping { () throws(FileError) in
            for folder in folders.views.reversed() + folders.queries {
                try removeFiles(in: folder)
            }
        }
    }

    private func removeFiles(in path: String) throws(FileError) {
        guard try fileSystem.exists(path) else { return }
        // `renewed` is a folder inside the views' folder. `cacheFolders` lists it separately.
        for name in try fileSystem.list(path) where name != "renewed" {
            try fileSystem.remove(path + "/" + name)
        }
        try fileSystem.syncDirectory(path)
    }

    // MARK: Segments

    /// Counts segments, those that have another name, and their dictionaries.
    func countSegments(
        _ loads: [SegmentLoad],
        of store: StoreID,
        in receipt: inout ErasureReceipt
    ) throws(LogError) {
        for load in loads {
            // Not the length of the file: a segment that takes events has a longer one.
            receipt.segments.add(load.byteCount)
            try LogError.wrapping { () throws(FileError) in
                if try fileSystem.linkCount(of: folder.segment(load.id)) > 1 {
                    receipt.sharedSegmentCount += 1
                }
            }
            if try folder.hasDictionary(load.id, of: store, fileSystem) {
                receipt.dictionaryCount += 1
            }
        }
    }
}
