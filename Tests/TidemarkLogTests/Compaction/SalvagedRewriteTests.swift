// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// What salvage makes of logs that compaction has rewritten.
@Suite struct SalvagedRewriteTests {
    /// A closed log whose finished segments were rewritten, and a folder that still has the old ones.
    private struct World {
        let disk = SimulatedFileSystem()
        let before: [WrittenEvent]
        let after: [WrittenEvent]

        init(commitCount: Int = 250) throws {
            let (small, last) = try RewriteTests.makeLog(
                on: disk,
                commitCount: commitCount,
                payload: 200...700
            )
            before = try small.written()
            try small.close()
            // Many segments become one with several blocks.
            var configuration = CrashWorkload.configuration
            configuration.segmentByteCount = 1 << 20
            let (log, _) = try SegmentLog.openAndSeal(
                CrashWorkload.path,
                creating: false,
                configuration: configuration,
                environment: CrashWorkload.environment(disk, seed: 8),
                onDurable: { _ in }
            )
            #expect(try RewriteTests.compact(log, through: last) == 1)
            try log.close()
            after = try LogReader(CrashWorkload.path, fileSystem: disk).written()
            #expect(after == RewriteTests.kept(before, through: last.rawValue))
        }

        func dropManifest() throws {
            for name in try disk.list(CrashWorkload.path)
            where name == "CURRENT" || StoreFolder.manifestNumber(name) != nil {
                try disk.remove("\(CrashWorkload.path)/\(name)")
            }
        }

        /// The segments that compaction wrote.
        func rewritten() throws -> [SegmentID] {
            try disk.list(StoreFolder(CrashWorkload.path).segments)
                .compactMap(SegmentID.init(fileName:))
                .filter { $0.generation > 0 }
        }

        /// Damages every second block of a segment, and returns the positions that were in them: those
        /// of their events, and those behind these that hold nothing.
        func damage(_ id: SegmentID) throws -> Set<UInt64> {
            let path = StoreFolder(CrashWorkload.path).segment(id)
            let file = try disk.open(path, .readWrite)
            let header = try FileHeader.read(from: file, kind: .segment)
            let footer = try SegmentReader.footer(of: file, header: header)
            let reader = SegmentReader(
                id: id,
                file: file,
                header: header,
                dictionary: try SegmentReader.dictionary(of: file, header: header),
                blocks: footer.directory
            )
            #expect(reader.stripes.count == 1)
            #expect(reader.blockCount > 5)
            var owners: [UInt64: Int] = [:]
            for (index, entry) in footer.directory.enumerated() where !entry.isMap {
                var cursor = BlockCursor(try reader.decode(entry))
                while try cursor.advance() { owners[cursor.sequence.rawValue] = index }
            }
            var owner = try #require(owners.min { $0.key < $1.key }?.value)
            var lost: Set<UInt64> = []
            for position in footer.summary.first.rawValue...footer.summary.last.rawValue {
                owner = owners[position] ?? owner
                if owner % 2 == 1 { lost.insert(position) }
            }
            for (index, entry) in footer.directory.enumerated() where index % 2 == 1 {
                try file.write([0xFF, 0x00, 0xFF].span.bytes, at: UInt64(entry.offset) + 2)
            }
            return lost
        }
    }

    @Test(arguments: [true, false])
    func `Salvage does not report or restore events that compaction dropped`(
        hasManifest: Bool
    ) throws {
        let world = try World()
        if !hasManifest { try world.dropManifest() }
        let (salvage, copied) = try CrashWorkload.salvage(on: world.disk)
        #expect(salvage.lost == [])
        #expect(salvage.incomplete == [])
        #expect(salvage.damage == [])
        #expect(copied == world.after)
        #expect(salvage.commitCount == UInt64(Set(world.after.map(\.commitFirst)).count))
    }

