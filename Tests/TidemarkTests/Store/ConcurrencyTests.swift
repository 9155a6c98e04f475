// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkLock
import TidemarkLog
import TidemarkModel

@testable import Tidemark

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
    @Test func `No update is lost`() async throws {
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

    /// More calls at once than the views on disk have places for readers.
    @Test func `The number of concurrent calls is not limited`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        let client = Client(store: store)
        try await client.createZone()
        let count = 1_500
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let save = try client.save("r\(number)", ["n": .int64(Int64(number))])
                    _ = try await client.modify([save]).saves[0].get()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await client.changes().changes.count == count)
        try store.close()
    }

    /// A store that is closed while it is written to has what was acknowledged, and opens as one that was
    /// closed in peace.
    @Test func `Closing a store during saves loses no acknowledged save`() async throws {
        let folder = try ScratchFolder()
        var acknowledged: Set<String> = []
        for round in 0..<6 {
            let store = try openStore(folder)
            if round > 0 { #expect(store.recovery?.wasClean == true) }
            let client = Client(store: store)
            if round == 0 { try await client.createZone() }
            let saved = Names()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        for number in 0... {
                            let names = (0..<20).map { "\(round)-\(writer)-\(number)-\($0)" }
                            let saves = try names.map { try client.save($0, ["n": 1]) }
                            do {
                                for save in try await client.modify(saves).saves {
                                    _ = try save.get()
                                }
                            } catch let error as SyncError {
                                #expect(error.code == .serviceUnavailable)
                                return
                            }
                            saved.all.withLock { $0.formUnion(names) }
                        }
                    }
                }
                while saved.all.withLock({ $0.count }) < 400 { await Task.yield() }
                try store.close()
                try await group.waitForAll()
            }
            acknowledged.formUnion(saved.all.withLock { $0 })
            let opened = try Store.open(at: folder.path())
            var found: Set<String> = []
            for case .changed(let record) in try await Client(store: opened).changes().changes {
                found.insert(record.recordID.recordName)
            }
            #expect(acknowledged.isSubset(of: found))
            try opened.close()
        }
    }

    /// Each writer reads its own save at once, while a reader follows the zone by token and ends up
    /// with every record.
    @Test func `All readers see acknowledged changes`() async throws {
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
                        let saved = try await client.put(
                            name,
                            ["n": .int64(Int64(number))],
                            policy: .changedKeys
                        )
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
                    let page = try await client.page(since: token, limit: 30)
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
    @Test func `Concurrent writers create an implicit zone once`() async throws {
        let folder = try ScratchFolder()
        let store = try openStore(folder)
        var client = Client(store: store)
        client.zone = .default
        let writer = client
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await writer.put("r\(number)", ["n": 1])
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
    @Test func `Concurrent requests with one ID are executed once`() async throws {
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

/// Names of records that were saved.
private final class Names: Sendable {
    let all = Lock<Set<String>>([])
}
