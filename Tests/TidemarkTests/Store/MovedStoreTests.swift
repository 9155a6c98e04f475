// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// What becomes of a store whose folder is moved, replaced or removed while somebody writes to it.
@Suite struct MovedStoreTests {
    let folder: ScratchFolder
    var options = StoreOptions()

    init() throws {
        folder = try ScratchFolder()
        // Many segments, and often a checkpoint.
        options.segmentByteCount = 64 << 10
        options.checkpointEventCount = 50
    }

    private func save(_ numbers: Range<Int64>, by client: Client) async throws {
        let text = FieldValue.string(String(repeating: "Tide and time. ", count: 40))
        for number in numbers {
            let fields: KeyValuePairs<String, FieldValue?> = ["n": .int64(number), "text": text]
            try await client.modify([
                try client.save("r\(number % 40)", fields, policy: .changedKeys)
            ])
        }
    }

    /// The numbers that a store's records have, ascending, once everything in it has been checked.
    private func numbers(_ name: String) async throws -> [Int64] {
        let reader = try LogReader(folder.path(name), fileSystem: PosixFileSystem())
        #expect(try reader.verify().damage == [])
        let store = try Store.open(at: folder.path(name), options: options)
        let changes = try await Client(store: store).changes().changes
        try store.close()
        return changes.compactMap { change in
            guard case .changed(let record) = change, case .int64(let number)? = record["n"] else {
                return nil
            }
            return number
        }
        .sorted()
    }

    @Test func `A moved store continues at its new path, whatever replaces it`() async throws {
        let old = Client(
            store: try Store.open(at: folder.path(), access: .creating, options: options)
        )
        try await old.createZone()
        try await save(0..<100, by: old)
        // The writer says a moment after the last save that it can be read.
        while try Store.backUp(at: folder.path(), to: folder.path("backup.tide")).lastSequence
            < old.store.lastSequence
        {}
        try FileManager.default.moveItem(atPath: folder.path(), toPath: folder.path("old.tide"))
        _ = try Store.restore(from: folder.path("backup.tide"), to: folder.path())
        let new = Client(store: try Store.open(at: folder.path(), options: options))
        // Both write, begin segments, compact and make checkpoints.
        try await save(1_000..<1_150, by: old)
        try await save(2_000..<2_130, by: new)
        _ = try await old.store.compact(CompactionPolicy())
        try await save(1_150..<1_250, by: old)
        _ = try await new.store.compact(CompactionPolicy())
        // SQLite would open what is at the path.
        #expect(try await old.find("n >= 1240").count == 10)
        #expect(!FileManager.default.fileExists(atPath: folder.path() + "/queries"))
        try old.store.close()
        try await save(2_130..<2_230, by: new)
        try new.store.close()
        #expect(try await numbers("old.tide") == Array(1_210..<1_250))
        #expect(try await numbers("test.tide") == Array(2_190..<2_230))
        #expect(try await numbers("backup.tide") == Array(60..<100))
    }

    @Test func `A removed store accepts no more saves`() async throws {
        let client = Client(
            store: try Store.open(at: folder.path(), access: .creating, options: options)
        )
        try await client.createZone()
        try await save(0..<10, by: client)
        try FileManager.default.removeItem(atPath: folder.path())
        await #expect {
            try await save(10..<11, by: client)
        } throws: {
            "\($0)".contains("The file was removed while it was open")
        }
        // Nor does whoever reads hear of what was refused.
        #expect(try await client.fetch("r10")[0].error?.code == .unknownItem)
        #expect(throws: LogError.self) { try client.store.close() }
    }
}

extension Result {
    fileprivate var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
