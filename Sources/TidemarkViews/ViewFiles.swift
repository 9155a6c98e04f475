// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The files of a view index's folder.
///
/// LMDB opens its own files on the machine's file system, so the others are there too and never on
/// a simulated one. LMDB's lock file is never opened here: closing any descriptor of it would drop
/// the locks that LMDB holds.
package struct ViewFiles: Sendable {
    package let folder: String
    private let fileSystem: any FileSystem

    package init(_ folder: String) {
        let plain = PosixFileSystem()
        // An error here is reported by the first call that needs the folder.
        self.init(folder, (try? plain.permitting(asIn: folder)) ?? plain)
    }

    private init(_ folder: String, _ fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// Binds the files of the current folder, even if the folder is moved later.
    package init(holding folder: String) throws(ViewIndexError) {
        let plain = ViewFiles(folder)
        self.init(
            folder,
            try plain.translated { () throws(FileError) in try plain.fileSystem.holding(folder) }
        )
    }

    /// Returns the permissions of the folder, which its files have too.
    package func permissions() throws(ViewIndexError) -> FilePermissions {
        try translated { () throws(FileError) in
            try fileSystem.status(of: folder)?.permissions ?? .owner
        }
    }

    /// The files of a copy that will replace these.
    package var renewed: ViewFiles { ViewFiles(folder + "/renewed", fileSystem) }

    /// LMDB's data file.
    package var data: String { folder + "/data.mdb" }
    /// The checksums of its pages.
    package var checks: String { folder + "/checks" }
    private var newChecks: String { folder + "/checks.tmp" }
    /// LMDB's table of readers.
    private var lock: String { folder + "/lock.mdb" }

    /// Returns true if there is an index.
    package func exist() throws(ViewIndexError) -> Bool {
        try translated { () throws(FileError) in try fileSystem.exists(data) }
    }

    /// Gives the files that LMDB has created to an owner, as the others are given on creation.
    func give(to owner: FileOwner?) {
        for path in [data, lock] { owner?.receive(path) }
    }

    /// Creates the folder if it is missing.
    func createFolder() throws(ViewIndexError) {
        try translated { () throws(FileError) in try fileSystem.createDirectory(folder) }
    }

    /// Removes the index but not the folder.
    package func remove() throws(ViewIndexError) {
        try translated { () throws(FileError) in
            // The checks are removed first, because the index is unusable without them.
            for path in [checks, newChecks, data, lock]
            where try fileSystem.exists(path) {
                try fileSystem.remove(path)
            }
            try fileSystem.syncDirectory(folder)
        }
    }

    /// Replaces these files with those of a copy; processes that have these open keep them.
    ///
    /// Readers that open the files meanwhile find no checks, or those of the copy.
    package func replace(by copy: ViewFiles) throws(ViewIndexError) {
        try translated { () throws(FileError) in
            // Checks first, durably: after a crash between these steps, the index has no checks and
            // is folded again. The old table of readers does not belong to the new data.
            for path in [checks, lock] where try fileSystem.exists(path) {
                try fileSystem.remove(path)
            }
            try fileSystem.syncDirectory(folder)
            try fileSystem.rename(copy.data, to: data)
            try fileSystem.rename(copy.checks, to: checks)
            try fileSystem.syncDirectory(folder)
        }
        // Only LMDB's table of readers is left of the copy; a failure to remove it is harmless.
        try? copy.remove()
        rmdir(copy.folder)
    }

    /// The identity of these files, which differs from earlier files of the same names; `nil` if
    /// one is missing.
    ///
    /// Only reads the files' status: see above for why LMDB's table of readers is not opened.
    package var identity: [UInt64]? {
        var numbers: [UInt64] = []
        for path in [data, lock, checks] {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            // Every commit replaces the checks.
            if path != checks { numbers.append(UInt64(status.st_ino)) }
        }
        return numbers
    }

    /// Returns the total size of the files in bytes.
    package func byteCount() throws(ViewIndexError) -> UInt64 {
        try dataByteCount()
            + translated { () throws(FileError) in try fileSystem.open(checks, .read).byteCount() }
    }

    /// Bytes of LMDB's file.
    package func dataByteCount() throws(ViewIndexError) -> UInt64 {
        try translated { () throws(FileError) in try fileSystem.open(data, .read).byteCount() }
    }

    /// LMDB's file, for plain reading.
    func openData() throws(ViewIndexError) -> any LogFile {
        try translated { () throws(FileError) in try fileSystem.open(data, .read) }
    }

    /// Reads the checks.
    func readChecks() throws(ViewIndexError) -> ViewChecks {
        let bytes = try translated { () throws(FileError) in try fileSystem.contents(of: checks) }
        return try ViewChecks(bytes, checks)
    }

    /// Writes the checks durably, replacing the previous ones: all or nothing.
    package func write(_ new: ViewChecks) throws(ViewIndexError) {
        let bytes = new.encoded
        try translated { () throws(FileError) in
            if try fileSystem.exists(newChecks) { try fileSystem.remove(newChecks) }
            let file = try fileSystem.open(newChecks, .create)
            try file.write(bytes.span.bytes, at: 0)
            try file.sync()
            file.close()
            try fileSystem.rename(newChecks, to: checks)
            try fileSystem.syncDirectory(folder)
        }
    }

    /// True if the disk has less space than one write of LMDB may take.
    var isDiskFull: Bool {
        do throws(FileError) {
            if try fileSystem.exists(newChecks) { try fileSystem.remove(newChecks) }
            let file = try fileSystem.open(newChecks, .create)
            defer { try? fileSystem.remove(newChecks) }
            // LMDB reports a short write as an I/O error, which does not say whether the disk is
            // full.
            try file.allocate(to: 1 << 20)
            return false
        } catch {
            return error.isOutOfSpace
        }
    }

    /// Runs file calls and converts their errors.
    package func translated<Result>(
        _ calls: () throws(FileError) -> Result
    ) throws(ViewIndexError) -> Result {
        do throws(FileError) {
            return try calls()
        } catch {
            let reason: ViewIndexError.Reason =
                error.isOutOfSpace ? .full : error.isMissing ? .damaged : .system
            throw ViewIndexError(reason, "\(error)")
        }
    }
}
