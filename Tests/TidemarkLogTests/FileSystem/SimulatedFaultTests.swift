// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import TidemarkLog

/// Calls that go wrong on request.
@Suite struct SimulatedFaultTests {
    @Test func `Every kind of call can fail, once or permanently`() throws {
        let kinds: [FileError.Call] = [
            .open, .stat, .list, .read, .write, .sync, .truncate, .allocate, .lock, .rename, .link,
            .remove, .createDirectory, .syncDirectory,
        ]
        func callEach(
            _ files: SimulatedFileSystem,
            _ file: any LogFile,
            _ kind: FileError.Call
        ) throws(FileError) {
            switch kind {
            case .open: _ = try files.open("/f", .read)
            case .stat: _ = try files.exists("/f")
            case .list: _ = try files.list("/")
            case .read: _ = try file.read(1, at: 0)
            case .write: try file.write([1], at: 0)
            case .sync: try file.sync()
            case .truncate: try file.truncate(to: 3)
            case .allocate: try file.allocate(to: 6)
            case .lock: _ = try file.lock(.shared)
            case .rename: try files.rename("/f", to: "/f")
            case .link:
                try files.link("/f", to: "/l")
                try files.remove("/l")
            case .remove:
                try files.make("/g", [])
                try files.remove("/g")
            case .createDirectory: try files.createDirectory("/d")
            case .syncDirectory: try files.syncDirectory("/")
            }
        }
        for kind in kinds {
            for forGood in [false, true] {
                let files = SimulatedFileSystem()
                let file = try files.open("/f", .create)
                let number = files.callCount(of: kind) + 2
                files.failCall(number, of: kind, with: EIO, forGood: forGood)
                try callEach(files, file, kind)
                do throws(FileError) {
                    try callEach(files, file, kind)
                    Issue.record("\(kind) did not fail")
                } catch {
                    #expect(error.call == kind)
                    #expect(error.errorNumber == EIO)
                }
                if forGood {
                    #expect(throws: FileError.self) { try callEach(files, file, kind) }
                    files.clearFaults()
                }
                if kind == .remove { try files.remove("/g") }
                try callEach(files, file, kind)
            }
        }
    }

