// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The small files that a device keeps: private to the user, and read within a bound.
enum DeviceFile {
    /// The maximum size, many times that of a device's file; a longer file is damaged.
    static let byteLimit = 64 << 20

    /// Returns the bytes of a file; `nil` if it cannot be read, or has more than ``byteLimit``.
    static func read(_ file: URL) -> Data? {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        guard let end = try? handle.seekToEnd(), end <= byteLimit,
            (try? handle.seek(toOffset: 0)) != nil
        else { return nil }
        return try? handle.readToEnd() ?? Data()
    }

    /// Replaces a file, and creates its folder if it does not exist.
    static func write(_ data: Data, to file: URL) throws {
        try makeFolder(file.deletingLastPathComponent())
        // Written under another name and renamed: a process that ends in between leaves the old
        // file. Until the mode is set, only the mode of the folder protects the new file.
        try data.write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Creates a folder that other users cannot read, with its parents; leaves an existing one
    /// unchanged.
    static func makeFolder(_ folder: URL) throws {
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }
}
