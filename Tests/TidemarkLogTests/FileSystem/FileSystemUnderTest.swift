// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import TidemarkLog

/// The file systems that the same tests run over.
enum FileSystemUnderTest: CaseIterable {
    case posix
    case simulated

    /// Runs a test in an empty folder of its own, which is gone afterwards.
    func withFolder(_ test: (any FileSystem, String) throws -> Void) throws {
        switch self {
        case .posix:
            let folder = try ScratchFolder()
            try test(PosixFileSystem(), folder.url.path)
        case .simulated:
            let files = SimulatedFileSystem()
            try files.createDirectory("/folder")
            try test(files, "/folder")
        }
    }
}

extension LogFile {
    func write(_ bytes: [UInt8], at offset: UInt64) throws(FileError) {
        try write(bytes.span.bytes, at: offset)
    }

    /// What is at an offset: `count` bytes, or fewer where the file ends.
    func read(_ count: Int, at offset: UInt64) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        var span = bytes.mutableSpan
        var raw = span.mutableBytes
        let found = try read(into: &raw, at: offset)
        return Array(bytes.prefix(found))
    }

    /// The whole file.
    func contents() throws -> [UInt8] {
        try read(Int(byteCount()) + 1, at: 0)
    }
}

extension FileSystem {
    /// Makes a file of these bytes; neither synced.
    func make(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        let file = try open(path, .create)
        try file.write(bytes, at: 0)
        file.close()
    }

    /// The whole file at a path.
    func contents(_ path: String) throws -> [UInt8] {
        try open(path, .read).contents()
    }
}
