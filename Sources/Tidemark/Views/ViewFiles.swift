// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// The files of a view index's folder.
///
/// LMDB opens its own on the machine's file system, so these are read there too and not through a
/// simulated one.
struct ViewFiles {
    let folder: String
    let fileSystem = PosixFileSystem()

    init(_ folder: String) {
        self.folder = folder
    }

    /// LMDB's file: everything there is.
    var data: String { folder + "/data.mdb" }
    /// LMDB's table of readers.
    var lock: String { folder + "/lock.mdb" }

    /// Whether there is an index.
    func exist() throws(ViewIndexError) -> Bool {
        do {
            return try fileSystem.exists(data)
        } catch {
            throw ViewIndexError(error)
        }
    }

    func createFolder() throws(ViewIndexError) {
        do {
            try fileSystem.createDirectory(folder)
        } catch {
            throw ViewIndexError(error)
        }
    }

    /// Bytes of LMDB's file.
    func byteCount() throws(ViewIndexError) -> UInt64 {
        do {
            return try fileSystem.open(data, .read).byteCount()
        } catch {
            throw ViewIndexError(error)
        }
    }
}

extension ViewIndexError {
    /// A file call that failed.
    init(_ error: FileError) {
        let reason: Reason =
            if error.isOutOfSpace { .full } else if error.isMissing { .damaged } else { .system }
        self.init(reason, "\(error)")
    }
}
