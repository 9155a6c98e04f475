// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The file system of the machine.
///
/// Files and directories are accessible only to the owner, unless other users are permitted to read
/// them. What root creates in a store belongs to the owner of the store. Every descriptor is closed
/// in child processes.
package struct PosixFileSystem: FileSystem {
    private var held: HeldDirectory?
    private var permissions = FilePermissions.owner

    /// Creates the file system without a bound directory.
    package init() {}

    package func permitting(_ permissions: FilePermissions) -> any FileSystem {
        var permitting = self
        permitting.permissions = permissions
        return permitting
    }

    package func holding(_ directory: String) throws(FileError) -> any FileSystem {
        var holding = self
        holding.held = HeldDirectory(
            path: directory,
            descriptor: try openDirectory(directory, for: .open)
        )
        return holding
    }

    package func isInPlace() throws(FileError) -> Bool {
        guard let held else { return true }
        // By the path, without the held directory, which would always lead to itself.
        guard let there = try PosixFileSystem().readStatus(held.path) else { return false }
        return held.has(there)
    }

    package func currentPath(of path: String) -> String? {
        guard let place = held?.place(of: path) else { return path }
        return pathOfDirectory(place.directory).map { $0 + "/" + place.path }
    }

    package func isLocal(_ directory: String) -> Bool {
        tidemark_is_local(directory)
    }

    /// Returns the directory descriptor and path that a call on a path uses.
    private func place(of path: String) -> (directory: Int32, path: String) {
        held?.place(of: path) ?? (AT_FDCWD, path)
    }

    /// Throws for a path with a NUL: calls of the system would take the part before it as the path.
    private func check(_ path: String, for call: FileError.Call) throws(FileError) {
        if path.utf8.contains(0) { throw FileError(call: call, path: path, errorNumber: EINVAL) }
    }

    package func createDirectory(_ path: String) throws(FileError) {
        try check(path, for: .createDirectory)
        let place = place(of: path)
        guard mkdirat(place.directory, place.path, mode_t(permissions.mode)) != 0 else {
            permissions.fileOwner?.receive(place.path, in: place.directory)
            return
        }
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
        let descriptor = try openWithoutWaiting(path, flags | O_CLOEXEC)
        if mode == .create {
            let place = place(of: path)
            permissions.fileOwner?.receive(place.path, in: place.directory)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let number = errno
            closeDescriptor(descriptor)
            throw FileError(call: .stat, path: path, errorNumber: number)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG else {
            closeDescriptor(descriptor)
            throw FileError(
                call: .open,
                path: path,
                errorNumber: kind == S_IFDIR ? EISDIR : ENXIO
            )
        }
        return PosixFile(
            descriptor: descriptor,
            path: path,
            // Some file systems report no count. On those, `sync` cannot detect that the file was
            // removed.
            hasCountedNames: status.st_nlink > 0
        )
    }

    /// Opens a path without blocking: if a pipe is there, opening it would wait for its other end.
    private func openWithoutWaiting(_ path: String, _ flags: Int32) throws(FileError) -> Int32 {
        do throws(FileError) {
            return try openDescriptor(path, flags | O_NONBLOCK, for: .open)
        } catch {
            // If another process has a lease on the file, wait for it.
            guard error.errorNumber == EWOULDBLOCK, let status = try readStatus(path),
                status.st_mode & S_IFMT == S_IFREG
            else { throw error }
            return try openDescriptor(path, flags, for: .open)
        }
    }

    package func exists(_ path: String) throws(FileError) -> Bool {
        try readStatus(path) != nil
    }

    package func status(of path: String) throws(FileError) -> FileStatus? {
        try readStatus(path).map { status in
            let time = modificationTime(status)
            return FileStatus(
                byteCount: UInt64(clamping: status.st_size),
                modified: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000,
                permissions: FilePermissions(
                    mode: UInt32(status.st_mode),
                    owner: FileOwner(status)
                )
            )
        }
    }

    package func linkCount(of path: String) throws(FileError) -> Int {
        try readStatus(path).map { Int($0.st_nlink) } ?? 0
    }

    package func list(_ directory: String) throws(FileError) -> [String] {
        let descriptor = try openDirectory(directory, for: .list)
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            closeDescriptor(descriptor)
            throw FileError(call: .list, path: directory, errorNumber: number)
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
        let (old, new) = (place(of: path), place(of: target))
        guard renameat(old.directory, old.path, new.directory, new.path) == 0 else {
            throw FileError(call: .rename, path: path, errorNumber: errno)
        }
    }

    package func link(_ path: String, to target: String) throws(FileError) {
        let (old, new) = (place(of: path), place(of: target))
        guard linkat(old.directory, old.path, new.directory, new.path, 0) == 0 else {
            throw FileError(call: .link, path: target, errorNumber: errno)
        }
    }

    package func remove(_ path: String) throws(FileError) {
        let place = place(of: path)
        guard unlinkat(place.directory, place.path, 0) == 0 else {
            throw FileError(call: .remove, path: path, errorNumber: errno)
        }
    }

    package func syncDirectory(_ path: String) throws(FileError) {
        let descriptor = try openDirectory(path, for: .syncDirectory)
        defer { closeDescriptor(descriptor) }
        guard makeDurable(descriptor, .directory) == 0 else {
            throw FileError(call: .syncDirectory, path: path, errorNumber: errno)
        }
    }

    /// Returns the system's status of a path; `nil` if nothing is there.
    private func readStatus(_ path: String) throws(FileError) -> stat? {
        try check(path, for: .stat)
        var status = stat()
        let place = place(of: path)
        if fstatat(place.directory, place.path, &status, 0) == 0 { return status }
        let number = errno
        if number == ENOENT || number == ENOTDIR { return nil }
        throw FileError(call: .stat, path: path, errorNumber: number)
    }

    private func openDirectory(
        _ path: String,
        for call: FileError.Call
    ) throws(FileError) -> Int32 {
        try openDescriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, for: call)
    }

    private func openDescriptor(
        _ path: String,
        _ flags: Int32,
        for call: FileError.Call
    ) throws(FileError) -> Int32 {
        let place = place(of: path)
        while true {
            let descriptor = openat(
                place.directory,
                place.path,
                flags,
                mode_t(permissions.fileMode)
            )
            if descriptor >= 0 { return descriptor }
            let number = errno
            guard number == EINTR else {
                throw FileError(call: call, path: path, errorNumber: number)
            }
        }
    }
}

