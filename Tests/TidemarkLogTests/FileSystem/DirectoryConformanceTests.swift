// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkLog

/// What `FileSystem` promises about names, and `LogFile` about locks.
@Suite struct DirectoryConformanceTests {
    @Test(arguments: FileSystemUnderTest.allCases)
    func `Directories are made once and listed in byte order`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/d"
            try files.createDirectory(path)
            try files.createDirectory(path)
            #expect(try files.list(path) == [])
            // By Unicode order the two forms of é would be equal, and before z.
            let names = ["z", "e\u{301}", "\u{E9}", "B", "a", ".hidden"]
            for name in names { try files.make(path + "/" + name, []) }
            #expect(
                try files.list(path).map { Array($0.utf8) }
                    == [".hidden", "B", "a", "e\u{301}", "z", "\u{E9}"].map { Array($0.utf8) }
            )
            #expect(try files.list(folder) == ["d"])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Directories need a parent and a free name`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let nested = folder + "/no/d"
            #expect(throws: FileError(call: .createDirectory, path: nested, errorNumber: ENOENT)) {
                try files.createDirectory(nested)
            }
            let taken = folder + "/file"
            try files.make(taken, [])
            #expect(throws: FileError(call: .createDirectory, path: taken, errorNumber: EEXIST)) {
                try files.createDirectory(taken)
            }
            #expect(throws: FileError(call: .list, path: taken, errorNumber: ENOTDIR)) {
                try files.list(taken)
            }
            #expect(throws: FileError(call: .list, path: nested, errorNumber: ENOENT)) {
                try files.list(nested)
            }
            #expect(throws: FileError(call: .syncDirectory, path: nested, errorNumber: ENOENT)) {
                try files.syncDirectory(nested)
            }
            try files.syncDirectory(folder)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Renaming replaces the target`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let (old, new) = (folder + "/old", folder + "/new")
            try files.make(old, [1])
            try files.make(new, [2])
            let replaced = try files.open(new, .read)
            try files.rename(old, to: new)
            #expect(try files.list(folder) == ["new"])
            #expect(try files.contents(new) == [1])
            #expect(try replaced.contents() == [2])
            #expect(throws: FileError(call: .rename, path: old, errorNumber: ENOENT)) {
                try files.rename(old, to: new)
            }
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Renaming moves between directories`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            try files.createDirectory(folder + "/a")
            try files.createDirectory(folder + "/b")
            try files.make(folder + "/a/x", [4])
            try files.rename(folder + "/a/x", to: folder + "/b/y")
            #expect(try files.list(folder + "/a") == [])
            #expect(try files.contents(folder + "/b/y") == [4])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `A linked file is one file under two names`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let (first, second) = (folder + "/a", folder + "/b")
            try files.make(first, [1])
            try files.link(first, to: second)
            try files.open(second, .readWrite).write([2], at: 1)
            #expect(try files.contents(first) == [1, 2])
            #expect(throws: FileError(call: .link, path: second, errorNumber: EEXIST)) {
                try files.link(first, to: second)
            }
            try files.rename(first, to: second)
            #expect(try files.list(folder) == ["a", "b"])
            try files.remove(first)
            #expect(try files.contents(second) == [1, 2])
            #expect(throws: FileError.self) { try files.link(first, to: folder + "/c") }
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `A removed file stays usable while it is open`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/a"
            let file = try files.open(path, .create)
            try file.write([1], at: 0)
            try files.remove(path)
            #expect(try !files.exists(path))
            try file.write([2], at: 1)
            #expect(try file.contents() == [1, 2])
            #expect(throws: FileError(call: .remove, path: path, errorNumber: ENOENT)) {
                try files.remove(path)
            }
            try files.make(path, [7])
            #expect(try file.contents() == [1, 2])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Shared locks are compatible, exclusive ones are not`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/LOCK"
            let first = try files.open(path, .create)
            let second = try files.open(path, .read)
            #expect(try first.lock(.shared))
            #expect(try second.lock(.shared))
            #expect(try !first.lock(.exclusive))
            // The refused change gave up the first file's lock, so the second is alone now.
            #expect(try second.lock(.exclusive))
            #expect(try second.lock(.exclusive))
            #expect(try !first.lock(.shared))
            #expect(try second.lock(.shared))
            #expect(try first.lock(.shared))
            try second.unlock()
            #expect(try first.lock(.exclusive))
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Closing or releasing a file releases its lock`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/LOCK"
            let first = try files.open(path, .create)
            var dropped: (any LogFile)? = try files.open(path, .readWrite)
            #expect(try dropped?.lock(.exclusive) == true)
            #expect(try !first.lock(.shared))
            dropped = nil
            #expect(try first.lock(.exclusive))
            let second = try files.open(path, .readWrite)
            #expect(try !second.lock(.shared))
            first.close()
            #expect(try second.lock(.exclusive))
        }
    }

    @Test func `Closing a file releases its lock even if a forked process has a copy of it`()
        throws
    {
        try FileSystemUnderTest.posix.withFolder { files, folder in
            let path = folder + "/LOCK"
            let first = try files.open(path, .create)
            #expect(try first.lock(.exclusive))
            // What a process that was forked has until it becomes another program.
            let copies = try Self.copyDescriptors(of: path)
            defer { for copy in copies { close(copy) } }
            #expect(copies.count == 1)
            let second = try files.open(path, .readWrite)
            #expect(try !second.lock(.shared))
            first.close()
            #expect(try second.lock(.exclusive))
        }
    }

    /// Copies of all descriptors that this process has of a file.
    private static func copyDescriptors(of path: String) throws -> [Int32] {
        var wanted = stat()
        try #require(stat(path, &wanted) == 0)
        let all = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd")
        let found = all.compactMap { Int32($0) }.filter { descriptor in
            var found = stat()
            return fstat(descriptor, &found) == 0 && found.st_ino == wanted.st_ino
                && found.st_dev == wanted.st_dev
        }
        return found.map { dup($0) }
    }
}
