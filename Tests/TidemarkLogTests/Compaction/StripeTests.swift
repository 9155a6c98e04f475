// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkLog

/// Segments whose events are grouped by zone.
@Suite struct StripeTests {
    /// One in five goes, and one in twenty has another in its place.
    private static func fate(_ event: LogEvent) -> EventFate {
        switch event.sequence.rawValue * 7 % 20 {
        case 0..<4: .dropped
        case 4: .replaced([9, 9])
        default: .kept
        }
    }

    private static func kept(_ events: [WrittenEvent], through last: UInt64) -> [WrittenEvent] {
        events.compactMap { event in
            guard event.sequence <= last else { return event }
            var event = event
            switch event.sequence * 7 % 20 {
            case 0..<4: return nil
            case 4:
                event.payload = [9, 9]
                event.zone = 0
            default: break
            }
            return event
        }
    }

    @Test(arguments: StripedLog.Interleaving.allCases, [true, false])
    func `A striped log has the events of its source`(
        _ interleaving: StripedLog.Interleaving,
        drops: Bool
    ) throws {
        let striped = try StripedLog(interleaving, seed: drops ? 3 : 4)
        let expected =
            drops ? Self.kept(striped.events, through: striped.last.rawValue) : striped.events
        try striped.compact(drops ? Self.fate : { _ in .kept })
        let stripes = try striped.compacted().stripes
        #expect(!stripes.isEmpty)
        try Self.compareRanges(of: striped, expected)
        try Self.comparePositions(of: striped, expected)
        try Self.compareTimes(of: striped, expected)
        let path = CrashWorkload.path
        try striped.log.close()
        let reader = try LogReader(path, fileSystem: striped.disk)
        let verification = try reader.verify()
        #expect(verification.damage == [])
        #expect(verification.eventCount == UInt64(expected.count))
        #expect(try reader.written() == expected)
        for zone in Set(expected.prefix(400).map(\.zone)).sorted().prefix(12) {
            for first in [1, striped.last.rawValue / 2] {
                var found: [WrittenEvent] = []
                try reader.scan(
                    zone: zone,
                    from: SequenceNumber(rawValue: first),
                    through: reader.durableSequence
                ) {
                    found.append(WrittenEvent($0))
                    return true
                }
                #expect(found == expected.filter { $0.zone == zone && $0.sequence >= first })
            }
        }
    }

    private static func compareRanges(
        of striped: StripedLog,
        _ expected: [WrittenEvent]
    ) throws {
        var numbers = SeededGenerator(seed: 5)
        let end = striped.log.lastSequence.rawValue
        for limit in [1, 3, 50, 5_000, 100_000] {
            let first = UInt64.random(in: 1...end, using: &numbers)
            for last in [first, first + 5, first + 300, first + 3_000, end] {
                var found: [WrittenEvent] = []
                try striped.log.scan(
                    from: SequenceNumber(rawValue: first),
                    through: SequenceNumber(rawValue: last)
                ) {
                    found.append(WrittenEvent($0))
                    return found.count < limit
                }
                let range = expected.filter { first <= $0.sequence && $0.sequence <= last }
                #expect(found == Array(range.prefix(limit)))
            }
        }
    }

    /// Positions of one zone, of several, of all, and of none.
    private static func comparePositions(
        of striped: StripedLog,
        _ expected: [WrittenEvent]
    ) throws {
        var numbers = SeededGenerator(seed: 6)
        let end = striped.log.lastSequence.rawValue
        let zones = Set(expected.map(\.zone)).sorted()
        var wanted: [[UInt64]] = [Array(1...end)]
        for distance in [2, 10, 300] as [UInt64] {
            wanted.append((1...end).filter { _ in numbers.next() % distance == 0 })
            let zone = zones.randomElement(using: &numbers)
            wanted.append(expected.filter { $0.zone == zone }.map(\.sequence))
            let pair = [zones.randomElement(using: &numbers), zones.first]
            wanted.append(
                expected.filter { pair.contains($0.zone) && numbers.next() % distance < 2 }
                    .map(\.sequence)
            )
            wanted.append([UInt64.random(in: 1...end, using: &numbers)])
        }
        let bySequence = Dictionary(uniqueKeysWithValues: expected.map { ($0.sequence, $0) })
        for positions in wanted {
            var found: [WrittenEvent] = []
            try striped.log.read(positions.map(SequenceNumber.init(rawValue:))) {
                found.append(WrittenEvent($0))
                return true
            }
            #expect(found == positions.compactMap { bySequence[$0] })
        }
    }

