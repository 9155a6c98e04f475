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
/// LMDB opens its own on the machine's file system, so the others are there too and never on a
/// simulated one. LMDB's lock file is not among what is opened here: closing any descriptor of it
/// would drop the locks that LMDB holds.
package struct ViewFiles {
    package let folder: String
    private let fileSystem: any FileSystem

    package init(_ folder: String) {
        let plain = PosixFileSystem()
        // What cannot be told now is told by the first call that needs the folder.
        self.init(folder, (try? plain.permitting(asIn: folder)) ?? plain)
    }

    private init(_ folder: String, _ fileSystem: any FileSystem) {
        self.folder = folder
        self.fileSystem = fileSystem
    }

    /// The files of the folder that is there now, which they stay if it is moved.
    package init(holding folder: String) throws(ViewIndexError) {
        let plain = ViewFiles(folder)
        self.init(
            folder,
            try plain.translated { () throws(FileError) in try plain.fileSystem.holding(folder) }
        )
    }

    /// The permissions of the folder, which its files have too.
    package func permissions() throws(ViewIndexError) -> FilePermissions {
        try translated { () throws(FileError) in
            try fileSystem.status(of: folder)?.permissions ?? .owner
        }
    }

    /// Those of a copy that is to come in the place of these.
    package var renewed: ViewFiles { ViewFiles(folder + "/renewed", fileSystem) }

    /// LMDB's file: everything there is.
    package var data: String { folder + "/data.mdb" }
    /// The checksums of its pages.
    package var checks: String { folder + "/checks" }
    private var newChecks: String { folder + "/checks.tmp" }
    /// LMDB's table of readers.
    private var lock: String { folder + "/lock.mdb" }

    /// Whether there is an index.
    package func exist() throws(ViewIndexError) -> Bool {
        try translated { () throws(FileError) in try fileSystem.exists(data) }
    }

    /// Makes the folder, if it is not there.
    func createFolder() throws(ViewIndexError) {
        try translated { () throws(FileError) in try fileSystem.createDirectory(folder) }
    }

    /// Removes the index; the folder stays.
    package func remove() throws(ViewIndexError) {
        try translated { () throws(FileError) in
            // Without the checks the rest is as good as gone, so they go first.
            for path in [checks, newChecks, data, lock]
            where try fileSystem.exists(path) {
                try fileSystem.remove(path)
            }
            try fileSystem.syncDirectory(folder)
        }
    }

    /// Puts the files of a copy in place of these; those who have these open keep them.
    ///
    /// Readers that come meanwhile find no checks, or those of the copy.
    package func replace(by copy: ViewFiles) throws(ViewIndexError) {
        try translated { () throws(FileError) in
            for path in [checks, lock] where try fileSystem.exists(path) {
                try fileSystem.remove(path)
            }
            try fileSystem.syncDirectory(folder)
            try fileSystem.rename(copy.data, to: data)
            try fileSystem.rename(copy.checks, to: checks)
            try fileSystem.syncDirectory(folder)
        }
        // What is left of the copy is LMDB's table of readers; it may stay if it has to.
        try? copy.remove()
        rmdir(copy.folder)
    }

    /// Tells these files apart from others that had the same names before; `nil` if one is missing.
    ///
    /// Looks at their names alone: see above why LMDB's table of readers is not opened.
    package var identity: [UInt64]? {
        var numbers: [UInt64] = []
        for path in [data, lock, checks] {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            // The checks are replaced by every commit.
            if path != checks { numbers.append(UInt64(status.st_ino)) }
        }
        return numbers
    }

    /// Bytes of all that is read or written.
    package func byteCount() throws(ViewIndexError) -> UInt64 {
        try dataByteCount()
            + translated { () throws(FileError) in
                try fileSystem.open(checks, .read).byteCount()
            }
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

    /// Writes the checks durably, in place of those before: all or nothing.
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

    /// Whether the disk has less room than one write of LMDB may take.
    var isDiskFull: Bool {
        do throws(FileError) {
            if try fileSystem.exists(newChecks) { try fileSystem.remove(newChecks) }
            let file = try fileSystem.open(newChecks, .create)
            defer { try? fileSystem.remove(newChecks) }
            try file.allocate(to: 1 << 20)
            return false
        } catch {
            return error.isOutOfSpace
        }
    }

    /// Runs file calls and says in this room's words what failed.
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
