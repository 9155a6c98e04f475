// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

#if os(Linux)
/// Stores that keep few files open while nobody uses them.
@Suite struct IdleStoreTests {
    let folder: ScratchFolder
    /// A sweep that runs when a test says so.
    let sweep = IdleSweep(every: .seconds(3_600))

    init() throws {
        folder = try ScratchFolder()
    }

    private func open(
        _ name: String = "test.tide",
        sweep: IdleSweep? = nil,
        checkpointEventCount: Int = 50
    ) throws -> Client {
        var options = StoreOptions()
        // Many segments, and often a checkpoint.
        options.segmentByteCount = 64 << 10
        options.checkpointEventCount = checkpointEventCount
        options.journal = .full
        var environment = StoreEnvironment()
        environment.idleSweep = sweep ?? self.sweep
        let store = try Store.open(
            at: folder.path(name),
            access: .creating,
            options: options,
            environment: environment
        )
        return Client(store: store)
    }

    private func save(_ numbers: Range<Int64>, by client: Client) async throws {
        let text = FieldValue.string(String(repeating: "Tide and time. ", count: 40))
        for number in numbers {
            let fields: KeyValuePairs<String, FieldValue?> = ["n": .int64(number), "text": text]
            try await client.modify([
                try client.save("r\(number)", fields, policy: .changedKeys)
            ])
        }
    }

    /// The pause between two looks at the descriptors; each looks at those of all tests.
    private static let pause = Duration.milliseconds(200)

    /// The descriptors that the process has in a store's folder.
    private func descriptors(_ name: String = "test.tide") throws -> [String] {
        let manager = FileManager.default
        let path = folder.path(name)
        return try manager.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
            // Other tests close descriptors meanwhile.
            let file = try? manager.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
            return file?.hasPrefix(path) == true ? file : nil
        }
        .sorted()
    }

    /// Sweeps until a store has four descriptors: background work may use it for a moment.
    private func waitUntilParked(_ name: String = "test.tide") async throws {
        for _ in 0..<250 where try descriptors(name).count > 4 {
            sweep.sweep()
            try await Task.sleep(for: Self.pause)
        }
        let open = try descriptors(name)
        #expect(open.count == 4, "\(open)")
        #expect(open.allSatisfy { !$0.contains("/views") && !$0.contains("/queries") })
    }

    @Test func `An idle store has four descriptors, and its next calls work`() async throws {
        let client = try open()
        try await client.createZone()
        try await save(0..<200, by: client)
        #expect(try await client.find("n >= 190").count == 10)
        #expect(try descriptors().count > 8)
        // One sweep is not enough: the store was used since the one before.
        sweep.sweep()
        #expect(try descriptors().contains { $0.hasSuffix("/views/data.mdb") })
        try await waitUntilParked()
        #expect(try await client.fetch("r3")[0].get()["n"] == .int64(3))
        #expect(try descriptors().contains { $0.hasSuffix("/views/data.mdb") })
        try await waitUntilParked()
        try await save(200..<300, by: client)
        try await waitUntilParked()
        #expect(try await client.find("n >= 190").count == 110)
        try await waitUntilParked()
        #expect(try await client.changes().changes.count == 300)
        try await waitUntilParked()
        try client.store.close()
        #expect(try descriptors() == [])
        try await check(300)
    }

    @Test func `Stores are used while they are parked again and again`() async throws {
        let client = try open()
        try await client.createZone()
        // The first record of a type creates it, and a query needs it.
        try await save(300..<301, by: client)
        let sweep = sweep
        let sweeping = Task.detached {
            var count = 0
            while !Task.isCancelled {
                sweep.sweep()
                count += 1
                await Task.yield()
            }
            return count
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<3 as Range<Int64> {
                group.addTask {
                    try await save(writer * 100..<writer * 100 + 100, by: client)
                }
            }
            group.addTask {
                var last = 0
                for _ in 0..<100 {
                    let count = try await client.changes().changes.count
                    #expect(count >= last)
                    last = count
                    _ = try await client.find("n == 5")
                }
            }
            try await group.waitForAll()
        }
        sweeping.cancel()
        #expect(await sweeping.value > 0)
        #expect(try await client.changes().changes.count == 301)
        try client.store.close()
        try await check(301)
    }

    @Test func `A parked store that was moved continues at its new path`() async throws {
        let old = try open()
        try await old.createZone()
        try await save(0..<10, by: old)
        try await waitUntilParked()
        try FileManager.default.moveItem(atPath: folder.path(), toPath: folder.path("old.tide"))
        let new = try open()
        try await new.createZone()
        try await save(20..<25, by: new)
        #expect(try await old.changes().changes.count == 10)
        try await waitUntilParked("old.tide")
        // A checkpoint.
        try await save(100..<200, by: old)
        try old.store.close()
        #expect(try await new.changes().changes.count == 5)
        try new.store.close()
        try await check(110, "old.tide")
        try await check(5)
    }

    @Test func `A parked store can be read and backed up by others`() async throws {
        let client = try open()
        try await client.createZone()
        try await save(0..<100, by: client)
        try await waitUntilParked()
        // The writer says a moment after the last save that it can be read.
        while try Store.backUp(at: folder.path(), to: folder.path("backup.tide")).lastSequence
            < client.store.lastSequence
        {}
        let reader = Client(store: try Store.open(at: folder.path(), access: .reading))
        #expect(try await reader.changes().changes.count == 100)
        // A checkpoint, while the reader has the views open.
        try await save(100..<200, by: client)
        #expect(try await client.changes().changes.count == 200)
        #expect(try await reader.changes().changes.count == 100)
        try reader.store.close()
        try client.store.close()
        try await check(200)
        try await check(100, "backup.tide")
    }

    @Test func `An idle store keeps no changes in memory`() async throws {
        let client = try open(checkpointEventCount: 65_536)
        try await client.createZone()
        try await save(0..<200, by: client)
        // Not held: who has the views keeps their files open.
        func weight() throws -> Int {
            try client.store.parts.reader.views.overlay.withLock { $0.weight }
        }
        #expect(try weight() >= 200)
        for _ in 0..<1_000 where try weight() > 0 {
            sweep.sweep()
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try weight() == 0)
        try await waitUntilParked()
        #expect(try await client.changes().changes.count == 200)
        try await save(200..<210, by: client)
        try client.store.close()
        try await check(210)
    }

    @Test func `The timer parks a store, and again after a use`() async throws {
        let client = try open(sweep: IdleSweep(every: .milliseconds(20)))
        try await client.createZone()
        for number in 0..<3 as Range<Int64> {
            try await save(number..<number + 1, by: client)
            for _ in 0..<250 where try descriptors().count > 4 {
                try await Task.sleep(for: Self.pause)
            }
            #expect(try descriptors().count == 4)
        }
        try client.store.close()
        try await check(3)
    }

    /// Checks a closed store, and the number of its records.
    private func check(_ count: Int, _ name: String = "test.tide") async throws {
        let reader = try LogReader(folder.path(name), fileSystem: PosixFileSystem())
        #expect(try reader.verify().damage == [])
        let client = try open(name)
        #expect(try await client.changes().changes.count == count)
        try client.store.close()
    }
}
#endif
