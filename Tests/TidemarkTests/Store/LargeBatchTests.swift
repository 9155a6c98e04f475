// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Requests so large that a second thread compresses their first records before the last ones are
/// decided.
@Suite struct LargeBatchTests {
    /// The last item of a request.
    enum Last: CaseIterable {
        case note, conflict, missing, deletion, newField, binding, newZone
    }

    private static let names = (0..<300).map { "n\($0)" }

    private func text(_ version: Int, _ name: String) -> FieldValue {
        .string(String(repeating: "\(version) of \(name), ", count: 60))
    }

    private func check(_ path: String, _ client: Client, version: Int, _ last: Int) async throws {
        try client.store.close()
        let reading = Client(store: try Store.open(at: path, access: .reading))
        for record in try await reading.fetch(Self.names) {
            let record = try record.get()
            let name = record.recordID.recordName
            #expect(record["text"] == text(version, name), "\(name)")
        }
        let count = try await reading.changes().changes.count
        #expect(count == Self.names.count + last)
        try reading.store.close()
        #expect(try LogReader(path, fileSystem: PosixFileSystem()).verify().damage.isEmpty)
    }

    @Test(arguments: Last.allCases)
    func `A request is kept whole, or not at all`(_ last: Last) async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let first = try await client.modify(
            try Self.names.map { try client.save($0, ["text": text(1, $0)]) }
        )
        var saves = try zip(Self.names, first.saves).map { name, saved in
            try client.save(name, ["text": text(2, name)], tag: try saved.get().changeTag)
        }
        var deletions: [RecordDeletion] = []
        switch last {
        case .note: saves.append(try client.save("last", ["text": "z"]))
        case .conflict: saves[299].changeTag = nil
        case .missing: saves.append(try client.save("last", ["text": "z"], tag: saves[0].changeTag))
        case .deletion: deletions = [RecordDeletion(client.id("absent"))]
        case .newField: saves.append(try client.save("last", ["other": 1]))
        case .binding:
            let reference = Reference(recordName: "n0", action: .deleteSelf)
            saves.append(try client.save("last", ["to": .reference(reference)]))
        case .newZone:
            var other = client
            other.zone = ZoneID(zoneName: ZoneID.default.zoneName)
            saves.append(try other.save("last", ["text": "z"]))
        }
        let result = try await client.modify(saves, delete: deletions)
        let isRefused = last == .conflict || last == .missing
        #expect(result.saves.filter { $0.error == nil }.count == (isRefused ? 0 : saves.count))
        if isRefused {
            #expect(result.saves.last?.error?.code != .batchRequestFailed)
            #expect(result.saves.dropLast().allSatisfy { $0.error?.code == .batchRequestFailed })
        }
        let isInZone = last == .note || last == .newField || last == .binding
        try await check(folder.path(), client, version: isRefused ? 1 : 2, isInZone ? 1 : 0)
    }

    @Test func `Several callers save large batches at once`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<4 {
                group.addTask {
                    for part in 0..<5 {
                        let start = caller * 75 + part * 15
                        let names = Self.names[start..<start + 15]
                        // Once small, and once large.
                        for version in 1...2 {
                            let saves = try names.map { name in
                                try client.save(
                                    name,
                                    ["text": text(version, name), "noise": noise(version)],
                                    policy: .replace
                                )
                            }
                            for save in try await client.modify(saves).saves { _ = try save.get() }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await check(folder.path(), client, version: 2, 0)
    }

    private func noise(_ version: Int) -> FieldValue {
        var random = SeededGenerator(seed: UInt64(version))
        let count = version == 1 ? 10 : 12_000
        return .bytes((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
}

extension Client {
    fileprivate func fetch(_ names: [String]) async throws -> [Result<Record, SyncError>] {
        try await store.fetchRecords(FetchRecordsRequest(names.map(id)), as: caller)
    }
}
