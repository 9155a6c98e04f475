// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import TidemarkLog

/// What a power loss may and may not take from a simulated disk.
@Suite struct SimulatedCrashTests {
    private func sectors(_ values: UInt8...) -> [UInt8] {
        values.flatMap { [UInt8](repeating: $0, count: 512) }
    }

    /// A disk with one durable file `/f` of these bytes.
    private func disk(holding bytes: [UInt8]) throws -> (SimulatedFileSystem, any LogFile) {
        let files = SimulatedFileSystem()
        let file = try files.open("/f", .create)
        try file.write(bytes, at: 0)
        try file.sync()
        try files.syncDirectory("/")
        return (files, file)
    }

    /// What each permitted power loss makes of a file; nothing where the file is gone.
    private func results(
        _ files: SimulatedFileSystem,
        _ path: String = "/f",
        limit: Int = 10_000
    ) throws -> [[UInt8]?] {
        try files.crashOutcomes(limit: limit).map { outcome in
            let after = files.crash(outcome)
            return try after.exists(path) ? after.contents(path) : nil
        }
    }

    @Test func `Synced data is in every outcome`() throws {
        let (files, _) = try disk(holding: [1, 2, 3])
        #expect(try results(files) == [[1, 2, 3]])
        #expect(try files.crash(.seeded(7)).contents("/f") == [1, 2, 3])
    }

    @Test func `Unsynced sectors are lost or kept independently`() throws {
        let (files, file) = try disk(holding: sectors(1, 1, 1))
        try file.write(sectors(2, 2, 2), at: 0)
        let found = Set(try results(files))
        var expected: Set<[UInt8]?> = []
        for number in 0..<8 as Range<UInt8> {
            expected.insert(sectors(1 + number & 1, 1 + number >> 1 & 1, 1 + number >> 2))
        }
        #expect(found == expected)
        #expect(try files.crash(.losingEverythingUnsynced).contents("/f") == sectors(1, 1, 1))
        #expect(try files.crash(.keepingEverything).contents("/f") == sectors(2, 2, 2))
    }

