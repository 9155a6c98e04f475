// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The small files that a device keeps: private to the user, and read within a bound.
enum DeviceFile {
    /// Many times what a device writes; a longer file was damaged.
    static let byteLimit = 64 << 20

    /// The bytes of a file; `nil` if it cannot be read, or has more than ``byteLimit``.
    static func read(_ file: URL) -> Data? {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        guard let end = try? handle.seekToEnd(), end <= byteLimit,
            (try? handle.seek(toOffset: 0)) != nil
        else { return nil }
        return try? handle.readToEnd() ?? Data()
    }

    /// Replaces a file, and makes its folder if that is not there.
    static func write(_ data: Data, to file: URL) throws {
        try makeFolder(file.deletingLastPathComponent())
        try data.write(to: file, options: .atomic)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Makes a folder that nobody else can read, with those above it; leaves one that is there as
    /// it is.
    static func makeFolder(_ folder: URL) throws {
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }
}
