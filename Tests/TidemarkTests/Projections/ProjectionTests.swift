// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TestSupport
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// State that apps fold from the log: kept current, resumed, made anew.
@Suite struct ProjectionTests {
    /// A projection that fails when it is told to, and one that remembers what it was handed.
    private actor Recorder: Projection {
        private(set) var positions: [SequenceNumber] = []
        private(set) var resets: [ProjectionReset] = []
        nonisolated let databaseID: DatabaseID? = nil
        private var kept: ProjectionMark?
        private var failuresLeft = 0

        func failNext() { failuresLeft = 1 }

        func mark() -> ProjectionMark? { kept }

        func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) throws {
            if failuresLeft > 0 {
                failuresLeft -= 1
                throw CocoaError(.fileWriteUnknown)
            }
            positions += commits.map(\.position)
            kept = mark
        }

        func reset(_ reason: ProjectionReset) {
            positions = []
            kept = nil
            resets.append(reason)
        }
    }

    /// The names of live records; a compaction that forgets all it may comes after the first part.
    private actor Names: Projection {
        private(set) var names: Set<String> = []
        private(set) var resets: [ProjectionReset] = []
        nonisolated let databaseID: DatabaseID? = nil
        private var kept: ProjectionMark?
        private var compacted: Store?

        init(compacting store: Store?) { compacted = store }

        func mark() -> ProjectionMark? { kept }

        func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) async throws {
            for change in commits.flatMap(\.line.changes) {
                switch change {
                case .save(let id, _, _, _): names.insert(id.recordName)
                case .delete(let id): names.remove(id.recordName)
                case .createZone, .deleteZone: break
                }
            }
            kept = mark
            guard let store = compacted else { return }
            compacted = nil
            _ = try await store.compact(.keepingNothing)
        }

        func reset(_ reason: ProjectionReset) {
            names = []
            kept = nil
            resets.append(reason)
        }
    }

    @Test func `A compaction during catch-up loses no deletion`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path("store"), access: .creating)
        defer { try? store.close() }
        let client = Client(store: store)
        try await client.createZone()
        for part in 0..<8 {
            try await client.modify(
                try (0..<300).map { try client.save("\(part)-\($0)", ["title": "x"]) }
            )
        }
        for part in 0..<8 {
            let gone = (0..<250).map { RecordDeletion(client.id("\(part)-\($0)")) }
            try await client.modify([], delete: gone)
        }
        let projection = Names(compacting: store)
        try await store.advance(projection)
        let living = Set((0..<8).flatMap { part in (250..<300).map { "\(part)-\($0)" } })
        #expect(await projection.names == living)
        #expect(await projection.resets == [.pruned])
    }

    @Test func `A projection that starts after a compaction completes`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path("store"), access: .creating)
        defer { try? store.close() }
        let client = Client(store: store)
        try await client.createZone()
        for _ in 0..<2 {
            for part in 0..<8 {
                try await client.modify(
                    try (0..<300).map {
                        try client.save("\(part)-\($0)", ["title": "x"], policy: .allKeys)
                    }
                )
            }
        }
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await store.compact(policy)
        let projection = Names(compacting: nil)
        let mark = try await store.advance(projection)
        #expect(await projection.resets == [])
        #expect(await projection.names.count == 2400)
        #expect(mark.position == store.lastSequence)
        #expect(ProjectionMark(mark.description) == mark)
        // Compacting again what has been read takes nothing from it.
        _ = try await store.compact(policy)
        try await store.advance(projection)
        #expect(await projection.resets == [])
    }

    @Test func `A projection of a database has only its records`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path("store"), access: .creating)
        defer { try? store.close() }
        var clients: [Client] = []
        for user in ["_anna", "_ben"] {
            let owner = UserID(user)
            let database = DatabaseID(
                container: DatabaseID.standard.container,
                environment: .development,
                scope: .private,
                owner: owner
            )
            let caller = Caller(database: database, user: owner, device: "phone")
            let client = Client(store: store, caller: caller)
            try await client.createZone()
            try await client.modify([try client.save("t1", ["title": .string(user)])])
            clients.append(client)
        }
        for client in clients {
            let table = try NoteTable(DatabaseQueue(), of: client.caller.database)
            try await store.advance(table)
            let user = client.caller.database.owner.userRecordName
            #expect(try await titles(table) == ["t1": user])
        }
    }

    private func titles(_ table: NoteTable) async throws -> [String: String] {
        try await table.database.read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT name, title FROM note")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"], $0["title"]) })
        }
    }

    private func titles(_ client: Client) async throws -> [String: String] {
        var found: [String: String] = [:]
        for case .changed(let record) in try await client.changes().changes {
            if case .string(let title) = record["title"] {
                found[record.recordID.recordName] = title
            }
        }
        return found
    }

    /// Saves and deletes some notes at random.
    private func change(_ client: Client, _ count: Int, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for number in 0..<count {
            let name = "n\(Int.random(in: 0..<12, using: &random))"
            if Int.random(in: 0..<4, using: &random) == 0 {
                _ = try await client.store.modifyRecords(
                    ModifyRecordsRequest(deletions: [RecordDeletion(client.id(name))]),
                    as: client.caller
                )
            } else {
                let title = FieldValue.string("\(seed)-\(number)")
                let save = try client.save(name, ["title": title], policy: .changedKeys)
                try await client.modify([save])
            }
        }
    }

    @Test func `A table follows changes across restarts of the app and the store`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("notes.sqlite")
        for round in 0..<4 as Range<UInt64> {
            let store = try Store.open(at: folder.path("store"), access: .creating)
            let client = Client(store: store)
            if round == 0 { try await client.createZone() }
            let table = try NoteTable(DatabaseQueue(path: path), of: .standard)
            try await change(client, 40, seed: round)
            let mark = try await store.advance(table)
            #expect(mark.position == store.lastSequence)
            #expect(try await titles(table) == titles(client))
            #expect(try await table.mark() == mark)
            try store.close()
        }
        // The end of the zone is the end of its rows.
        let store = try Store.open(at: folder.path("store"))
        let client = Client(store: store)
        let table = try NoteTable(DatabaseQueue(path: path), of: .standard)
        try await client.deleteZone()
        try await store.advance(table)
        #expect(try await titles(table) == [:])
        try store.close()
    }

    @Test func `Every commit is delivered once, in order, also after a failure`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let store = client.store
        // Larger than what is handed over in one go.
        for batch in 0..<8 {
            let saves = try (0..<300).map {
                try client.save("r\(batch)-\($0)", ["title": "t"], policy: .changedKeys)
            }
            try await client.modify(saves)
        }
        let recorder = Recorder()
        await recorder.failNext()
        await #expect(throws: CocoaError.self) { try await store.advance(recorder) }
        #expect(await recorder.positions == [])
        try await store.advance(recorder)
        // The zone and the eight batches, whose changes begin the zone's schema too.
        let positions = await recorder.positions
        #expect(positions.count == 9)
        #expect(positions == positions.sorted())
        let count = RecordCount()
        try await store.advance(count)
        #expect(await count.counts == ["Note": 2_400])
        // Nothing new, nothing handed over.
        try await store.advance(recorder)
        #expect(await recorder.positions == positions)
        try await store.rebuild(recorder)
        #expect(await recorder.positions == positions)
        #expect(await recorder.resets == [.asked])
        try store.close()
    }

    @Test func `Following continues until the store is closed`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let store = client.store
        let count = RecordCount()
        let following = Task { try await store.follow(count) }
        for number in 1...20 {
            try await client.modify([try client.save("r\(number)", ["title": "t"])])
            while await count.counts["Note"] != number { await Task.yield() }
        }
        try store.close()
        _ = await following.result
        let reader = try Store.open(at: folder.path(), access: .reading)
        let again = RecordCount()
        try await reader.follow(again)
        #expect(await again.counts == ["Note": 20])
    }

    @Test func `A projection of another or a dropped history starts again`() async throws {
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path("a"), access: .creating)
        let other = try Store.open(at: folder.path("b"), access: .creating)
        let client = Client(store: store)
        try await client.createZone()
        try await Client(store: other).createZone()
        try await change(client, 10, seed: 1)
        let table = try NoteTable(DatabaseQueue(), of: .standard)
        let recorder = Recorder()
        try await store.advance(table)
        try await store.advance(recorder)
        try await change(client, 60, seed: 2)
        _ = try await store.compact(.keepingNothing)
        try await store.advance(recorder)
        try await store.advance(table)
        #expect(await recorder.resets == [.pruned])
        #expect(try await titles(table) == titles(client))
        let mark = try #require(try await table.mark())
        try await other.advance(recorder)
        #expect(await recorder.resets == [.pruned, .otherHistory])
        #expect(ProjectionMark(mark.description) == mark)
        for text in ["", "1", mark.description + "x", mark.description.uppercased() + "-"] {
            #expect(ProjectionMark(text) == nil)
        }
        try store.close()
        try other.close()
    }

    @Test func `The examples equal those in the documentation`() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let article = try String(
            contentsOf: here.appending(
                path: "../../../Sources/Tidemark/Tidemark.docc/Projections.md"
            ),
            encoding: .utf8
        )
        let blocks = article.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        for name in ["RecordCount", "NoteTable"] {
            let file = try String(
                contentsOf: here.appending(path: name + ".swift"),
                encoding: .utf8
            )
            let example = file.components(separatedBy: "\n\n").dropFirst().joined(separator: "\n\n")
            #expect(blocks.contains(example), "\(name) differs from the article")
        }
    }
}
