// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing

@testable import TidemarkLog

/// Damage to segments whose events are grouped by zone.
@Suite struct StripeDamageTests {
    /// A closed log whose first segment is one stripe of several zones.
    private struct World {
        let disk: SimulatedFileSystem
        let path: String
        let events: [WrittenEvent]
        let reader: SegmentReader

        init() throws {
            let striped = try StripedLog(.random, zoneCount: 6, commitCount: 260)
            try striped.compact { $0.sequence.rawValue % 9 == 0 ? .dropped : .kept }
            #expect(try striped.log.removeReplacedSegments())
            reader = try striped.compacted()
            #expect(reader.stripes.count == 1)
            events = try striped.log.written()
            path = reader.file.path
            try striped.log.close()
            disk = striped.disk
        }

        /// The events that are in some blocks.
        func events(in entries: [BlockEntry]) throws -> Set<UInt64> {
            var found: Set<UInt64> = []
            for entry in entries where !entry.isMap {
                var cursor = BlockCursor(try reader.decode(entry))
                while try cursor.advance() { found.insert(cursor.sequence.rawValue) }
            }
            return found
        }

        /// A copy of the disk with bits turned over.
        func damaging(at offsets: [Int]) throws -> SimulatedFileSystem {
            let copy = disk.crash(.keepingEverything)
            for offset in offsets { try copy.flipBit(path, at: offset, bit: offset % 8) }
            return copy
        }
    }

    @Test func `Every flipped bit is detected at its position`() throws {
        let world = try World()
        let byteCount = try world.disk.contents(of: world.path).count
        let bySequence = Dictionary(uniqueKeysWithValues: world.events.map { ($0.sequence, $0) })
        for offset in stride(from: 0, to: byteCount, by: 41) {
            let disk = try world.damaging(at: [offset])
            let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
            var found: [WrittenEvent] = []
            let damage = try reader.verify { found.append(WrittenEvent($0)) }.damage
            #expect(!damage.isEmpty, "byte \(offset)")
            #expect(damage.allSatisfy { $0.path == world.path && $0.offset != nil })
            #expect(found.allSatisfy { bySequence[$0.sequence] == $0 })
            #expect(zip(found, found.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
        }
    }

    @Test func `A reader that may skip damage reads everything outside damaged blocks`() throws {
        let world = try World()
        let all = (1...(world.events.last?.sequence ?? 1)).map(SequenceNumber.init(rawValue:))
        for index in 0..<world.reader.blockCount {
            let entry = try #require(world.reader.entry(at: index))
            let disk = try world.damaging(at: [Int(entry.offset)])
            let lost = try world.events(in: [entry])
            let expected = world.events.filter { !lost.contains($0.sequence) }
            let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
            var found: [WrittenEvent] = []
            try reader.read(all) {
                found.append(WrittenEvent($0))
                return true
            }
            #expect(found == expected)
            #expect(try reader.written() == expected)
            #expect(reader.damage.contains { $0.offset == UInt64(entry.offset) })
        }
    }

    @Test func `Salvage keeps intact blocks and reports every incomplete commit`() throws {
        let world = try World()
        let entries = world.reader.entries(0..<world.reader.blockCount)
        let maps = entries.filter(\.isMap)
        let blocks = entries.filter { !$0.isMap }
        for damaged in [maps, [blocks[1]], [blocks[0], blocks[3]], maps + [blocks[2]]] {
            let disk = try world.damaging(at: damaged.map { Int($0.offset) + 1 })
            let (salvage, copied) = try CrashWorkload.salvage(on: disk)
            let lost = try world.events(in: damaged)
            let sound = world.events.filter { !lost.contains($0.sequence) }
            #expect(copied == sound)
            // What was lost is told, and nothing that was kept is told as lost.
            let told = Set(
                salvage.lost.flatMap { $0.lowerBound.rawValue...$0.upperBound.rawValue }
            )
            #expect(told.isSuperset(of: lost))
            #expect(told.isDisjoint(with: sound.map(\.sequence)))
            #expect(lost.isEmpty == told.isEmpty)
            let cut = Set(sound.map(\.commitFirst)).filter { first in
                guard let event = sound.first(where: { $0.commitFirst == first }) else {
                    return false
                }
                return !lost.isDisjoint(with: first..<first + UInt64(event.eventCount))
            }
            #expect(Set(salvage.incomplete.map(\.rawValue)).isSuperset(of: cut))
            // Of a frame, what is met first is told.
            let offset = try #require(damaged.map(\.offset).min())
            #expect(salvage.damage.first?.message.contains("at offset \(offset),") == true)
        }
    }