    @Test func `Unreadable events of a rewritten segment are lost, as are dropped ones between`()
        throws
    {
        let world = try World()
        let id = try #require(try world.rewritten().first)
        // The old segments are gone, as they are once nobody reads them.
        let (log, _) = try CrashWorkload.open(world.disk, seed: 7)
        #expect(try log.removeReplacedSegments())
        try log.close()
        let lost = try world.damage(id)
        let (salvage, copied) = try CrashWorkload.salvage(on: world.disk)
        #expect(
            salvage.lost.flatMap { $0.lowerBound.rawValue...$0.upperBound.rawValue }
                == lost.sorted()
        )
        let sound = world.after.filter { !lost.contains($0.sequence) }
        #expect(copied == sound)
        let incomplete = Set(world.after.map(\.commitFirst)).filter { first in
            let events = sound.filter { $0.commitFirst == first }
            guard let event = events.first else { return false }
            return !lost.isDisjoint(with: first...first + UInt64(event.eventCount) - 1)
        }
        #expect(salvage.incomplete.map(\.rawValue) == incomplete.sorted())
    }

    @Test(arguments: [true, false])
    func `Salvage reads old segments where the new one is damaged`(hasManifest: Bool) throws {
        let world = try World()
        if !hasManifest { try world.dropManifest() }
        let id = try #require(try world.rewritten().first)
        let lost = try world.damage(id)
        let (salvage, copied) = try CrashWorkload.salvage(on: world.disk)
        #expect(salvage.lost == [])
        #expect(!salvage.damage.isEmpty)
        let events =
            world.after.filter { !lost.contains($0.sequence) }
            + world.before.filter { lost.contains($0.sequence) }
        #expect(copied == events.sorted { $0.sequence < $1.sequence })
        #expect(copied.count > world.after.count)
    }

    @Test func `Salvage reads old segments if the new one is missing`() throws {
        let world = try World()
        let id = try #require(try world.rewritten().first)
        try world.disk.remove(StoreFolder(CrashWorkload.path).segment(id))
        let (salvage, copied) = try CrashWorkload.salvage(on: world.disk)
        #expect(salvage.lost == [])
        #expect(salvage.damage.map(\.path) == [StoreFolder(CrashWorkload.path).segment(id)])
        let last = try #require(world.before.last?.sequence)
        #expect(copied == world.before + world.after.filter { $0.sequence > last })
    }

    @Test
    func `A new segment that the manifest does not list is read only for missing events`() throws {
        let world = try World()
        let folder = StoreFolder(CrashWorkload.path)
        let id = try #require(try world.rewritten().first)
        let new = try world.disk.contents(of: folder.segment(id))
        // The store as it was, with what a compaction has left that was cut off.
        let disk = SimulatedFileSystem()
        let (log, last) = try RewriteTests.makeLog(on: disk, commitCount: 250, payload: 200...700)
        #expect(try log.written() == world.before)
        try log.close()
        try disk.make(folder.segment(id), new)
        let (first, whole) = try CrashWorkload.salvage(on: disk.crash(.keepingEverything))
        #expect(first.damage == [])
        #expect(whole == world.before)
        // Of a segment that is gone, what the new one has of it is left.
        let lost = try #require(
            try disk.list(folder.segments).compactMap(SegmentID.init(fileName:))
                .filter { $0.generation == 0 }.dropFirst(2).first
        )
        let next = try #require(
            try disk.list(folder.segments).compactMap(SegmentID.init(fileName:))
                .first { $0.first > lost.first }
        )
        try disk.remove(folder.segment(lost))
        let (salvage, copied) = try CrashWorkload.salvage(on: disk)
        #expect(salvage.damage.map(\.path) == [folder.segment(lost)])
        let range = lost.first.rawValue..<next.first.rawValue
        #expect(last.rawValue >= range.upperBound)
        let expected =
            world.before.filter { !range.contains($0.sequence) }
            + world.after.filter { range.contains($0.sequence) }
        #expect(copied == expected.sorted { $0.sequence < $1.sequence })
        #expect(copied.count < world.before.count)
    }

    @Test(arguments: [true, false])
    func `A manifest that is damaged anywhere loses nothing`(hasOldSegments: Bool) throws {
        let world = try World()
        if !hasOldSegments {
            let (log, _) = try CrashWorkload.open(world.disk, seed: 7)
            #expect(try log.removeReplacedSegments())
            try log.close()
        }
        let folder = StoreFolder(CrashWorkload.path)
        let number = try #require(
            try world.disk.list(folder.path).compactMap(StoreFolder.manifestNumber).max()
        )
        let manifest = folder.manifest(number)
        let contents = try world.disk.contents(of: manifest)
        let end = try #require(contents.lastIndex { $0 != 0 }) + 1
        for offset in stride(from: 0, to: end, by: runsLongTests ? 23 : 67) {
            let disk = world.disk.crash(.keepingEverything)
            try disk.flipBit(manifest, at: offset, bit: offset % 8)
            let (salvage, copied) = try CrashWorkload.salvage(on: disk)
            #expect(salvage.lost == [], "byte \(offset)")
            #expect(copied == world.after, "byte \(offset)")
        }
    }

    @Test func `An interrupted salvage leaves no store or a complete one, and the next succeeds`()
        throws
    {
        // Salvaged several times for each call: fewer blocks than elsewhere, and calls of every kind.
        let world = try World(commitCount: 80)
        func salvage(_ fileSystem: any FileSystem) throws {
            _ = try Salvage.run(
                from: CrashWorkload.path,
                to: CrashWorkload.salvagedPath,
                environment: CrashWorkload.environment(fileSystem, seed: 501)
            )
        }
        let image = world.disk.crash(.keepingEverything)
        let counting = image.crash(.keepingEverything)
        try salvage(counting)
        let callCount = counting.callCount - image.crash(.keepingEverything).callCount
        var cutCount = 0
        var emptyCalls: Set<Int> = []
        var reserveCount = 0
        for call in 1...callCount {
            let disk = image.crash(.keepingEverything)
            disk.failCall(disk.callCount + call, with: ENOSPC, forGood: true)
            do {
                try salvage(disk)
                continue
            } catch {
                cutCount += 1
            }
            for outcome in disk.crashOutcomes(limit: runsLongTests ? 3 : 1) + [.processKilled] {
                let found = disk.crash(outcome)
                if let reader = try? LogReader(CrashWorkload.salvagedPath, fileSystem: found) {
                    if reader.durableSequence == .zero {
                        emptyCalls.insert(call)
                    } else {
                        #expect(try reader.written() == world.after, "call \(call), \(outcome)")
                    }
                } else {
                    let folder = StoreFolder(CrashWorkload.salvagedPath)
                    if try found.exists(folder.unfinishedCurrent) {
                        // A longer one keeps room back as every store does.
                        if try !found.exists(folder.reserve) { try found.make(folder.reserve, [0]) }
                        reserveCount += 1
                    }
                    try salvage(found)
                    let copy = try LogReader(CrashWorkload.salvagedPath, fileSystem: found)
                    #expect(try copy.written() == world.after, "call \(call), \(outcome)")
                    #expect(try copy.verify().damage == [])
                }
            }
        }
        #expect(cutCount > 40)
        #expect(reserveCount > 40)
        // An empty store it is while its creation is made durable, its name is changed, and that is
        // made durable: three calls.
        #expect(emptyCalls.count <= 3)
    }
}
