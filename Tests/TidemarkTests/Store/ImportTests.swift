// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct ImportTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @discardableResult
    private func add(
        _ lines: some Sequence<ChangeStreamLine>,
        to store: Store
    ) async throws -> (skipped: Int, missing: Int) {
        var importing = try store.beginImport()
        var skipped = 0
        var missing = 0
        for line in lines {
            switch try await importing.add(line) {
            case .applied(let count): missing += count
            case .skipped: skipped += 1
            }
        }
        try await importing.finish()
        return (skipped, missing)
    }

    private func line(
        _ changes: [ChangeStreamLine.Change],
        time: Int64 = 1_000,
        request: String? = nil
    ) -> ChangeStreamLine {
        ChangeStreamLine(time: time, user: UserID("u"), requestID: request, changes: changes)
    }

    private func save(
        _ name: String,
        _ number: Int64,
        zone: String = "z"
    ) throws
        -> ChangeStreamLine.Change
    {
        .save(
            recordID: RecordID(recordName: name, zone: ZoneID(zoneName: zone)),
            recordType: "T",
            fields: try Fields(["n": .int64(number)])
        )
    }

    private func delete(_ name: String, zone: String = "z") -> ChangeStreamLine.Change {
        .delete(RecordID(recordName: name, zone: ZoneID(zoneName: zone)))
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `A store equals an independent fold at every commit`(_ seed: UInt64) async throws {
        let history = try GeneratedHistory(seed: seed, lineCount: 120)
        var options = StoreOptions()
        options.checkpointEventCount = 64
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        var importing = try store.beginImport()
        var positions: [SequenceNumber] = []
        for line in history.lines {
            _ = try await importing.add(line)
            try await importing.finish()
            positions.append(store.lastSequence)
        }
        #expect(try GeneratedHistory.state(of: store) == history.fold(first: 120))
        for count in stride(from: 0, through: 120, by: 7) {
            let position = count == 0 ? SequenceNumber.zero : positions[count - 1]
            let shown = try GeneratedHistory.state(of: store, asOf: position)
            #expect(shown == history.fold(first: count))
        }
        for count in stride(from: 5, through: 115, by: 10)
        where history.lines[count].time > history.lines[count - 1].time {
            let position = try store.position(atOrBefore: history.lines[count - 1].time)
            #expect(position == positions[count - 1])
        }
        try store.close()
    }

    @Test func `Circular and very long chains of parents are imported unchanged`() async throws {
        func child(_ name: String, of parent: String) throws -> ChangeStreamLine.Change {
            .save(
                recordID: RecordID(recordName: name, zone: ZoneID(zoneName: "z")),
                recordType: "T",
                fields: Fields(),
                parent: Name(parent)
            )
        }
        let store = try Store.open(at: folder.path(), access: .creating)
        let circle = [try child("a", of: "b"), try child("b", of: "a"), try child("c", of: "c")]
        let count = 20_000
        let long = try (0..<count).map { try child("r\($0)", of: "r\($0 + 1)") }
        try await add([line(circle), line(long)], to: store)
        let first = try store.record(
            RecordID(recordName: "a", zone: ZoneID(zoneName: "z")),
            of: .standard,
            asOf: nil
        )
        #expect(first.parentID?.recordName == "b")
        #expect(try store.figures().liveRecordCount == count + 3)
        try store.close()
    }

    @Test func `Repeated and partial imports duplicate nothing`() async throws {
        let history = try GeneratedHistory(seed: 7, lineCount: 60)
        let store = try Store.open(at: folder.path(), access: .creating)
        try await add(history.lines.prefix(25), to: store)
        try await add(history.lines, to: store)
        let last = store.lastSequence
        let again = try await add(history.lines, to: store)
        #expect(store.lastSequence == last)
        #expect(again.skipped > 50)
        #expect(try GeneratedHistory.state(of: store) == history.fold(first: 60))
        try store.close()
        let reopened = try Store.open(at: folder.path())
        try await add(history.lines.suffix(30), to: reopened)
        #expect(reopened.lastSequence == last)
        try reopened.close()
    }

    @Test func `A line that occurs twice is two commits, also when imported again`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let twice = [
            line([try save("a", 1)]), line([try save("a", 2)]), line([try save("a", 1)]),
            line([try save("a", 2)]),
        ]
        #expect(try await add(twice, to: store).skipped == 0)
        #expect(store.lastSequence == SequenceNumber(rawValue: 5))
        #expect(try await add(twice, to: store).skipped == 4)
        try store.close()
    }

    @Test func `Importing the exported log gives an equal state`() async throws {
        // Few names, so that lines often delete a record and save it again.
        let history = try GeneratedHistory(seed: 11, lineCount: 80, namesPerZone: 2)
        let store = try Store.open(at: folder.path(), access: .creating)
        try await add(history.lines, to: store)
        let client = Client(store: store, zone: ZoneID(zoneName: "by hand"))
        try await client.createZone()
        let first = try await client.modify([try client.save("x", ["n": 1, "m": 2])], request: "R")
        try await client.modify([
            try client.save("x", ["n": nil], tag: try first.saves[0].get().changeTag)
        ])
        let exported = try store.commits()
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        try await add(exported, to: copy)
        #expect(try GeneratedHistory.state(of: copy) == GeneratedHistory.state(of: store))
        #expect(try await copy.zones(as: Caller()) == store.zones(as: Caller()))
        // What was imported is known again, also from the export.
        #expect(try await add(exported, to: store).missing == 0)
        #expect(try await add(exported, to: copy).skipped == exported.count)
        try store.close()
        try copy.close()
    }

    @Test func `A line may contain a record and a zone more than once`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let zone = ZoneID(zoneName: "z")
        #expect(
            try await add(
                [
                    line([try save("a", 1), delete("a"), try save("a", 2), try save("b", 1)]),
                    line([delete("b"), delete("b"), delete("c"), try save("c", 1), delete("c")]),
                ],
                to: store
            ).missing == 2
        )
        let client = Client(store: store, zone: zone)
        #expect(try await client.fetch("a")[0].get()["n"] == .int64(2))
        #expect(try await client.fetch("b")[0].error?.code == .unknownItem)
        let old = try await client.changes()
        try await add(
            [line([try save("a", 3), .deleteZone(zone), try save("d", 4)], time: 2_000)],
            to: store
        )
        #expect(try await client.fetch("a")[0].error?.code == .unknownItem)
        #expect(try await client.fetch("d")[0].get()["n"] == .int64(4))
        await #expect(throws: SyncError.self) { try await client.changes(since: old.token) }
        try store.close()
    }

    @Test func `A time before the last commit's is raised to it`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        let lines = [
            line([try save("a", 1)], time: 5_000), line([try save("b", 1)], time: 3_000),
        ]
        try await add(lines, to: store)
        let client = Client(store: store, zone: ZoneID(zoneName: "z"))
        let record = try await client.fetch("b")[0].get()
        #expect(record.modified.time == 5_000)
        #expect(record.created.time == 5_000)
        let exported = try store.commits()
        #expect(exported.map(\.time) == [5_000, 5_000])
        #expect(exported[0].requestID == nil)
        #expect(try await add(exported, to: store).skipped == 2)
        #expect(try await add(lines, to: store).skipped == 2)
        try store.close()
    }

    @Test func `An invalid line changes nothing, and earlier lines stay`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        var importing = try store.beginImport()
        _ = try await importing.add(line([try save("a", 1)]))
        let last = store.lastSequence
        let large = String(repeating: "x", count: 1_000_001)
        let bad: [ChangeStreamLine.Change] = [
            .save(
                recordID: RecordID(recordName: "b", zone: ZoneID(zoneName: "new")),
                recordType: "T",
                fields: try Fields(["text": .string(large)])
            ),
            try save("", 1), try save(String(repeating: "n", count: 256), 1),
            try save("b", 1, zone: "_reserved"),
        ]
        for change in bad {
            await #expect(throws: SyncError.self) {
                _ = try await importing.add(line([try save("c", 1), change]))
            }
        }
        try await importing.finish()
        #expect(store.lastSequence >= last)
        let client = Client(store: store, zone: ZoneID(zoneName: "z"))
        #expect(try await client.fetch("a", "c").map { $0.error?.code } == [nil, .unknownItem])
        #expect(try await store.zones(as: Caller()).count == 2)
        try store.close()
    }

    @Test func `A reader in parallel to a writer sees what is durable`() async throws {
        let history = try GeneratedHistory(seed: 5, lineCount: 60)
        var options = StoreOptions()
        options.checkpointEventCount = 50
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        try await add(history.lines.prefix(40), to: store)
        let reader = try Store.open(at: folder.path(), access: .reading)
        let seen = try GeneratedHistory.state(of: reader)
        try await add(history.lines, to: store)
        #expect(try GeneratedHistory.state(of: reader) == seen)
        await #expect(throws: SyncError.self) { try await add(history.lines, to: reader) }
        try store.close()
        let later = try Store.open(at: folder.path(), access: .reading)
        #expect(try GeneratedHistory.state(of: later) == history.fold(first: 60))
        #expect(
            try later.figures().liveRecordCount
                == history.fold(first: 60).values.reduce(0) { $0 + Int64($1.count) }
        )
        try later.close()
        try reader.close()
    }
}
