// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkQuery
import TidemarkViews

/// What can happen to the query index on disk: the answers stay those of the log.
@Suite struct QueryIndexFateTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private var queries: String { folder.path("queries") }
    private var file: String { queries + "/index.sqlite" }

    /// A store on a simulated disk whose query index lies on the machine's own.
    private func open(_ files: SimulatedFileSystem, _ index: MemoryViewIndex) throws -> Client {
        var environment = StoreEnvironment(files, index)
        environment.queryFolder = queries
        let store = try Store.open(at: "s", access: .creating, environment: environment)
        return Client(store: store, zone: .default)
    }

    private func save(_ client: Client, _ numbers: Range<Int>) async throws {
        for number in numbers {
            let save = try client.save("r\(number)", ["n": .int64(Int64(number))])
            _ = try await client.modify([save]).saves[0].get()
        }
    }

    private func names(_ numbers: Range<Int>) -> [String] { numbers.map { "r\($0)" }.sorted() }

    @Test func `An index of this log is used, and any other is rebuilt`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        let client = try open(files, MemoryViewIndex())
        try await save(client, 0..<20)
        #expect(try await client.find("n >= 0") == names(0..<20))
        // Behind: what came later is taken in.
        try await save(client, 20..<30)
        let crashed = files.crash(.losingEverythingUnsynced)
        let again = try open(crashed, MemoryViewIndex())
        #expect(try await again.find("n >= 0") == names(0..<30))
        // A second line of the store that lost the end of the first and went on differently.
        let early = SimulatedFileSystem(keepsTrace: false)
        let other = try open(early, MemoryViewIndex())
        try await save(other, 100..<105)
        #expect(try await other.find("n >= 0") == names(100..<105))
        // The first store again: the index is of the other.
        let last = try open(crashed.crash(.processKilled), MemoryViewIndex())
        #expect(try await last.find("n >= 0") == names(0..<30))
    }

    @Test func `An index of a longer history than the store's is not used`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        let client = try open(files, MemoryViewIndex())
        try await save(client, 0..<10)
        let backup = files.crash(.keepingEverything)
        try await save(client, 10..<20)
        #expect(try await client.find("n >= 0") == names(0..<20))
        // Restored, and going on to other records at the same positions before anybody asks.
        let restored = try open(backup, MemoryViewIndex())
        try await save(restored, 50..<70)
        #expect(try await restored.find("n >= 0") == (names(0..<10) + names(50..<70)).sorted())
    }

    @Test(arguments: ["lost", "no database", "torn", "altered", "locked away"])
    func `A damaged index is rebuilt`(damage: String) async throws {
        let store = try Store.open(at: folder.path("a.tide"), access: .creating)
        let client = Client(store: store, zone: .default)
        try await save(client, 0..<300)
        let text = try client.save("r3", ["text": "needle in a stack"], policy: .changedKeys)
        _ = try await client.modify([text]).saves[0].get()
        #expect(try await client.find("n >= 0 AND n < 5") == names(0..<5))
        try store.close()
        let path = folder.path("a.tide") + "/queries/index.sqlite"
        let files = FileManager.default
        #expect(files.fileExists(atPath: path))
        switch damage {
        case "lost": try files.removeItem(atPath: folder.path("a.tide") + "/queries")
        case "no database": try Data("no database at all".utf8).write(to: URL(filePath: path))
        case "torn":
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.truncate(atOffset: 4096 * 3)
            try file.close()
        case "altered":
            var bytes = try Data(contentsOf: URL(filePath: path))
            while let range = bytes.range(of: Data("needle".utf8)) {
                bytes[range.lowerBound] = 0x4E
            }
            try bytes.write(to: URL(filePath: path))
        default:
            try files.removeItem(atPath: path)
            try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data().write(to: URL(filePath: path + "/x"))
        }
        let again = Client(store: try Store.open(at: folder.path("a.tide")), zone: .default)
        if damage == "locked away" {
            #expect(try await again.refusal(of: "n >= 0")?.code == .serviceUnavailable)
            try files.removeItem(atPath: path)
        }
        #expect(try await again.find("n >= 0 AND n < 5") == names(0..<5))
        let query = Query(recordType: "Note", predicate: .compare("n", .equal, 3))
        let found = try await again.find(query, in: .default)
        #expect(found.map { $0["text"] } == [.string("needle in a stack")])
        try await save(again, 300..<310)
        #expect(try await again.find("n >= 305") == names(305..<310))
    }

    @Test(arguments: ["query", "compaction"])
    func `A store that is closed during an update keeps its index`(cause: String) async throws {
        let path = folder.path("d.tide")
        let text = String(repeating: "some words ", count: 20)
        func change(_ client: Client) async throws {
            for start in stride(from: 0, to: 4_000, by: 400) {
                let saves = try (start..<start + 400).map {
                    try client.save("r\($0)", ["n": 1, "text": .string(text)], policy: .allKeys)
                }
                try await client.modify(saves)
            }
        }
        var isStopped = false
        var identity = ""
        // An update may end before the store is closed, or begin too late.
        for _ in 0..<20 where !isStopped {
            let store = try Store.open(at: path, access: .creating)
            let client = Client(store: store, zone: .default)
            try await change(client)
            _ = try await client.find("text TOKENMATCHES 'words' AND n == 2")
            try await change(client)
            let updating = Task {
                if cause == "query" {
                    _ = try await client.find("n == 2")
                } else {
                    _ = try await store.compact()
                }
            }
            for _ in 0..<500 where store.queryIndexProgress == nil {
                try await Task.sleep(for: .milliseconds(1))
            }
            try store.close()
            do {
                try await updating.value
            } catch let error as SyncError {
                #expect(error.code == .serviceUnavailable)
                isStopped = error.message == "The store is being closed."
            }
            identity = "\(store.id)"
        }
        #expect(isStopped)
        let index = try QueryIndex(path: path + "/queries/index.sqlite", identity: identity)
        #expect(index.position.sequence > 4_000)
        index.close()
        let store = try Store.open(at: path)
        let client = Client(store: store, zone: .default)
        #expect(try await client.find("n == 1").count == 4_000)
        try store.close()
    }

    @Test func `Queries see earlier acknowledged changes while others write`() async throws {
        let store = try Store.open(at: folder.path("b.tide"), access: .creating)
        let client = Client(store: store, zone: .default)
        try await save(client, 0..<1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<40 {
                        let name = "w\(writer)-\(number)"
                        let save = try client.save(name, ["n": .int64(Int64(number))])
                        _ = try await client.modify([save]).saves[0].get()
                        guard number % 4 == 0 else { continue }
                        let found = try await client.find("recordID == '\(name)'")
                        #expect(found == [name])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await client.find("n >= 0").count == 161)
    }

    @Test func `A page is limited in bytes and has at least one record`() async throws {
        var options = StoreOptions()
        options.pageByteCount = 10_000
        let store = try Store.open(at: folder.path("c.tide"), access: .creating, options: options)
        let client = Client(store: store, zone: .default)
        for number in 0..<12 {
            let count = number == 5 ? 30_000 : 3_000
            let text = String(repeating: "x", count: count)
            try await client.modify([try client.save("r\(10 + number)", ["t": .string(text)])])
        }
        let query = Query(recordType: "Note")
        for position in [nil, store.lastSequence] {
            var request = QueryRequest(query, in: .default)
            var counts: [Int] = []
            var names: [String] = []
            repeat {
                let page =
                    if let position {
                        try await store.query(request, as: client.caller, asOf: position)
                    } else {
                        try await store.query(request, as: client.caller)
                    }
                counts.append(page.records.count)
                names += page.records.map(\.recordID.recordName)
                request.cursor = page.cursor
            } while request.cursor != nil
            #expect(names == (10..<22).map { "r\($0)" })
            #expect(counts == [4, 2, 4, 2])
        }
    }
}