    @Test func `Salvage finds the blocks of a frame by the footer if the frame is damaged`()
        throws
    {
        let world = try World()
        let start = world.reader.header.framesOffset
        let table = Layout.frameHeaderByteCount
        let end = start + table + world.reader.blockCount * Layout.blockEntryByteCount
        for offset in stride(from: start, to: end, by: 7) {
            let disk = try world.damaging(at: [offset])
            let (salvage, copied) = try CrashWorkload.salvage(on: disk)
            #expect(copied == world.events, "byte \(offset)")
            #expect(salvage.lost == [])
            #expect(salvage.incomplete == [])
            #expect(!salvage.damage.isEmpty)
        }
    }

    @Test func `Salvage of a truncated file keeps everything before the end`() throws {
        let world = try World()
        let byteCount = try world.disk.contents(of: world.path).count
        let entries = world.reader.entries(0..<world.reader.blockCount)
        let first = Int(try #require(entries.first).offset)
        for length in stride(from: first, to: byteCount - 1, by: 977) {
            let disk = world.disk.crash(.keepingEverything)
            try disk.open(world.path, .readWrite).truncate(to: UInt64(length))
            let lost = try world.events(
                in: entries.filter { Int($0.offset) + Int($0.storedByteCount) > length }
            )
            let (salvage, copied) = try CrashWorkload.salvage(on: disk)
            #expect(copied == world.events.filter { !lost.contains($0.sequence) }, "\(length)")
            #expect(!salvage.damage.isEmpty, "\(length)")
            let told = Set(
                salvage.lost.flatMap { $0.lowerBound.rawValue...$0.upperBound.rawValue }
            )
            #expect(told.isSuperset(of: lost), "\(length)")
            #expect(told.isDisjoint(with: copied.map(\.sequence)), "\(length)")
        }
    }

    @Test func `A log with a damaged footer is read by its frames`() throws {
        let world = try World()
        let footer = try #require(
            try LogReader(CrashWorkload.path, fileSystem: world.disk).manifest.segments.first
        )
        let offset = Int(try #require(footer.framesEnd)) + 20
        let disk = try world.damaging(at: [offset])
        let reader = try LogReader(CrashWorkload.path, fileSystem: disk)
        #expect(try reader.written() == world.events)
        let positions = world.events.filter { $0.zone == 2 }
        var found: [WrittenEvent] = []
        try reader.read(positions.map { SequenceNumber(rawValue: $0.sequence) }) {
            found.append(WrittenEvent($0))
            return true
        }
        #expect(found == positions)
        found = []
        try reader.scan(
            zone: 2,
            from: SequenceNumber(rawValue: 100),
            through: reader.durableSequence
        ) {
            found.append(WrittenEvent($0))
            return true
        }
        #expect(found == positions.filter { $0.sequence >= 100 })
        #expect(reader.damage.count == 1)
    }

    @Test func `Ranges of positions are separated`() {
        func runs(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<SequenceNumber>] {
            ranges.map {
                SequenceNumber(rawValue: $0.lowerBound)...SequenceNumber(rawValue: $0.upperBound)
            }
        }
        var numbers = SeededGenerator(seed: 2)
        func randomRuns() -> [ClosedRange<UInt64>] {
            var ranges: [ClosedRange<UInt64>] = []
            var position: UInt64 = 1
            while position < 60 {
                let start = position + UInt64.random(in: 1...9, using: &numbers)
                let end = start + UInt64.random(in: 0...7, using: &numbers)
                ranges.append(start...end)
                position = end + 1
            }
            return ranges
        }
        for _ in 0..<300 {
            let (missing, kept) = (randomRuns(), randomRuns())
            let first = UInt64.random(in: 1...70, using: &numbers)
            let last = UInt64.random(in: 1...70, using: &numbers)
            let result = runs(missing).removing(
                from: SequenceNumber(rawValue: first),
                through: SequenceNumber(rawValue: last),
                except: runs(kept)
            )
            for position in 1...80 as ClosedRange<UInt64> {
                let isMissing = missing.contains { $0.contains(position) }
                let isKnown =
                    first <= position && position <= last
                    && !kept.contains { $0.contains(position) }
                let sequence = SequenceNumber(rawValue: position)
                #expect(result.overlap(sequence...sequence) == (isMissing && !isKnown))
            }
        }
    }
}