/// A directory held by a descriptor, and the path by which it was found.
private final class HeldDirectory: Sendable {
    let path: String
    private let descriptor: Int32

    init(path: String, descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        closeDescriptor(descriptor)
    }

    /// Returns true if a status is of the directory.
    func has(_ there: stat) -> Bool {
        var mine = stat()
        return fstat(descriptor, &mine) == 0 && there.st_dev == mine.st_dev
            && there.st_ino == mine.st_ino
    }

    /// Returns the directory and the rest of a path that begins with its own; `nil` for any other
    /// path.
    func place(of path: String) -> (directory: Int32, path: String)? {
        // As bytes: strings that are equal for Unicode may be different names.
        guard path.utf8.starts(with: self.path.utf8) else { return nil }
        let rest = path.utf8.dropFirst(self.path.utf8.count)
        let slash = UInt8(ascii: "/")
        // A path such as `/notes.tide2` begins with `/notes.tide` too, and is not in it.
        guard rest.first ?? slash == slash else { return nil }
        let name = String(decoding: rest.drop { $0 == slash }, as: UTF8.self)
        return (descriptor, name.isEmpty ? "." : name)
    }
}

/// Returns the path that leads to an open directory now; `nil` if the system does not tell.
private func pathOfDirectory(_ descriptor: Int32) -> String? {
    var bytes = [CChar](repeating: 0, count: 4_097)
    #if canImport(Darwin)
    guard fcntl(descriptor, F_GETPATH, &bytes) == 0 else { return nil }
    #else
    // The last byte stays zero.
    guard readlink("/proc/self/fd/\(descriptor)", &bytes, 4_096) > 0 else { return nil }
    #endif
    let path = bytes.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }
    return String(decoding: path, as: UTF8.self)
}

private func modificationTime(_ status: stat) -> timespec {
    #if canImport(Darwin)
    status.st_mtimespec
    #else
    status.st_mtim
    #endif
}

/// Returns the name in a directory entry, read in place: an entry may be shorter than its C type.
private func nameOfEntry(_ entry: UnsafeMutablePointer<dirent>) -> String {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return "" }
    let name = UnsafeRawPointer(entry).advanced(by: offset)
    return String(cString: name.assumingMemoryBound(to: CChar.self))
}
