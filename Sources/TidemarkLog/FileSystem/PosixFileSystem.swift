// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file system of the machine.
///
/// Files are made with mode 0644 and directories with 0755, less the process's umask. Every
/// descriptor is closed in child processes.
package struct PosixFileSystem: FileSystem {
    /// The file system; it has no state of its own.
    package init() {}

    package func createDirectory(_ path: String) throws(FileError) {
        guard mkdir(path, 0o755) != 0 else { return }
        let number = errno
        if number == EEXIST, let status = try readStatus(path), status.st_mode & S_IFMT == S_IFDIR {
            return
        }
        throw FileError(call: .createDirectory, path: path, errorNumber: number)
    }

    package func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .readWrite: O_RDWR
            case .create: O_RDWR | O_CREAT | O_EXCL
            }
        return PosixFile(
            descriptor: try openDescriptor(path, flags | O_CLOEXEC, for: .open),
            path: path
        )
    }

    package func exists(_ path: String) throws(FileError) -> Bool {
        try readStatus(path) != nil
    }

    package func status(of path: String) throws(FileError) -> FileStatus? {
        try readStatus(path).map { status in
            let time = modificationTime(status)
            return FileStatus(
                byteCount: UInt64(clamping: status.st_size),
                modified: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
            )
        }
    }

    package func linkCount(of path: String) throws(FileError) -> Int {
        try readStatus(path).map { Int($0.st_nlink) } ?? 0
    }

    package func list(_ directory: String) throws(FileError) -> [String] {
        guard let stream = opendir(directory) else {
            throw FileError(call: .list, path: directory, errorNumber: errno)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            // An error and the end both return nothing; only `errno` tells them apart.
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = nameOfEntry(entry)
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else {
            throw FileError(call: .list, path: directory, errorNumber: errno)
        }
        names.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return names
    }

    package func rename(_ path: String, to target: String) throws(FileError) {
        guard renameAtomically(path, target) == 0 else {
            throw FileError(call: .rename, path: path, errorNumber: errno)
        }
    }

    package func link(_ path: String, to target: String) throws(FileError) {
        guard addName(path, target) == 0 else {
            throw FileError(call: .link, path: target, errorNumber: errno)
        }
    }

    package func remove(_ path: String) throws(FileError) {
        guard unlink(path) == 0 else {
            throw FileError(call: .remove, path: path, errorNumber: errno)
        }
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        let descriptor = try openDescriptor(
            path,
            O_RDONLY | O_DIRECTORY | O_CLOEXEC,
            for: .syncDirectory
        )
        defer { closeDescriptor(descriptor) }
        guard makeDurable(descriptor, .directory) == 0 else {
            throw FileError(call: .syncDirectory, path: path, errorNumber: errno)
        }
    }

    /// What the system knows of what is at a path, or nothing if nothing is there.
    private func readStatus(_ path: String) throws(FileError) -> stat? {
        var status = stat()
        if stat(path, &status) == 0 { return status }
        let number = errno
        if number == ENOENT || number == ENOTDIR { return nil }
        throw FileError(call: .stat, path: path, errorNumber: number)
    }

    private func openDescriptor(
        _ path: String,
        _ flags: Int32,
        for call: FileError.Call
    ) throws(FileError) -> Int32 {
        while true {
            let descriptor = openPath(path, flags)
            if descriptor >= 0 { return descriptor }
            let number = errno
            guard number == EINTR else {
                throw FileError(call: call, path: path, errorNumber: number)
            }
        }
    }
}

// The methods above have the names of the calls they make, which hides those calls inside them.

private func openPath(_ path: String, _ flags: Int32) -> Int32 {
    open(path, flags, 0o644)
}

private func renameAtomically(_ path: String, _ target: String) -> Int32 {
    rename(path, target)
}

private func addName(_ path: String, _ target: String) -> Int32 {
    link(path, target)
}

private func modificationTime(_ status: stat) -> timespec {
    #if canImport(Darwin)
    status.st_mtimespec
    #else
    status.st_mtim
    #endif
}

/// The name in a directory entry, read in place: an entry may be shorter than its C type.
private func nameOfEntry(_ entry: UnsafeMutablePointer<dirent>) -> String {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return "" }
    let name = UnsafeRawPointer(entry).advanced(by: offset)
    return String(cString: name.assumingMemoryBound(to: CChar.self))
}
