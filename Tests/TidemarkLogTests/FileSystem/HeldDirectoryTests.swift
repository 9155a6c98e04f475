// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkLog

/// What the machine's file system promises about directories that are moved, and what it opens.
@Suite struct HeldDirectoryTests {
    @Test func `A held directory stays the same after it is moved`() throws {
        try FileSystemUnderTest.posix.withFolder { files, folder in
            let (old, new, beside) = (folder + "/a", folder + "/b", folder + "/ab")
            for path in [old, beside] { try files.createDirectory(path) }
            try files.make(old + "/x", [1])
            let held = try files.holding(old)
            #expect(try held.isInPlace())
            try files.rename(old, to: new)
            #expect(try !held.isInPlace())
            try files.createDirectory(old)
            #expect(try !held.isInPlace())
            #expect(try files.isInPlace())
            try files.make(old + "/y", [2])

            #expect(try held.list(old) == ["x"])
            #expect(try held.list(old + "/") == ["x"])
            #expect(try !held.exists(old + "/y"))
            #expect(try held.contents(old + "//x") == [1])
            #expect(try held.status(of: old + "/x")?.byteCount == 1)
            try held.createDirectory(old + "/d")
            try held.make(old + "/d/z", [3])
            try held.rename(old + "/x", to: old + "/w")
            try held.link(old + "/w", to: old + "/d/v")
            #expect(try held.linkCount(of: old + "/w") == 2)
            try held.remove(old + "/d/z")
            try held.syncDirectory(old)
            try held.syncDirectory(old + "/d")
            #expect(try files.list(new) == ["d", "w"])
            #expect(try files.list(new + "/d") == ["v"])
            #expect(try files.list(old) == ["y"])

            // Paths that only look alike are what they were.
            try held.make(beside + "/u", [])
            #expect(try files.list(beside) == ["u"])
            try held.rename(old + "/w", to: beside + "/w")
            #expect(try files.list(beside) == ["u", "w"])
        }
    }

    @Test func `A removed directory rejects new files`() throws {
        try FileSystemUnderTest.posix.withFolder { files, folder in
            let path = folder + "/a"
            #expect(throws: FileError(call: .open, path: path, errorNumber: ENOENT)) {
                try files.holding(path)
            }
            try files.createDirectory(path)
            let held = try files.holding(path)
            let file = try held.open(path + "/x", .create)
            try file.sync()
            try FileManager.default.removeItem(atPath: path)
            try files.createDirectory(path)
            #expect(throws: FileError(call: .open, path: path + "/y", errorNumber: ENOENT)) {
                try held.open(path + "/y", .create)
            }
            #expect(throws: FileError(call: .sync, path: path + "/x", errorNumber: ENOENT)) {
                try file.sync()
            }
            #expect(try files.list(path) == [])
        }
    }

    @Test func `Only regular files are opened`() throws {
        try FileSystemUnderTest.posix.withFolder { files, folder in
            let pipe = folder + "/pipe"
            #expect(mkfifo(pipe, 0o644) == 0)
            for mode in [FileMode.read, .readWrite] {
                #expect(throws: FileError(call: .open, path: pipe, errorNumber: ENXIO)) {
                    try files.open(pipe, mode)
                }
                #expect(throws: FileError(call: .open, path: folder, errorNumber: EISDIR)) {
                    try files.open(folder, mode)
                }
            }
        }
    }
}
