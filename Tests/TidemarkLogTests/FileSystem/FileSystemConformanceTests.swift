// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import TidemarkLog

/// What `FileSystem` and `LogFile` promise, asked of every implementation.
@Suite struct FileSystemConformanceTests {
    @Test(arguments: FileSystemUnderTest.allCases)
    func `A file is created once, found, and opened again`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/a"
            #expect(try !files.exists(path))
            let file = try files.open(path, .create)
            #expect(file.path == path)
            #expect(try file.byteCount() == 0)
            #expect(try files.exists(path))
            #expect(throws: FileError(call: .open, path: path, errorNumber: EEXIST)) {
                try files.open(path, .create)
            }
            try file.write([1, 2, 3], at: 0)
            #expect(try files.contents(path) == [1, 2, 3])
            let second = try files.open(path, .readWrite)
            try second.write([9], at: 1)
            #expect(try file.contents() == [1, 9, 3])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Opening a missing file fails in both modes`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/missing"
            let expected = FileError(call: .open, path: path, errorNumber: ENOENT)
            #expect(throws: expected) { try files.open(path, .read) }
            #expect(throws: expected) { try files.open(path, .readWrite) }
            #expect(expected.isMissing)
            let nested = folder + "/no/folder"
            #expect(throws: FileError(call: .open, path: nested, errorNumber: ENOENT)) {
                try files.open(nested, .create)
            }
            try files.make(folder + "/plain", [])
            let below = folder + "/plain/x"
            #expect(throws: FileError(call: .open, path: below, errorNumber: ENOTDIR)) {
                try files.open(below, .create)
            }
            #expect(try !files.exists(below))
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `The length and time of a file are read without opening it`(
        _ kind: FileSystemUnderTest
    ) throws {
        try kind.withFolder { files, folder in
            (files as? SimulatedFileSystem)?.setClock(Int64(Date.now.timeIntervalSince1970 * 1000))
            let path = folder + "/a"
            #expect(try files.status(of: path) == nil)
            #expect(try files.status(of: path + "/below") == nil)
            try files.make(path, [1, 2, 3])
            let status = try #require(try files.status(of: path))
            #expect(status.byteCount == 3)
            let age = Date.now.timeIntervalSince1970 - Double(status.modified) / 1000
            #expect((-5.0..<600).contains(age))
            try files.rename(path, to: folder + "/b")
            #expect(try files.status(of: folder + "/b") == status)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `A file opened for reading cannot be changed`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/a"
            try files.make(path, [1, 2])
            let file = try files.open(path, .read)
            #expect(throws: FileError(call: .write, path: path, errorNumber: EBADF)) {
                try file.write([7], at: 0)
            }
            #expect(throws: FileError.self) { try file.truncate(to: 0) }
            #expect(throws: FileError.self) { try file.allocate(to: 100) }
            #expect(try file.contents() == [1, 2])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Reads stop at the end of the file`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let file = try files.open(folder + "/a", .create)
            try file.write([1, 2, 3, 4], at: 0)
            #expect(try file.read(2, at: 1) == [2, 3])
            #expect(try file.read(10, at: 3) == [4])
            #expect(try file.read(10, at: 4) == [])
            #expect(try file.read(10, at: 4_000_000) == [])
            #expect(try file.read(0, at: 0) == [])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `A write beyond the end fills the gap with zeros`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let file = try files.open(folder + "/a", .create)
            try file.write([1], at: 0)
            try file.write([2], at: 1000)
            #expect(try file.byteCount() == 1001)
            #expect(try file.contents() == [1] + [UInt8](repeating: 0, count: 999) + [2])
            try file.write([], at: 5000)
            #expect(try file.byteCount() == 1001)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Large writes across sectors are read back`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let bytes = (0..<300_017).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 9) }
            let file = try files.open(folder + "/a", .create)
            try file.write(bytes, at: 77)
            try file.sync()
            #expect(try file.read(bytes.count, at: 77) == bytes)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Truncating shortens a file or extends it with zeros`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let file = try files.open(folder + "/a", .create)
            try file.write([1, 2, 3, 4, 5], at: 0)
            try file.truncate(to: 2)
            #expect(try file.contents() == [1, 2])
            try file.truncate(to: 4)
            #expect(try file.contents() == [1, 2, 0, 0])
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Allocating extends a file with zeros and changes nothing else`(
        _ kind: FileSystemUnderTest
    ) throws {
        try kind.withFolder { files, folder in
            let file = try files.open(folder + "/a", .create)
            try file.write([1, 2, 3], at: 0)
            try file.allocate(to: 1_500_000)
            #expect(try file.byteCount() == 1_500_000)
            let zeros = [UInt8](repeating: 0, count: 1_500_000 - 3)
            #expect(try file.contents() == [1, 2, 3] + zeros)
            try file.allocate(to: 10)
            #expect(try file.byteCount() == 1_500_000)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Offsets beyond the maximum are rejected`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let path = folder + "/a"
            let file = try files.open(path, .create)
            #expect(throws: FileError(call: .write, path: path, errorNumber: EFBIG)) {
                try file.write([1], at: UInt64(Int64.max))
            }
            #expect(throws: FileError(call: .read, path: path, errorNumber: EFBIG)) {
                try file.read(1, at: UInt64.max)
            }
            #expect(throws: FileError(call: .truncate, path: path, errorNumber: EFBIG)) {
                try file.truncate(to: UInt64.max)
            }
            #expect(throws: FileError(call: .allocate, path: path, errorNumber: EFBIG)) {
                try file.allocate(to: UInt64.max)
            }
            #expect(try file.byteCount() == 0)
        }
    }

    @Test(arguments: FileSystemUnderTest.allCases)
    func `Closing twice is allowed`(_ kind: FileSystemUnderTest) throws {
        try kind.withFolder { files, folder in
            let file = try files.open(folder + "/a", .create)
            file.close()
            file.close()
            #expect(try files.exists(folder + "/a"))
        }
    }
}
