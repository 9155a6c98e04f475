// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Views are a cache: whatever happens to them, the store opens and shows what the log says.
@Suite struct OpeningTests {
    let folder: ScratchFolder
    var options = StoreOptions()

    init() throws {
        folder = try ScratchFolder()
        options.checkpointEventCount = 50
    }

    /// A closed store with a history in it, and the state that it shows.
    private func make(_ name: String, seed: UInt64) async throws -> GeneratedHistory.State {
        let history = try GeneratedHistory(seed: seed, lineCount: 60)
        let store = try Store.open(at: folder.path(name), access: .creating, options: options)
        try await store.importLines(history.lines)
        try store.close()
        return history.fold(first: 60)
    }

    private func views(_ name: String) -> URL {
        URL(filePath: folder.path(name)).appending(path: "views")
    }

    /// Opens the store for reading, for writing and for reading again, and expects a state.
    private func expect(_ state: GeneratedHistory.State, in name: String) throws {
        for access in [StoreAccess.reading, .writing, .reading] {
            let store = try Store.open(at: folder.path(name), access: access, options: options)
            #expect(try GeneratedHistory.state(of: store) == state)
            let counted = state.values.reduce(0) { $0 + Int64($1.count) }
            #expect(try store.figures().liveRecordCount == counted)
            try store.close()
        }
    }

    @Test func `Missing views are rebuilt`() async throws {
        let state = try await make("a.tide", seed: 21)
        try FileManager.default.removeItem(at: views("a.tide"))
        try expect(state, in: "a.tide")
    }

    @Test(arguments: [0, 1, 2, 3]) func `Views with a damaged file are rebuilt`(
        _ number: Int
    ) async throws {
        let state = try await make("a.tide", seed: 22)
        let files = try FileManager.default.contentsOfDirectory(
            at: views("a.tide"),
            includingPropertiesForKeys: nil
        ).sorted { $0.path < $1.path }
        for file in files {
            var bytes = try Data(contentsOf: file)
            switch number {
            case 0: bytes = Data()
            case 1: bytes = bytes.prefix(bytes.count / 2)
            case 2:
                for index in stride(from: 7, to: bytes.count, by: 1_000) { bytes[index] ^= 0x10 }
            default: bytes = Data(repeating: 0xA5, count: bytes.count)
            }
            try bytes.write(to: file)
        }
        try expect(state, in: "a.tide")
    }

    @Test func `Views of another store are not used`() async throws {
        let state = try await make("a.tide", seed: 23)
        _ = try await make("b.tide", seed: 24)
        try FileManager.default.removeItem(at: views("a.tide"))
        try FileManager.default.copyItem(at: views("b.tide"), to: views("a.tide"))
        try expect(state, in: "a.tide")
    }

    /// Views take in durable events alone, so a log that ends before them has lost its end.
    @Test func `Views ahead of the log show that it lost events`() async throws {
        let state = try await make("a.tide", seed: 25)
        try FileManager.default.copyItem(
            at: URL(filePath: folder.path("a.tide")),
            to: URL(filePath: folder.path("old.tide"))
        )
        let store = try Store.open(at: folder.path("a.tide"), options: options)
        let client = Client(store: store)
        try await client.createZone()
        for number in 0..<80 {
            try await client.modify([try client.save("r\(number)", ["n": 1])])
        }
        try store.close()
        try FileManager.default.removeItem(at: views("old.tide"))
        try FileManager.default.copyItem(at: views("a.tide"), to: views("old.tide"))
        let error = #expect(throws: LogError.self) {
            try Store.open(at: folder.path("old.tide"), options: options).close()
        }
        #expect(error?.code == .corrupted)
        let reading = try Store.open(at: folder.path("old.tide"), access: .reading)
        #expect(try GeneratedHistory.state(of: reading) == state)
        #expect(try reading.eventSource.damage == error.map { [$0] })
        try reading.close()
        // Deleting the views, as for damaged ones, would delete the proof.
        let verification = try Store.verify(at: folder.path("old.tide"))
        #expect(verification.findings == error.map { [$0] })
        #expect(verification.views == .logDamaged)
        try FileManager.default.removeItem(at: views("old.tide"))
        try expect(state, in: "old.tide")
    }

    @Test func `A zone created and deleted in one commit does not exist`() async throws {
        let zone = ZoneID(zoneName: "brief")
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        let id = RecordID(recordName: "a", zone: zone)
        let save = ChangeStreamLine.Change.save(
            recordID: id,
            recordType: "Note",
            fields: try Fields([:])
        )
        let line = ChangeStreamLine(time: 1, user: .current, changes: [save, .deleteZone(zone)])
        do {
            var importing = try store.beginImport()
            _ = try await importing.add(line)
            try await importing.finish()
        }
        let client = Client(store: store, zone: zone)
        await #expect(throws: SyncError.self) { try await client.changes() }
        try store.close()
        try expect([:], in: "test.tide")
    }

    private func manifestCount(_ name: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(name))
            .count { $0.hasPrefix("manifest-") }
    }

    @Test func `A reader keeps its snapshot while writers open, write and close`() async throws {
        let state = try await make("a.tide", seed: 27)
        let reader = try Store.open(at: folder.path("a.tide"), access: .reading, options: options)
        for round in 0..<3 as Range<UInt64> {
            let store = try Store.open(at: folder.path("a.tide"), options: options)
            var importing = try store.beginImport()
            for var line in try GeneratedHistory(seed: 100 + round, lineCount: 200).lines {
                line.requestID = nil
                _ = try await importing.add(line)
            }
            try await importing.finish()
            #expect(try GeneratedHistory.state(of: store) != state)
            #expect(try GeneratedHistory.state(of: reader) == state)
            try store.close()
            #expect(try GeneratedHistory.state(of: reader) == state)
        }
        #expect(try manifestCount("a.tide") > 1)
        try reader.close()
        // A process that another test is just starting holds our locks until it runs its program.
        for _ in 0..<100 where try manifestCount("a.tide") > 1 {
            try Store.open(at: folder.path("a.tide"), options: options).close()
        }
        #expect(try manifestCount("a.tide") == 1)
        let left = try FileManager.default.contentsOfDirectory(atPath: views("a.tide").path)
        #expect(left.sorted() == ["checks", "data.mdb", "lock.mdb"])
    }

    @Test func `A store has one writer, and opening requires an existing store`() async throws {
        _ = try await make("a.tide", seed: 26)
        let store = try Store.open(at: folder.path("a.tide"))
        #expect(store.lastSequence > .zero)
        #expect(throws: LogError.self) { try Store.open(at: folder.path("a.tide")) }
        try store.close()
        #expect(throws: LogError.self) { try Store.open(at: folder.path("nothing.tide")) }
        #expect(throws: LogError.self) {
            try Store.open(at: folder.path("nothing.tide"), access: .reading)
        }
    }

    @Test func `A closed store throws`() async throws {
        let store = try Store.open(at: folder.path(), access: .creating)
        try store.close()
        try store.close()
        let client = Client(store: store)
        await #expect(throws: SyncError.self) { try await client.createZone() }
        await #expect(throws: SyncError.self) { try await client.changes() }
        #expect(store.lastSequence == .zero)
    }
}