    @Test func `A write tears only at sector boundaries`() throws {
        let (files, file) = try disk(holding: sectors(1, 1))
        try file.write([UInt8](repeating: 2, count: 100), at: 500)
        let first = sectors(1).prefix(500) + [UInt8](repeating: 2, count: 12)
        let second = [UInt8](repeating: 2, count: 88) + sectors(1).prefix(424)
        #expect(
            Set(try results(files)) == [
                sectors(1, 1), first + sectors(1), sectors(1) + second, first + second,
            ]
        )
    }

    @Test func `A sector written twice has its versions in order`() throws {
        let (files, file) = try disk(holding: [0, 0])
        try file.write([1], at: 0)
        try file.write([2], at: 1)
        #expect(Set(try results(files)) == [[0, 0], [1, 0], [1, 2]])
    }

    @Test func `A grown file has its old or new length, and zeros for missing data`() throws {
        let (files, file) = try disk(holding: sectors(1))
        try file.write(sectors(2, 3), at: 512)
        #expect(
            Set(try results(files)) == [
                sectors(1), sectors(1, 0), sectors(1, 2),
                sectors(1, 0, 0), sectors(1, 2, 0), sectors(1, 0, 3), sectors(1, 2, 3),
            ]
        )
    }

    @Test func `Allocated bytes are zeros at any length`() throws {
        let (files, file) = try disk(holding: [1])
        try file.allocate(to: 4096)
        let found = try results(files)
        #expect(found.contains([1]))
        #expect(found.contains([1] + [UInt8](repeating: 0, count: 4095)))
        #expect(found.count > 2)
        for bytes in found { #expect(try #require(bytes).dropFirst().allSatisfy { $0 == 0 }) }
        try file.sync()
        #expect(try results(files).map { $0?.count } == [4096])
    }

    @Test func `A truncation survives or not, and later changes survive only with it`() throws {
        let (files, file) = try disk(holding: [1, 2, 3, 4])
        try file.truncate(to: 2)
        #expect(Set(try results(files)) == [[1, 2, 3, 4], [1, 2]])
        try file.write([9], at: 2)
        #expect(Set(try results(files)) == [[1, 2, 3, 4], [1, 2], [1, 2, 0], [1, 2, 9]])
        try file.sync()
        #expect(try results(files) == [[1, 2, 9]])
    }

    @Test func `A synced file is durable only with its name`() throws {
        let files = SimulatedFileSystem()
        let file = try files.open("/f", .create)
        try file.write([1], at: 0)
        try file.sync()
        #expect(Set(try results(files)) == [nil, [1]])
        try files.syncDirectory("/")
        #expect(try results(files) == [[1]])
    }

    @Test func `A durable name does not make the content durable`() throws {
        let files = SimulatedFileSystem()
        let file = try files.open("/f", .create)
        try file.write([1], at: 0)
        try files.syncDirectory("/")
        #expect(Set(try results(files)) == [[], [0], [1]])
    }

    @Test func `A directory is lost with its contents`() throws {
        let files = SimulatedFileSystem()
        try files.createDirectory("/d")
        let file = try files.open("/d/f", .create)
        try file.write([1], at: 0)
        try file.sync()
        try files.syncDirectory("/d")
        #expect(Set(try results(files, "/d/f")) == [nil, [1]])
        #expect(try !files.crash(.losingEverythingUnsynced).exists("/d"))
        try files.syncDirectory("/")
        #expect(try results(files, "/d/f") == [[1]])
    }

    @Test func `A rename is atomic`() throws {
        let (files, file) = try disk(holding: [1])
        let new = try files.open("/new", .create)
        try new.write([2], at: 0)
        try new.sync()
        try files.syncDirectory("/")
        try files.rename("/new", to: "/f")
        let outcomes = files.crashOutcomes(limit: 100)
        #expect(outcomes.count == 2)
        for outcome in outcomes {
            let after = files.crash(outcome)
            if try after.exists("/new") {
                #expect(try after.contents("/new") == [2])
                #expect(try after.contents("/f") == [1])
            } else {
                #expect(try after.contents("/f") == [2])
            }
        }
        #expect(try file.contents() == [1])
        try files.syncDirectory("/")
        #expect(try results(files) == [[2]])
        #expect(try files.crash(.losingEverythingUnsynced).list("/") == ["f"])
    }

    @Test func `Syncing one directory makes a rename durable in both`() throws {
        let files = SimulatedFileSystem()
        try files.createDirectory("/a")
        try files.createDirectory("/b")
        try files.make("/a/x", [])
        try files.syncDirectory("/")
        try files.syncDirectory("/a")
        try files.rename("/a/x", to: "/b/x")
        try files.make("/a/other", [])
        try files.syncDirectory("/b")
        let after = files.crash(.losingEverythingUnsynced)
        #expect(try after.list("/a") == [])
        #expect(try after.list("/b") == ["x"])
    }

    @Test func `Changes of different names survive independently, those of one name in order`()
        throws
    {
        let files = SimulatedFileSystem()
        try files.make("/a", [])
        try files.make("/b", [])
        try files.remove("/a")
        let found = try files.crashOutcomes(limit: 100).map { try files.crash($0).list("/") }
        #expect(Set(found) == [[], ["a"], ["b"], ["a", "b"]])
    }

    @Test func `A lost removal restores the synced content`() throws {
        let (files, file) = try disk(holding: [1])
        try file.write([2], at: 0)
        try file.sync()
        file.close()
        try files.remove("/f")
        #expect(Set(try results(files)) == [nil, [2]])
        try files.syncDirectory("/")
        #expect(try results(files) == [nil])
    }

    @Test func `A killed process loses its locks, and its writes only at a power loss`() throws {
        let (files, file) = try disk(holding: [1])
        #expect(try file.lock(.exclusive))
        try file.write([2], at: 0)
        let after = files.crash(.processKilled)
        let reopened = try after.open("/f", .readWrite)
        #expect(try reopened.lock(.exclusive))
        #expect(try reopened.contents() == [2])
        #expect(Set(try results(after)) == [[1], [2]])
        try reopened.sync()
        #expect(try results(after) == [[2]])
        // The first file system knows nothing of it.
        #expect(Set(try results(files)) == [[1], [2]])
    }

    @Test func `A crash is complete before the next one`() throws {
        let (files, file) = try disk(holding: sectors(1, 1))
        try file.write(sectors(2, 2), at: 0)
        for outcome in files.crashOutcomes(limit: 10) {
            let after = files.crash(outcome)
            #expect(try results(after) == [after.contents("/f")])
        }
    }
}
