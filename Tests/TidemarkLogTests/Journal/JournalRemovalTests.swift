// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing

@testable import TidemarkLog

@Suite struct JournalRemovalTests {
    private let folder = StoreFolder("/store")
    private let store = StoreID(low: 1, high: 2)

    /// A disk with a journal of several segments, in which every third entry is about Bob.
    private func disk() throws -> SimulatedFileSystem {
        let disk = SimulatedFileSystem()
        try disk.createDirectory("/store")
        try disk.syncDirectory("/")
        let journal = journal(disk, seed: 1)
        for number in 0..<60 {
            let name = number % 3 == 0 ? "bob" : "anna"
            journal.append(Array("\(number) \(name) \(number * 7919)".utf8), at: Int64(number))
            // Of eight kilobytes each.
            journal.append([UInt8](repeating: 46, count: 1_000), at: Int64(number))
            journal.flush()
        }
        journal.close()
        return disk
    }

    private func journal(_ disk: SimulatedFileSystem, seed: UInt64) -> Journal {
        var environment = LogEnvironment.fixed(disk, seed: seed)
        environment.writesInline = true
        var configuration = JournalConfiguration()
        configuration.byteCount = 128 << 10
        return Journal(folder, of: store, Incarnation(rawValue: 7), configuration, environment)
    }

    private func texts(_ disk: SimulatedFileSystem) -> [String] {
        var reader = JournalReader(folder, of: store, disk)
        var texts: [String] = []
        reader.read { (_, _, bytes) in
            let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            if !text.hasPrefix(".") { texts.append(text) }
        }
        #expect(reader.damage.isEmpty)
        return texts
    }

    private func isBob(_ bytes: RawSpan) -> Bool {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.contains("bob")
    }

    /// Whether some file of the journal has a word in it.
    private func mentions(_ word: String, _ disk: SimulatedFileSystem) throws -> Bool {
        try disk.list(folder.journal).contains { name in
            let bytes = try disk.contents(of: folder.journal + "/" + name)
            return Data(bytes).range(of: Data(word.utf8)) != nil
        }
    }

    @Test func `No byte of removed entries remains, and other entries are kept`() throws {
        let disk = try disk()
        let before = texts(disk)
        // Of an entry that is damaged nobody knows whose it was.
        let damaged = try disk.contents(of: folder.journalSegment(1))
        let place = try #require(Data(damaged).range(of: Data("0 bob".utf8))?.lowerBound)
        try disk.flipBit(folder.journalSegment(1), at: place, bit: 0)
        let journal = journal(disk, seed: 2)
        journal.append(Array("new bob".utf8), at: 100)
        let count = try journal.removeEntries(where: isBob)
        #expect(count == 20)
        #expect(try !mentions("bob", disk))
        #expect(texts(disk) == before.filter { !$0.contains("bob") })
        // The journal goes on in what was rewritten.
        journal.append(Array("later".utf8), at: 101)
        journal.close()
        #expect(texts(disk).last == "later")
        #expect(try self.journal(disk, seed: 3).removeEntries(where: isBob) == 0)
    }

    @Test func `A removal on a full disk loses other entries, and does not fail`() throws {
        let disk = try disk()
        let before = texts(disk)
        let journal = journal(disk, seed: 2)
        disk.failCall(disk.callCount(of: .write) + 1, of: .write, with: ENOSPC, forGood: true)
        let count = try journal.removeEntries(where: isBob)
        disk.clearFaults()
        #expect(count > 20)
        #expect(try !mentions("bob", disk))
        #expect(Set(texts(disk)).isSubset(of: before))
    }

    @Test func `An interrupted removal can be repeated and loses nothing else`() throws {
        let sound = try disk()
        let before = texts(sound)
        let kept = before.filter { !$0.contains("bob") }
        let start = sound.callCount
        _ = try journal(sound, seed: 2).removeEntries(where: isBob)
        let callCount = sound.callCount - start
        #expect(callCount > 20)
        for call in 1...callCount {
            for stops in [false, true] {
                var disk = try disk()
                if stops {
                    disk.stop(atCall: disk.callCount + call)
                } else {
                    disk.failCall(disk.callCount + call, with: EIO)
                }
                let failure = Result { () throws(FileError) in
                    try journal(disk, seed: 2).removeEntries(where: isBob)
                }
                disk.clearFaults()
                if stops {
                    #expect(throws: FileError.self) { try failure.get() }
                    disk = disk.crash(
                        call % 2 == 0 ? .losingEverythingUnsynced : .keepingEverything
                    )
                }
                let found = texts(disk)
                #expect(Set(found).isSuperset(of: kept) && Set(found).isSubset(of: before))
                _ = try journal(disk, seed: 3).removeEntries(where: isBob)
                #expect(texts(disk) == kept, "call \(call)")
                #expect(try !mentions("bob", disk), "call \(call)")
            }
        }
    }
}
