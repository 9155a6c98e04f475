// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct DifferenceTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// A record's fields before and after.
    private struct Change: Equatable {
        var before: [String: FieldValue]?
        var after: [String: FieldValue]?
    }

    @Test(arguments: [8, 9, 10] as [UInt64])
    func `Differences equal those of the states at points of a history`(seed: UInt64) async throws {
        var lived = try LivedStore(at: folder.path(), seed: seed)
        try await lived.live(150)
        try lived.store.close()
        let store = try Store.open(at: folder.path(), access: .reading)
        var random = SeededGenerator(seed: seed)
        var zoneKinds: Set<String> = []
        for round in 0..<120 {
            let points = [
                lived.positions.randomElement(using: &random) ?? 0,
                lived.positions.randomElement(using: &random) ?? 0,
            ].sorted()
            let zone = round % 3 == 0 ? LivedStore.zones.randomElement(using: &random) : nil
            let expected = expected(lived, points[0], points[1], zone)
            var found: [RecordID: Change] = [:]
            var ids: [RecordID] = []
            try await store.visitDifferences(
                after: SequenceNumber(rawValue: points[0]),
                through: SequenceNumber(rawValue: points[1]),
                in: zone
            ) { difference in
                switch difference {
                case .zone(let zone): zoneKinds.insert("\(zone.kind)")
                case .record(let record):
                    ids.append(record.id)
                    found[record.id] = Change(
                        before: record.before.map(fields),
                        after: record.after.map(fields)
                    )
                    expectFields(of: record)
                }
                return true
            }
            #expect(found == expected, "from \(points[0]) to \(points[1])")
            #expect(ids == ids.sorted() && ids.count == found.count)
        }
        #expect(zoneKinds.count == 3, "zones began, ended, and both: \(zoneKinds)")
    }

    @Test func `Reading differing records reports progress, and ends when it is cancelled`()
        async throws
    {
        let store = try Store.open(at: folder.path(), access: .creating)
        let zone = ZoneID(zoneName: "many")
        let caller = Caller(user: "anna")
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        for start in stride(from: 0, to: 1_200, by: 400) {
            let saves = try (start..<start + 400).map { number in
                RecordSave(
                    RecordID(recordName: "r\(number)", zone: zone),
                    type: "Note",
                    fields: try Fields(["n": .int64(Int64(number))])
                )
            }
            _ = try await store.modifyRecords(ModifyRecordsRequest(saves: saves), as: caller)
        }
        let reports = Mutex([WorkProgress]())
        var recordCount = 0
        try await LongWork.reporting { report in
            reports.withLock { $0.append(report) }
        } during: {
            try await store.visitDifferences(after: 0, of: caller.database) { difference in
                if case .record = difference { recordCount += 1 }
                return true
            }
        }
        #expect(recordCount == 1_200)
        // Those of the walk count events, which are more than records.
        let ofRecords = reports.withLock { $0 }.filter { $0.total == 1_200 }
        #expect(ofRecords.map(\.done) == [0, 512, 1_024])
        let task = Task {
            try await store.visitDifferences(after: 0, of: caller.database) { _ in
                withUnsafeCurrentTask { $0?.cancel() }
                return true
            }
        }
        let error = await #expect(throws: SyncError.self) { try await task.value }
        #expect(error?.code == .operationCancelled)
        try store.close()
    }

    private func fields(_ record: Record) -> [String: FieldValue] {
        var fields: [String: FieldValue] = [:]
        for field in record.fields { fields[field.name] = field.value }
        return fields
    }

    /// The fields of a difference are those that differ, no more and no less.
    private func expectFields(of record: RecordDifference) {
        let before = record.before.map(fields) ?? [:]
        let after = record.after.map(fields) ?? [:]
        let names = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        #expect(record.fields.map(\.name) == names.sorted())
        for field in record.fields {
            #expect(field.before == before[field.name] && field.after == after[field.name])
        }
    }

    private func expected(
        _ lived: LivedStore,
        _ first: UInt64,
        _ last: UInt64,
        _ zone: ZoneID?
    ) -> [RecordID: Change] {
        let (before, after) = (lived.state(asOf: first), lived.state(asOf: last))
        var changes: [RecordID: Change] = [:]
        for id in Set(before.keys).union(after.keys)
        where before[id] != after[id] && (zone == nil || id.zone == zone) {
            changes[id] = Change(before: before[id], after: after[id])
        }
        return changes
    }

    @Test func `The difference of one record can be computed alone`() async throws {
        var lived = try LivedStore(at: folder.path(), seed: 11)
        try await lived.live(60)
        let last = try #require(lived.positions.last)
        for id in lived.moments.keys {
            var found: [RecordID] = []
            try await lived.store.visitDifferences(
                after: .zero,
                in: id.zone,
                record: id.recordName
            ) { difference in
                guard case .record(let record) = difference else {
                    Issue.record("zones are not asked for")
                    return true
                }
                found.append(record.id)
                #expect(record.kind == .added)
                return true
            }
            #expect(found == (lived.state(asOf: last)[id] == nil ? [] : [id]))
        }
    }

    @Test func `Points that do not exist, or are reversed, are rejected`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        for (first, last) in [(1, nil), (0, 1)] as [(UInt64, UInt64?)] {
            await #expect(throws: SyncError.self) {
                try await store.visitDifferences(
                    after: SequenceNumber(rawValue: first),
                    through: last.map(SequenceNumber.init(rawValue:))
                ) { _ in true }
            }
        }
        _ = try await store.modifyZones(
            ModifyZonesRequest(saves: [ZoneID(zoneName: "a")]),
            as: Caller()
        )
        await #expect(throws: SyncError.self) {
            try await store.visitDifferences(after: store.lastSequence, through: .zero) { _ in
                true
            }
        }
    }
}
