// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

/// The zones of a database by their last events, as of a position.
@Suite struct PastZoneListTests {
    /// A zone's last event, and whether the zone had ended.
    private struct Head: Hashable {
        var sequence: SequenceNumber
        var hasEnded: Bool
    }

    @Test(arguments: 0..<(runsLongTests ? 12 : 2) as Range<UInt64>)
    func `The changed zones are those that a fold of the log finds`(_ seed: UInt64) async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.durability = .none
        // Finished segments list the blocks of each zone.
        options.segmentByteCount = 64 << 10
        options.checkpointEventCount = 2_000
        let client = Client(
            store: try Store.open(at: folder.path(), access: .creating, options: options)
        )
        var random = SeededGenerator(seed: seed)
        try await fill(client, &random)
        let reader = try client.store.parts.reader
        let now = try reader.picture(.visible)
        // Far more events than the first step looks back.
        #expect(now.bound > 10_000)
        for _ in 0..<20 {
            let last = UInt64.random(in: 1...now.bound.rawValue, using: &random)
            let bound = SequenceNumber(rawValue: last)
            let all = try folded(through: bound, reader, client.caller.database, now)
            let picture = FoldedPicture(reader, now, through: bound)
            // The list of a later start first, which does not have what the next one needs.
            for start in [SequenceNumber(rawValue: last / 2), .zero, SequenceNumber(rawValue: 9)] {
                let found = try picture.zones(
                    of: client.caller.database,
                    after: start,
                    quiet: 0,
                    limit: .max
                )
                .map { Head(sequence: $0.head, hasEnded: $0.end != nil) }
                #expect(found == all.filter { $0.sequence > start })
            }
        }
        try client.store.close()
    }

    /// Creates and deletes zones, and saves records in them: many at once, so that a zone is quiet
    /// between two of its changes.
    private func fill(_ client: Client, _ random: inout SeededGenerator) async throws {
        for step in 0..<80 {
            let zone = ZoneID(zoneName: "z\(Int.random(in: 0..<6, using: &random))")
            var request = ModifyZonesRequest(saves: [zone])
            if step % 9 == 8 { request = ModifyZonesRequest(deletions: [zone]) }
            _ = try await client.store.modifyZones(request, as: client.caller)
            if step % 9 == 8 { continue }
            let count = [1, 300, 400].randomElement(using: &random) ?? 1
            let saves = try (0..<count).map { number in
                RecordSave(
                    RecordID(recordName: "r\(number)", zone: zone),
                    type: "Note",
                    fields: try Fields(["n": .int64(Int64(step))]),
                    policy: .replace
                )
            }
            let records = ModifyRecordsRequest(saves: saves)
            for save in try await client.store.modifyRecords(records, as: client.caller).saves {
                _ = try save.get()
            }
        }
    }

    /// The last events of a database's zones, from every event of the log.
    private func folded(
        through bound: SequenceNumber,
        _ reader: Reader,
        _ database: DatabaseID,
        _ now: ViewPicture
    ) throws -> [Head] {
        var heads: [ZoneKey: Head] = [:]
        try reader.source.scan(from: 1, through: bound) { event in
            switch event.kind {
            case .zoneCreated:
                heads[ZoneKey(createdAt: event.sequence)] =
                    Head(sequence: event.sequence, hasEnded: false)
            case .zoneDeleted:
                heads[event.zone] = Head(sequence: event.sequence, hasEnded: true)
            case .recordSaved, .recordDeleted, .recordTouched:
                heads[event.zone]?.sequence = event.sequence
            default: break
            }
            return true
        }
        return try heads.filter { try now.zone($0.key).identity.database == database }
            .values.sorted { $0.sequence < $1.sequence }
    }
}
