// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CAllocations
import Foundation
import Tidemark
import TidemarkModel

extension Cliff {
    static let lists = [
        Cliff(
            "databaseChanges, nothing new",
            "other users who wrote since the last checkpoint",
            [10, 1_000, 10_000, 30_000],
            bar: "60 µs"
        ) { try await list($0) { _ = try await $0.databaseChanges($1, as: $2) } },
        Cliff(
            "zones of a user with one",
            "other users who wrote since the last checkpoint",
            [10, 1_000, 10_000, 30_000],
            bar: "60 µs"
        ) { try await list($0) { store, _, caller in _ = try await store.zones(as: caller) } },
    ]

    private static func list(
        _ others: Int,
        _ ask: (Store, DatabaseChangesRequest, Caller) async throws -> Void
    ) async throws -> Double {
        try await withStore { store, _ in
            let caller = Caller(user: "anna")
            let zone = ZoneID(zoneName: "zone")
            _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
            for number in 0..<others {
                let other = Caller(user: UserID("u\(number)"))
                _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: other)
            }
            let token = try await store.databaseChanges(DatabaseChangesRequest(), as: caller).token
            return try await median(of: 200) { _ in
                try await ask(store, DatabaseChangesRequest(since: token), caller)
            }
        }
    }

    static let schema = [
        Cliff("save of a new type", "types of the schema", [10, 100, 300, 900], bar: "200 µs") {
            size in
            try await withStore { store, _ in
                for number in 0..<size { try await store.saveOne("r\(number)", type: "T\(number)") }
                return try await median(of: 30) {
                    try await store.saveOne("n\($0)", type: "N\($0)")
                }
            }
        },
        Cliff("first save after opening", "types of the schema", [10, 100, 900], bar: "2,000 µs") {
            size in
            try await withStore { store, folder in
                for number in 0..<size { try await store.saveOne("r\(number)", type: "T\(number)") }
                try store.close()
                return try await firstSave(folder)
            }
        },
    ]

    /// The first save of a store that is opened again, beyond what the second one takes.
    private static func firstSave(_ folder: String) async throws -> Double {
        var times: [Double] = []
        for _ in 0..<5 {
            let store = try Store.open(at: folder, access: .writing, options: unsynced)
            let caller = Caller(user: "writer")
            let first = try await median(of: 1) { _ in
                try await store.saveOne("s", type: "T0", caller)
            }
            times.append(first)
            try store.close()
        }
        return times.sorted()[2]
    }

    static let wide = [
        Cliff(
            "insert of a record, per field",
            "fields",
            [10, 200, 400, 900],
            unit: "ns",
            bar: "60 ns"
        ) { size in
            let fields = try wideFields(size)
            return try await withStore { store, _ in
                try await median(of: 100) { number in
                    let save = RecordSave(
                        RecordID(recordName: "r\(number)"),
                        type: "Wide",
                        fields: fields
                    )
                    let request = ModifyRecordsRequest(saves: [save])
                    _ = try await store.modifyRecords(request, as: Caller()).saves[0].get()
                } * 1_000 / Double(size)
            }
        },
        Cliff(
            "delta of a record, per field",
            "fields",
            [10, 200, 400, 900],
            unit: "ns",
            bar: "60 ns"
        ) { size in
            let fields = try wideFields(size)
            let zone = ZoneID(zoneName: "zone")
            return try await withStore { store, _ in
                let zones = ModifyZonesRequest(saves: [zone])
                _ = try await store.modifyZones(zones, as: Caller())
                let saves = (0..<100).map {
                    RecordSave(
                        RecordID(recordName: "r\($0)", zone: zone),
                        type: "Wide",
                        fields: fields
                    )
                }
                _ = try await store.modifyRecords(ModifyRecordsRequest(saves: saves), as: Caller())
                var sum = 0
                let time = try await median(of: 20) { _ in
                    let request = ZoneChangesRequest(zone: zone)
                    for change in try await store.zoneChanges(request, as: Caller()).changes {
                        guard case .changed(let record) = change else { continue }
                        for field in record.fields where field.value != nil { sum += 1 }
                    }
                }
                guard sum == 2_000 * size else { throw WrongCount() }
                return time * 10 / Double(size)
            }
        },
    ]

    private static func wideFields(_ count: Int) throws -> Fields {
        var builder = FieldsBuilder()
        for number in 0..<count { try builder.set("field\(number)", .int64(Int64(number))) }
        return try builder.finish()
    }

    static let subscribed = [
        Cliff(
            "first save after opening",
            "subscriptions of others",
            [10, 1_000, 5_000],
            bar: "10,000 µs"
        ) { size in
            try await withStore { store, folder in
                for number in 0..<size {
                    let caller = Caller(
                        database: DatabaseID(scope: .public),
                        user: UserID("u\(number % 100)")
                    )
                    let kind = Subscription.Kind.query(
                        Subscription.RecordQuery(
                            recordType: "T0",
                            predicate: try Query.Predicate(format: "n == \(number)")
                        )
                    )
                    let subscription = Subscription("s\(number)", kind)
                    let request = ModifySubscriptionsRequest(saves: [subscription])
                    _ = try await store.modifySubscriptions(request, as: caller).saves[0].get()
                }
                try store.close()
                return try await firstSave(folder)
            }
        }
    ]

    static let open = [
        Cliff(
            "stores open and idle, heap of each",
            "stores",
            [100, 500, 2_000],
            unit: "KB",
            bar: "200 KB"
        ) { size in
            try await withIdleStores(size) { before in
                let after = tidemark_allocations_now().liveByteCount
                return Double(after - before.heap) / 1_000 / Double(size)
            }
        },
        Cliff(
            "stores open and idle, descriptors of each",
            "stores",
            [100, 500, 2_000],
            unit: "",
            bar: "4"
        ) { size in
            try await withIdleStores(size) { before in
                Double(descriptorCount() - before.descriptors) / Double(size)
            }
        },
    ]

    private static func descriptorCount() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    private static func withIdleStores(
        _ count: Int,
        _ body: ((heap: Int64, descriptors: Int)) throws -> Double
    ) async throws -> Double {
        let before = (tidemark_allocations_now().liveByteCount, descriptorCount())
        var stores: [Store] = []
        defer { for store in stores { try? store.close() } }
        for _ in 0..<count {
            let store = try Store.open(
                at: try ScratchFolder.make(),
                access: .creating,
                options: unsynced
            )
            stores.append(store)
            try await store.saveOne("r")
        }
        // Stores that nobody uses close their views after 10 to 20 seconds.
        try await Task.sleep(for: .seconds(25))
        return try body(before)
    }

    static let successive = [
        Cliff(
            "a store made, used and closed",
            "stores before it",
            [100, 1_000, 10_000],
            bar: "as after 100"
        ) { size in
            func use() async throws {
                try await withStore { store, _ in try await store.saveOne("r") }
            }
            for _ in 0..<size { try await use() }
            return try await median(of: 50) { _ in try await use() }
        }
    ]

    static let deletions = [
        Cliff(
            "first page of a device that starts",
            "deletions in the zone",
            [1_000, 100_000, 1_000_000],
            bar: "pages"
        ) { size in
            let zone = ZoneID(zoneName: "zone")
            return try await withStore { store, _ in
                let zones = ModifyZonesRequest(saves: [zone])
                _ = try await store.modifyZones(zones, as: Caller())
                for start in stride(from: 0, to: size, by: 400) {
                    let ids = (start..<min(start + 400, size)).map {
                        RecordID(recordName: "r\($0)", zone: zone)
                    }
                    try await store.saveNotes(ids, as: Caller())
                    let deletions = ModifyRecordsRequest(deletions: ids.map { RecordDeletion($0) })
                    _ = try await store.modifyRecords(deletions, as: Caller())
                }
                try await store.saveOne("last", in: zone)
                return try await median(of: 5) { _ in
                    let request = ZoneChangesRequest(zone: zone, limit: 200)
                    _ = try await store.zoneChanges(request, as: Caller())
                }
            }
        }
    ]

    static let past: [Cliff] =
        pastDeltas + [
            pastRead("changes of one of forty zones", 50, zones: 40) { store, zone, position in
                let request = ZoneChangesRequest(zone: zone)
                _ = try await store.zoneChanges(request, as: Caller(), asOf: position)
            },
            pastRead("the changed ones of forty zones", 50, zones: 40) { store, _, position in
                let request = DatabaseChangesRequest()
                _ = try await store.databaseChanges(request, as: Caller(), asOf: position)
            },
            pastRead("a query", 50) { store, zone, position in
                let query = Query(recordType: "Note", predicate: .compare("n", .equal, 5))
                let request = QueryRequest(query, in: zone)
                _ = try await store.query(request, as: Caller(), asOf: position)
            },
            pastRead("a record", 50) { store, zone, position in
                let request = FetchRecordsRequest([RecordID(recordName: "r0", zone: zone)])
                _ = try await store.fetchRecords(request, as: Caller(), asOf: position)[0].get()
            },
        ]

    private static let pastDeltas: [Cliff] = [10, 50, 90].map { percent in
        pastRead("changes of a zone", percent) { store, zone, position in
            let request = ZoneChangesRequest(zone: zone)
            _ = try await store.zoneChanges(request, as: Caller(), asOf: position)
        }
    }

    /// A read as of a part of a store in which ten thousand records of each zone were saved again and
    /// again.
    private static func pastRead(
        _ name: String,
        _ percent: Int,
        zones: Int = 1,
        _ read: @escaping @Sendable (Store, ZoneID, SequenceNumber) async throws -> Void
    ) -> Cliff {
        Cliff(
            "\(name) as of \(percent) % of the log",
            "events",
            [10_000, 100_000, 1_000_000, 10_000_000],
            bar: "1 s"
        ) { size in
            try await withFilledStore(size, zones) { store, zone in
                let position = store.lastSequence.rawValue * UInt64(percent) / 100
                return try await median(of: 3) { repetition in
                    // The records as of the position before are still in memory.
                    let other = SequenceNumber(rawValue: position - UInt64(repetition))
                    try await read(store, zone, other)
                }
            }
        }
    }

    private static func withFilledStore(
        _ events: Int,
        _ zoneCount: Int,
        _ body: (Store, ZoneID) async throws -> Double
    ) async throws -> Double {
        let zones = (0..<zoneCount).map { ZoneID(zoneName: "zone \($0)") }
        return try await withStore { store, _ in
            _ = try await store.modifyZones(ModifyZonesRequest(saves: zones), as: Caller())
            for start in stride(from: 0, to: events, by: 400) {
                let zone = zones[start / 400 % zoneCount]
                // The records of a zone in turn.
                let first = start / 400 / zoneCount * 400
                let saves = try (start..<min(start + 400, events)).map { number in
                    RecordSave(
                        RecordID(recordName: "r\((first + number - start) % 10_000)", zone: zone),
                        type: "Note",
                        fields: try Fields(["n": .int64(Int64(number))]),
                        policy: .replace
                    )
                }
                _ = try await store.modifyRecords(ModifyRecordsRequest(saves: saves), as: Caller())
            }
            return try await body(store, zones[0])
        }
    }

    /// A store's bytes on disk by what they are for, closed and open; the bar is about the spare ones.
    static let space: [Cliff] = space(isClosed: true) + space(isClosed: false)

    private static func space(isClosed: Bool) -> [Cliff] {
        let state = isClosed ? "closed" : "open"
        let bar = isClosed ? "4 MB or a tenth of the log" : "16 MB or a quarter of the log"
        func part(
            _ name: String,
            bar: String = "none",
            _ byteCount: @escaping @Sendable (StoreSpace) -> Int
        ) -> Cliff {
            let sizes = [10_000, 100_000, 400_000]
            return Cliff("space, \(state): \(name)", "events", sizes, unit: "MB", bar: bar) {
                let space = try await StoreSpace.measured($0, isClosed: isClosed)
                return Double(byteCount(space)) / 1e6
            }
        }
        return [
            part("the log") { $0.log },
            part("views in use") { $0.views },
            part("spare", bar: bar) { $0.spare },
            part("of which segments and manifests") { $0.prepared },
            part("of which the reserve for compaction") { $0.reserve },
            part("of which free pages of the views") { $0.freePages },
        ]
    }
}
