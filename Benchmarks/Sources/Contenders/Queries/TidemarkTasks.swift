// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

/// Tidemark, through `Store.query`, with the schema's checks.
package final class TidemarkTasks: QueriedTasks {
    private static let caller = Caller()
    private static let zone = ZoneID(zoneName: "tasks")
    private let folder: String
    private let recordCount: Int
    private var store: Store

    package init(_ folder: String, recordCount: Int) async throws {
        self.folder = folder
        self.recordCount = recordCount
        store = try Self.open(folder)
        let creation = ModifyZonesRequest(saves: [Self.zone])
        _ = try await store.modifyZones(creation, as: Self.caller)
        // The first brings the schema, which an import does not.
        let first = try Self.save(TaskRecord(0, of: recordCount))
        let result = try await store.modifyRecords(first, as: Self.caller)
        _ = try result.saves[0].get()
        try await add(1..<recordCount, version: 0)
    }

    private static func open(_ folder: String) throws -> Store {
        var options = StoreOptions()
        options.durability = .none
        options.cacheByteCount = 64 << 20
        return try Store.open(at: folder + "/tasks.tide", access: .creating, options: options)
    }

    private static func fields(_ task: TaskRecord) throws -> Fields {
        try Fields([
            "title": .string(task.title), "note": .string(task.note), "shelf": .int64(task.shelf),
            "price": .double(task.price), "due": .timestamp(task.due), "done": .int64(task.done),
        ])
    }

    private static func save(_ task: TaskRecord) throws -> ModifyRecordsRequest {
        let id = RecordID(recordName: task.name, zone: zone)
        return ModifyRecordsRequest(
            saves: [RecordSave(id, type: "Task", fields: try fields(task))]
        )
    }

    private func add(_ numbers: some Sequence<Int>, version: Int) async throws {
        var importing = try store.beginImport()
        var changes: [ChangeStreamLine.Change] = []
        var time: Int64 = 1_700_000_000_000
        func line() -> ChangeStreamLine {
            time += 1
            return ChangeStreamLine(time: time, user: .current, changes: changes)
        }
        for number in numbers {
            let task = TaskRecord(number, version: version, of: recordCount)
            changes.append(
                .save(
                    recordID: RecordID(recordName: task.name, zone: Self.zone),
                    recordType: "Task",
                    fields: try Self.fields(task)
                )
            )
            if changes.count == 400 {
                _ = try await importing.add(line())
                changes.removeAll(keepingCapacity: true)
            }
        }
        if !changes.isEmpty { _ = try await importing.add(line()) }
        try await importing.finish()
    }

    package func find(shelf: Int64, into sink: Sink) async throws {
        let predicate = Query.Predicate.compare("shelf", .equal, .value(.int64(shelf)))
        try await find(Query(recordType: "Task", predicate: predicate), 200, into: sink)
    }

    package func find(dueFrom time: Int64, into sink: Sink) async throws {
        let predicate = Query.Predicate.compare(
            "due",
            .greaterThanOrEqual,
            .value(.timestamp(time))
        )
        let query = Query(
            recordType: "Task",
            predicate: predicate,
            sortDescriptors: [.init("due")]
        )
        try await find(query, 100, into: sink)
    }

    private func find(_ query: Query, _ limit: Int, into sink: Sink) async throws {
        let request = QueryRequest(query, in: Self.zone, limit: limit)
        for record in try await store.query(request, as: Self.caller).records {
            record.body.bytes.withUnsafeBytes {
                sink.take(
                    name: UnsafeRawBufferPointer(start: nil, count: 0),
                    sequence: 0,
                    value: $0
                )
            }
        }
    }

    /// The time of a first query without an index, that of its order by names included.
    package func freshSpeed() async throws -> Double? {
        try store.close()
        try? FileManager.default.removeItem(atPath: folder + "/tasks.tide/queries")
        store = try Self.open(folder)
        return try await catchUp(recordCount)
    }

    /// A tenth of the records, with indexes on all that is asked for, words among it.
    package func replacementSpeed(version: Int) async throws -> Double? {
        let sink = Sink()
        try await find(shelf: 0, into: sink)
        try await find(dueFrom: 0, into: sink)
        let words = Query.Predicate.words(Query.WordSearch("w1"))
        try await find(Query(recordType: "Task", predicate: words), 100, into: sink)
        let order = Shuffle(count: recordCount, seed: version)
        let count = max(1, recordCount / 10)
        try await add((0..<count).map { order[$0] }, version: version)
        return try await catchUp(count)
    }

    private func catchUp(_ count: Int) async throws -> Double {
        let start = ContinuousClock.now
        try await find(Query(recordType: "Task", predicate: .never), 1, into: Sink())
        return Double(count) / (start.duration(to: .now) / .seconds(1))
    }

    package func replacementFloor(version: Int) -> Double? { nil }

    package func close() throws { try store.close() }
}