    private static func compareTimes(
        of striped: StripedLog,
        _ expected: [WrittenEvent]
    ) throws {
        for time in stride(from: expected[0].time - 1, through: striped.log.lastTime + 1, by: 23) {
            let event = expected.last { $0.time <= time }
            let position = event.map { $0.commitFirst + UInt64($0.eventCount) - 1 } ?? 0
            #expect(try striped.log.lastSequence(atOrBefore: time).rawValue == position)
        }
    }

    @Test func `Each zone has its own consecutive blocks`() throws {
        let striped = try StripedLog(.random, zoneCount: 12, commitCount: 4_000)
        try striped.compact()
        let reader = try striped.compacted()
        let postings = try #require(reader.postings)
        for stripe in reader.stripes {
            let entries = reader.entries(stripe.blocks)
            for zone in postings.zones.map(\.key) {
                let blocks = postings.blocks(of: zone, in: stripe.blocks).map { entries[Int($0)] }
                #expect(zip(blocks, blocks.dropFirst()).allSatisfy { $0.last < $1.first })
                for entry in blocks {
                    var cursor = BlockCursor(try reader.decode(entry))
                    while try cursor.advance() { #expect(cursor.zone == zone) }
                }
            }
        }
    }

    @Test func `A log with one zone or few events is not striped`() throws {
        let single = try StripedLog(.turns, zoneCount: 1)
        let few = try StripedLog(.turns, zoneCount: 2, commitCount: 20)
        for striped in [single, few] {
            try striped.compact()
            let reader = try striped.compacted()
            #expect(reader.stripes.isEmpty)
            #expect(reader.header.version == Layout.plainVersion)
        }
        // Of the older version's frames there is one MiB each; a stretch of one zone keeps them.
        let stretches = try StripedLog(
            .stretches,
            commitCount: 4_000,
            payload: 3_000...4_000
        )
        try stretches.compact()
        let reader = try stretches.compacted()
        #expect(reader.header.version == Layout.formatVersion)
        #expect(!reader.stripes.isEmpty)
        #expect(reader.stripes.reduce(0) { $0 + $1.indexes.count } < reader.blockCount)
        #expect(try stretches.log.written() == stretches.events)
    }

    @Test
    func `Commits of many zones are not striped if their heads would be repeated too often`()
        throws
    {
        // Long ones: what is repeated is little beside them.
        for (payload, isGrouped) in [(10...40, false), (900...1_000, true)] {
            let striped = try StripedLog(.random, eventCount: 20...30, payload: payload)
            let before = try striped.byteCount()
            try striped.compact()
            let reader = try striped.compacted()
            #expect(reader.stripes.isEmpty != isGrouped)
            #expect(try striped.byteCount() < before)
            #expect(try striped.log.written() == striped.events)
        }
    }

    @Test func `Rewriting a striped log again, and then as a whole, keeps its events`() throws {
        let striped = try StripedLog(.random)
        try striped.compact()
        let loads = try striped.log.finishedSegments(through: striped.last)
        _ = try striped.log.rewrite(loads, fate: Self.fate)
        let expected = Self.kept(striped.events, through: striped.last.rawValue)
        #expect(try striped.log.written() == expected)
        #expect(try !striped.compacted().stripes.isEmpty)
        let written = try striped.log.writeAnew(through: striped.last) { event in
            event.sequence.rawValue % 2 == 0
                ? event.replacing(payload: [1], envelope: Array(event.envelope)) : event
        }
        try striped.log.replaceAll(with: written)
        let erased = expected.map { event in
            var event = event
            if event.sequence % 2 == 0, event.sequence <= striped.last.rawValue {
                event.payload = [1]
            }
            return event
        }
        #expect(try striped.log.written() == erased)
        #expect(try striped.log.removeReplacedSegments())
        try striped.log.close()
        let again = try StripedLog.open(striped.disk, seed: 9)
        #expect(try again.written() == erased)
        try again.close()
    }

    @Test func `A backup and forks from the middle of stripes keep all events`() throws {
        let striped = try StripedLog(.random)
        try striped.compact(Self.fate)
        let expected = try striped.log.written()
        try striped.log.close()
        let environment = CrashWorkload.environment(striped.disk, seed: 40)
        var backup = try LogBackup(
            from: CrashWorkload.path,
            to: "/backup.tide",
            environment: environment
        )
        try backup.copySegments()
        _ = try backup.finish()
        #expect(try LogReader("/backup.tide", fileSystem: striped.disk).written() == expected)
        for (number, position) in [100, 500, striped.last.rawValue - 3].enumerated() {
            let path = "/fork-\(number).tide"
            var fork = try LogRestore(
                from: CrashWorkload.path,
                to: path,
                through: SequenceNumber(rawValue: position),
                by: .links,
                environment: environment
            ) { (_, time) throws(LogError) in
                var draft = CommitDraft(time: time, received: time, envelope: [])
                draft.append(zone: 0) { $0.append(5) }
                return draft
            }
            try fork.copySegments()
            _ = try fork.finish()
            let reader = try LogReader(path, fileSystem: striped.disk)
            let kept = expected.filter {
                $0.commitFirst + UInt64($0.eventCount) - 1 <= fork.last.rawValue
            }
            #expect(try reader.written().dropLast() == kept[...])
            #expect(try reader.written().last?.payload == [5])
            #expect(try reader.verify().damage == [])
        }
    }

    // MARK: Figures

    /// Reads all events of a zone, and returns how many bytes of files that takes.
    private static func readByteCount(of zone: ZoneKey, in striped: StripedLog) throws -> Int {
        let events = striped.events.filter {
            $0.zone == zone && $0.sequence <= striped.last.rawValue
        }
        return try readByteCount(of: events, in: striped)
    }

    /// Reads some events without a cache, and returns how many bytes of files that takes.
    private static func readByteCount(
        of events: [WrittenEvent],
        in striped: StripedLog
    ) throws -> Int {
        let before = striped.disk.readByteCount
        var zones: [ZoneKey] = []
        try striped.log.read(events.map { SequenceNumber(rawValue: $0.sequence) }) { event in
            zones.append(event.zone)
            return true
        }
        #expect(zones == events.map(\.zone))
        return striped.disk.readByteCount - before
    }

    /// A compacted log with few zones, each of which has many blocks.
    private static func compactedLog(zoneCount: Int) throws -> StripedLog {
        let striped = try StripedLog(
            .random,
            zoneCount: zoneCount,
            commitCount: 12_000,
            payload: 60...400
        )
        try striped.compact()
        return striped
    }

    @Test func `Reading one of forty zones decodes only its blocks, and the log is smaller`()
        throws
    {
        let striped = try StripedLog(.random, commitCount: 20_000, payload: 60...400)
        _ = try Self.readByteCount(of: 1, in: striped)
        let before = try Self.readByteCount(of: 7, in: striped)
        let plain = try Self.plainByteCount(of: striped)
        try striped.compact()
        let reader = try striped.compacted()
        _ = try Self.readByteCount(of: 1, in: striped)
        let after = try Self.readByteCount(of: 7, in: striped)
        let blocks = try #require(reader.postings).blocks(of: 7)
        let byteCount = blocks.reduce(0) { sum, index in
            sum + Int(reader.entry(at: Int(index))?.storedByteCount ?? 0)
        }
        // Where the zone is not known yet, one map tells where its first block is.
        #expect(after <= byteCount + 2 * Layout.blockByteCount)
        #expect(after * 20 < before)
        #expect(try striped.byteCount() < plain)
    }

    @Test func `Where the zone of a read changes, the first is not read any further`()
        throws
    {
        let striped = try Self.compactedLog(zoneCount: 6)
        let reader = try striped.compacted()
        let postings = try #require(reader.postings)
        let stripe = try #require(reader.stripes.first)
        func blocks(of zone: ZoneKey) -> [BlockEntry] {
            let entries = reader.entries(stripe.blocks)
            return postings.blocks(of: zone, in: stripe.blocks).map { entries[Int($0)] }
        }
        let first = blocks(of: 1)
        try #require(first.count >= 15)
        // One, two and four blocks are guessed before the eighth, and eight with it: too few for a
        // second thread.
        let change = first[7].first
        let wanted = striped.events.filter { event in
            let zone: ZoneKey = event.sequence <= change.rawValue ? 1 : 2
            return event.zone == zone && event.sequence <= stripe.last.rawValue
        }
        let byteCount = try Self.readByteCount(of: wanted, in: striped)
        func storedByteCount(of blocks: some Sequence<BlockEntry>) -> Int {
            blocks.reduce(0) { $0 + Int($1.storedByteCount) }
        }
        // At the beginning of each zone, a map and its block in addition. The blocks that are read at
        // once with the eighth are read too.
        let needed =
            storedByteCount(of: first[..<8])
            + storedByteCount(of: blocks(of: 2).filter { $0.last > change })
            + 4 * Layout.blockByteCount
        #expect(byteCount <= needed + BlockDecoder.readByteCount)
    }

    @Test func `Pages of some zones leave the blocks of others in the cache`() throws {
        let striped = try Self.compactedLog(zoneCount: 12)
        try striped.log.close()
        let log = try StripedLog.open(striped.disk, seed: 9, cacheByteCount: 2 << 20)
        let segment = try #require(log.files.segments.first { $0.id.generation > 0 })
        let reader = try #require(try log.files.reader(of: segment))
        func isKept(_ entry: BlockEntry) -> Bool {
            log.files.cache.block(.init(segment: reader.id, offset: entry.offset)) != nil
        }
        func read(_ positions: ArraySlice<UInt64>) throws {
            try log.read(positions.map(SequenceNumber.init(rawValue:))) { _ in true }
        }
        let others = striped.events.filter { 5 <= $0.zone && $0.zone <= 10 }.map(\.sequence)
        for index in stride(from: 0, to: others.count, by: 10) { try read([others[index]]) }
        let before = reader.entries(0..<reader.blockCount).filter(isKept)
        try #require(before.count >= 40)
        for zone in [1, 2, 3, 4] as [ZoneKey] {
            let positions = striped.events.filter { $0.zone == zone }.map(\.sequence)
            // Of three or four blocks.
            for start in stride(from: 0, to: positions.count, by: 200) {
                try read(positions[start...].prefix(200))
            }
        }
        #expect(before.filter(isKept).count * 2 > before.count)
        try log.close()
    }

    /// How long the finished segments would be, compacted in the order of the log.
    private static func plainByteCount(of striped: StripedLog) throws -> UInt64 {
        let first = try #require(striped.log.files.segments.first)
        let reader = try #require(try striped.log.files.reader(of: first))
        var output = try CompactedSegment(
            SegmentID(first: first.id.first, generation: 9),
            incarnation: reader.header.incarnation,
            store: striped.log.store,
            sample: try DictionarySample.taken(from: reader),
            at: CrashWorkload.path + "/segments/plain.tmp",
            environment: striped.log.environment
        )
        try striped.log.scan(from: first.id.first, through: striped.last) { event in
            (try? output.append(event)) != nil
        }
        return try output.finish(through: striped.last).fileByteCount
    }
}
