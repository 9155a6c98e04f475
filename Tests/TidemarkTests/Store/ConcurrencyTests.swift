// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Many writers at once, through checkpoints.
@Suite struct ConcurrencyTests {
    private func openStore(_ folder: ScratchFolder) throws -> Store {
        var options = StoreOptions()
        options.checkpointEventCount = 100
        options.durability = .none
        return try Store.open(at: folder.path(), access: .creating, options: options)
    }

    /// Each writer adds to one counter under if-unchanged, and tries again after a conflict with the
    /// server's record: no addition may be lost.
    @Test func `no update is lost`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        let client = Client(store: store)
        try await client.createZone()
        try await client.modify([try client.save("counter", ["n": 0])])
        let writerCount = 6
        let additionCount = 40
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<writerCount {
                group.addTask {
                    var record = try await client.fetch("counter")[0].get()
                    var done = 0
                    while done < additionCount {
                        guard case .int64(let n) = record["n"] else { return }
                        let save = try client.save(
                            "counter",
                            ["n": .int64(n + 1)],
                            tag: record.changeTag
                        )
                        switch try await client.modify([save]).saves[0] {
                        case .success(let saved):
                            record = saved
                            done += 1
                        case .failure(let error):
                            #expect(error.code == .serverRecordChanged)
                            record = try #require(error.conflict).server
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let total = try await client.fetch("counter")[0].get()["n"]
        #expect(total == .int64(Int64(writerCount * additionCount)))
        try store.close()
    }

    /// Each writer reads its own save at once, while a reader follows the zone by token and ends up
    /// with every record.
    @Test func `everybody sees what was acknowledged`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        let client = Client(store: store)
        try await client.createZone()
        let writerCount = 5
        let saveCount = 60
        let seen = try await withThrowingTaskGroup(of: [String: Int64]?.self) { group in
            for writer in 0..<writerCount {
                group.addTask {
                    for number in 0..<saveCount {
                        let name = "\(writer)-\(number % 20)"
                        let saved = try await client.modify([
                            try client.save(
                                name,
                                ["n": .int64(Int64(number))],
                                policy: .changedKeys
                            )
                        ]).saves[0].get()
                        #expect(try await client.fetch(name)[0].get() == saved)
                    }
                    return nil
                }
            }
            group.addTask {
                var known: [String: Int64] = [:]
                var token: ChangeToken?
                while known.count < writerCount * 20
                    || known.values.contains(where: { $0 < Int64(saveCount - 20) })
                {
                    let page = try await store.zoneChanges(
                        ZoneChangesRequest(zone: client.zone, since: token, limit: 30),
                        as: client.caller
                    )
                    token = page.token
                    for case .changed(let record) in page.changes {
                        guard case .int64(let n) = record["n"] else { continue }
                        #expect(known[record.recordID.recordName].map { $0 <= n } ?? true)
                        known[record.recordID.recordName] = n
                    }
                    await Task.yield()
                }
                return known
            }
            var seen: [String: Int64]?
            for try await known in group { seen = known ?? seen }
            return seen
        }
        for writer in 0..<writerCount {
            for number in (saveCount - 20)..<saveCount {
                #expect(seen?["\(writer)-\(number % 20)"] == Int64(number))
            }
        }
        try store.close()
    }

    /// The default zone comes into being with its first write, whoever is first.
    @Test func `a zone that many bring into being is one zone`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        var client = Client(store: store)
        client.zone = .default
        let writer = client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    _ = try await writer.modify([try writer.save("r\(number)", ["n": 1])])
                        .saves[0].get()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await client.changes().changes.count == 8)
        #expect(try store.figures().zoneCount == 1)
        // Also the zone's creation, and the record type with the zone that it is in.
        #expect(store.lastSequence == SequenceNumber(rawValue: 11))
        try store.close()
    }

    /// The same request, sent by many at once, is done once.
    @Test func `a request that comes several times at once is answered once`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        let client = Client(store: store)
        try await client.createZone()
        let answers = try await withThrowingTaskGroup(of: ModifyRecordsResult.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await client.modify([try client.save("a", ["n": 1])], request: "once")
                }
            }
            var answers: [ModifyRecordsResult] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        #expect(Set(answers).count == 1)
        // The zone, the record, and the record type with the zone that it is in.
        #expect(store.lastSequence == SequenceNumber(rawValue: 4))
        try store.close()
    }
}