    @Test func `The n-th call fails, and the trace names it`() throws {
        let files = SimulatedFileSystem()
        files.failCall(3, with: ENOSPC)
        let file = try files.open("/f", .create)
        try file.write([1], at: 0)
        #expect(throws: FileError(call: .write, path: "/f", errorNumber: ENOSPC)) {
            try file.write([2, 3], at: 1)
        }
        try files.rename("/f", to: "/g")
        #expect(
            files.trace.map(\.description) == [
                "1 open /f", "2 pwrite /f at 0 for 1", "3 pwrite /f at 1 for 2",
                "4 rename /f to /g",
            ]
        )
        #expect(files.callCount == 4)
        #expect(files.callCount(of: .write) == 2)
        #expect(try file.contents() == [1])
    }

    @Test func `A failing write can write a part of its bytes`() throws {
        let files = SimulatedFileSystem()
        files.failCall(1, of: .write, with: EIO, writing: 2)
        let file = try files.open("/f", .create)
        #expect(throws: FileError.self) { try file.write([1, 2, 3], at: 0) }
        #expect(try file.contents() == [1, 2])
    }

    @Test func `No call has an effect after a stop`() throws {
        let files = SimulatedFileSystem()
        files.stop(atCall: 2)
        let file = try files.open("/f", .create)
        let stopped = FileError(
            call: .write,
            path: "/f",
            errorNumber: SimulatedFileSystem.stoppedErrorNumber
        )
        #expect(throws: stopped) { try file.write([1], at: 0) }
        #expect(throws: FileError.self) { try file.sync() }
        #expect(throws: FileError.self) { try files.remove("/f") }
        #expect(files.callCount == 4)
        #expect(files.trace.count == 1)
        #expect(try files.contents(of: "/f") == [])
        #expect(try files.crash(.keepingEverything).list("/") == ["f"])
    }

    @Test func `A full disk accepts what fits, rejects the rest, and recovers`() throws {
        let files = SimulatedFileSystem(capacity: 1000)
        let file = try files.open("/f", .create)
        try file.write([UInt8](repeating: 1, count: 900), at: 0)
        let full = FileError(call: .write, path: "/f", errorNumber: ENOSPC)
        #expect(throws: full) { try file.write([UInt8](repeating: 2, count: 200), at: 900) }
        #expect(try file.byteCount() == 1000)
        try file.write([3], at: 0)
        #expect(try file.read(1, at: 0) == [3])
        #expect(throws: FileError(call: .allocate, path: "/f", errorNumber: ENOSPC)) {
            try file.allocate(to: 1001)
        }
        #expect(try file.byteCount() == 1000)
        let other = try files.open("/g", .create)
        #expect(throws: FileError(call: .write, path: "/g", errorNumber: ENOSPC)) {
            try other.write([1], at: 0)
        }
        // Removing gives space back only when nobody has the file open any more.
        try files.remove("/f")
        #expect(throws: FileError.self) { try other.write([1], at: 0) }
        file.close()
        try other.allocate(to: 1000)
        files.setCapacity(2000)
        try other.allocate(to: 2000)
    }

    @Test func `A range can be unreadable temporarily`() throws {
        let files = SimulatedFileSystem()
        try files.make("/f", [1, 2, 3, 4])
        try files.failReads(of: "/f", in: 2..<3, with: EIO)
        let file = try files.open("/f", .read)
        #expect(try file.read(2, at: 0) == [1, 2])
        #expect(try file.read(1, at: 3) == [4])
        #expect(throws: FileError(call: .read, path: "/f", errorNumber: EIO)) {
            try file.read(4, at: 0)
        }
        files.clearFaults()
        #expect(try file.read(4, at: 0) == [1, 2, 3, 4])
    }

    @Test func `A flipped bit stays flipped after a power loss`() throws {
        let files = SimulatedFileSystem()
        try files.setContents(of: "/f", to: [0, 0b1000])
        try files.flipBit("/f", at: 1, bit: 3)
        try files.flipBit("/f", at: 0, bit: 7)
        #expect(files.callCount == 0)
        #expect(try files.contents("/f") == [0b1000_0000, 0])
        #expect(try files.crash(.losingEverythingUnsynced).contents("/f") == [0b1000_0000, 0])
    }

    @Test func `Contents that are set directly are durable`() throws {
        let files = SimulatedFileSystem()
        try files.make("/f", [1, 2, 3])
        try files.make("/other", [])
        try files.setContents(of: "/f", to: [9])
        let after = files.crash(.losingEverythingUnsynced)
        #expect(try after.list("/") == ["f"])
        #expect(try after.contents("/f") == [9])
        #expect(throws: FileError(call: .open, path: "/no/f", errorNumber: ENOENT)) {
            try files.setContents(of: "/no/f", to: [])
        }
    }

    @Test func `After a failed sync, no later sync makes the same bytes durable`() throws {
        let files = SimulatedFileSystem()
        let file = try files.open("/f", .create)
        try file.allocate(to: 1536)
        try file.sync()
        try files.syncDirectory("/")
        files.failCall(files.callCount(of: .sync) + 1, of: .sync, with: EIO)
        try file.write([1], at: 0)
        try file.write([1], at: 512)
        #expect(throws: FileError(call: .sync, path: "/f", errorNumber: EIO)) { try file.sync() }
        try file.write([2], at: 513)
        try file.write([3], at: 1024)
        try file.sync()
        #expect(try file.read(1, at: 0) == [1])
        let after = try files.crash(.losingEverythingUnsynced).contents("/f")
        // The first sector is gone; the second was written again as a whole, the third is new.
        #expect([after[0], after[512], after[513], after[1024]] == [0, 1, 2, 3])
        #expect(try files.crash(.keepingEverything).contents("/f")[0] == 1)
    }
}
