// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkModel
import TidemarkServer

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file that gets the change stream of a store, whole or not at all.
final class ExportFile {
    private let path: String
    /// The temporary name; random, so that two exports to one path do not write one file.
    private let part: String
    private let descriptor: Int32
    /// True until the file has got its name.
    private var isPart = true

    /// Bytes that are gathered before they are written.
    private static let pieceByteCount = 64 << 10

    /// Creates the file under a temporary name, so that a failure to create it is reported at once.
    ///
    /// Throws if the path names anything but a file. An export cannot replace a folder or a pipe, and
    /// nobody would look for it in the place of a link, such as `/dev/stdout`.
    init(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw CommandError(
                "\(path) is a folder, a link or a device, which an export does not replace. Name a file."
            )
        }
        self.path = path
        // In the same folder, because a file is renamed only within a file system.
        part = "\(path).\(String(UInt32.random(in: 0 ... .max), radix: 16)).part"
        descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw CommandError(attempt: "\(path) cannot be created", errno)
        }
    }

    deinit {
        guard descriptor >= 0 else { return }
        close(descriptor)
        if isPart { unlink(part) }
    }

    /// Writes the commits of all databases but the server's own, and gives the file its name.
    func write(_ store: Store) throws {
        var bytes: [UInt8] = []
        var failure: (any Error)?
        func flush() -> Bool {
            do {
                try writeAll(bytes[...], to: descriptor, name: path)
                bytes.removeAll(keepingCapacity: true)
                return true
            } catch {
                failure = error
                return false
            }
        }
        try store.visitCommits { line in
            // The server's own records hold hashes of tokens, and a store that imports them has
            // another key.
            if line.database.container == TemporaryServer.ownContainer { return true }
            bytes.append(json: line)
            // The closure cannot throw. `false` ends the visit, and `failure` keeps the error.
            return bytes.count < Self.pieceByteCount || flush()
        }
        // `failure` is set in both cases, so the second error is never thrown.
        guard failure == nil, flush() else { throw failure ?? ClosedPipe() }
        guard rename(part, path) == 0 else {
            throw CommandError(attempt: "\(path) cannot be created", errno)
        }
        isPart = false
    }
}
#endif
