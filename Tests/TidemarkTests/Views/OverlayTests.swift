// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

@Suite struct OverlayTests {
    /// What a plain dictionary says about the same history.
    struct Model {
        var versions: [ViewKey: [(sequence: SequenceNumber, state: RecordState)]] = [:]

        func newest(_ key: ViewKey, through bound: SequenceNumber) -> (SequenceNumber, RecordState)?
        {
            versions[key]?.last { $0.sequence <= bound }.map { ($0.sequence, $0.state) }
        }

        /// Adds a version in any state to a slot, and returns the change.
        mutating func change(
            _ key: ViewKey,
            at sequence: SequenceNumber,
            _ random: inout SeededGenerator
        ) -> SlotChange {
            let last = versions[key]?.last
            let state: RecordState = Bool.random(using: &random) ? .live : .tombstone
            versions[key, default: []].append((sequence, state))
            return SlotChange(
                zone: key.zone,
                slot: key.slot,
                sequence: sequence,
                previous: last?.sequence ?? 0,
                state: state,
                previousState: last?.state
            )
        }
    }

    private static func bounds(through last: UInt64, by step: UInt64) -> [SequenceNumber] {
        stride(from: 0, through: last, by: UInt64.Stride(step)).map(SequenceNumber.init(rawValue:))
    }

    /// A history over few slots, so that versions pile up, and many, so that the table grows.
    func history(
        slots: UInt64,
        zones: UInt64 = 3,
        count: Int,
        seed: UInt64
    ) -> (OverlayGeneration, Model) {
        var random = SeededGenerator(seed: seed)
        let generation = OverlayGeneration(expectedEntryCount: 4)
        var model = Model()
        for step in 1...count {
            let key = ViewKey(
                UInt64.random(in: 1...zones, using: &random),
                .random(in: 0..<slots, using: &random)
            )
            let sequence = SequenceNumber(rawValue: UInt64(step * 2))
            generation.apply(model.change(key, at: sequence, &random))
        }
        return (generation, model)
    }

    @Test(arguments: [UInt64(1), 7, 5_000])
    func `Every version is found at every bound`(_ slots: UInt64) {
        let (generation, model) = history(slots: slots, count: 3_000, seed: slots)
        for key in model.versions.keys {
            for bound in Self.bounds(through: 6_002, by: 301) {
                let found = generation.newest(zone: key.zone, slot: key.slot, through: bound)
                let expected = model.newest(key, through: bound)
                #expect(found?.sequence == expected?.0)
                #expect(found?.state == expected?.1)
            }
        }
        #expect(generation.newest(zone: 4, slot: 0) == nil)
        #expect(generation.newest(zone: 1, slot: Slot(rawValue: slots)) == nil)
    }

    @Test func `An entry is newest exactly where the model agrees`() {
        let (generation, model) = history(slots: 20, count: 1_000, seed: 3)
        for bound in Self.bounds(through: 2_002, by: 97) {
            for entry in generation.entries where entry.sequence <= bound {
                let newest = model.newest(
                    ViewKey(zone: entry.zone, slot: entry.slot),
                    through: bound
                )
                #expect(generation.isNewest(entry, through: bound) == (newest?.0 == entry.sequence))
            }
        }
    }

    @Test(arguments: [UInt64(3), 1_000])
    func `Entries and head of a zone follow the bound`(_ zones: UInt64) throws {
        let (generation, model) = history(slots: 20, zones: zones, count: 3_000, seed: 4)
        #expect(Set(generation.zones.map(\.key)) == Set(model.versions.keys.map(\.zone)))
        for zone in generation.zones {
            let sequences = model.versions.filter { $0.key.zone == zone.key }
                .flatMap { $0.value.map(\.sequence) }.sorted()
            #expect(zone.entries.map { generation.entries[Int($0)].sequence } == sequences)
            for bound in Self.bounds(through: 6_002, by: 333) {
                let within = sequences.filter { $0 <= bound }
                #expect(generation.entryCount(of: zone, through: bound) == within.count)
                #expect(generation.head(of: zone, through: bound) == within.last ?? 0)
            }
        }
    }

    @Test func `A checkpoint leaves one entry per record in each table`() throws {
        let index = MemoryViewIndex()
        var random = SeededGenerator(seed: 9)
        var model = Model()
        var live: [ZoneKey: (live: Int64, tombstones: Int64)] = [:]
        var sequence = SequenceNumber.zero
        for round in 0..<8 {
            let generation = OverlayGeneration()
            if round == 0 {
                for zone: ZoneKey in [1, 2, 3] { generation.apply(creation(zone), key: zone) }
                sequence = 3
            }
            for _ in 0..<300 {
                sequence = sequence.next
                let key = ViewKey(
                    .random(in: 1...3, using: &random),
                    .random(in: 0..<90, using: &random)
                )
                generation.apply(model.change(key, at: sequence, &random))
            }
            let batch = try generation.makeBatch(over: index.snapshot())
            index.apply(
                batch,
                checkpoint: ViewCheckpoint(
                    store: StoreID(low: 1, high: 2),
                    incarnation: Incarnation(rawValue: 1),
                    sequence: generation.lastSequence
                )
            )
        }
        var expectedNames: [ViewKey: ViewValue] = [:]
        var expectedSync: [ViewKey: ViewValue] = [:]
        for (key, versions) in model.versions {
            let last = try #require(versions.last)
            expectedNames[key] = .word(last.sequence.rawValue, tag: last.state.rawValue)
            expectedSync[ViewKey(zone: key.zone, sequence: last.sequence)] = .word(
                key.low,
                tag: last.state.rawValue
            )
            if last.state == .live {
                live[key.zone, default: (0, 0)].live += 1
            } else {
                live[key.zone, default: (0, 0)].tombstones += 1
            }
        }
        let snapshot = index.snapshot()
        #expect(try contents(of: .names, in: snapshot) == expectedNames)
        #expect(try contents(of: .sync, in: snapshot) == expectedSync)
        for zone: ZoneKey in [1, 2, 3] {
            let value = try #require(try snapshot.value(in: .zones, for: .zone(zone)))
            let entry = try ZoneEntry(value, key: zone)
            #expect(entry.liveCount == live[zone]?.live)
            #expect(entry.tombstoneCount == live[zone]?.tombstones)
            #expect(
                entry.head == expectedSync.keys.filter { $0.zone == zone }.map(\.sequence).max()
            )
        }
        #expect(try contents(of: .zoneHeads, in: snapshot).count == 3)
    }

    private func creation(_ zone: ZoneKey) -> ZoneCreation {
        ZoneCreation(
            identity: ZoneIdentity(database: .standard, zoneName: Name("zone\(zone)")),
            place: ViewKey(1, zone.rawValue),
            time: 0
        )
    }

    private func contents(
        of table: ViewTable,
        in snapshot: any ViewSnapshot
    ) throws -> [ViewKey: ViewValue] {
        var contents: [ViewKey: ViewValue] = [:]
        try snapshot.scan(table, from: ViewKey(0, 0), through: ViewKey(.max, .max)) { key, value in
            contents[key] = value
            return true
        }
        return contents
    }
}
