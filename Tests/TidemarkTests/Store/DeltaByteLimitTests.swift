// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog

@testable import TidemarkModel

@Suite struct DeltaByteLimitTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private func store(
        of recordCount: Int,
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) async throws -> (Store, Client) {
        var options = StoreOptions()
        options.limits.recordsPerPage = 10
        change(&options)
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        let client = Client(store: store)
        try await client.createZone()
        let text = String(repeating: "x", count: 1_000)
        for first in stride(from: 0, to: recordCount, by: 20) {
            try await client.modify(
                (first..<min(first + 20, recordCount)).map { number in
                    try client.save("r\(number)", ["text": .string(text)])
                }
            )
        }
        return (store, client)
    }

    private func pages(
        _ client: Client,
        limit: Int? = nil,
        byteLimit: Int?
    ) async throws -> [RecordChanges] {
        var pages: [RecordChanges] = []
        var token: ChangeToken?
        while true {
            let request = ZoneChangesRequest(
                zone: client.zone,
                since: token,
                limit: limit,
                byteLimit: byteLimit
            )
            let page = try await client.store.zoneChanges(request, as: client.caller)
            pages.append(page.changes)
            token = page.token
            if !page.moreComing { return pages }
        }
    }

    private func names(_ pages: [RecordChanges]) -> [String] {
        pages.joined().compactMap {
            if case .changed(let record) = $0 { record.recordID.recordName } else { nil }
        }
    }

    @Test func `A limit in bytes replaces the store's limit in records`() async throws {
        let (store, client) = try await store(of: 100)
        let all = (0..<100).map { "r\($0)" }
        let small = try await pages(client, byteLimit: nil)
        #expect(small.map(\.count) == Array(repeating: 10, count: 10))
        let large = try await pages(client, byteLimit: 1 << 20)
        #expect(large.map(\.count) == [100])
        let middle = try await pages(client, byteLimit: 45_000)
        // Pages end with commits, of 20 records each.
        #expect(middle.map(\.count) == [40, 40, 20])
        for found in [small, large, middle] { #expect(names(found) == all) }
        let few = try await pages(client, limit: 30, byteLimit: 1 << 20)
        #expect(few.allSatisfy { $0.count <= 30 } && names(few) == all)
        try store.close()
    }

    @Test func `A record larger than the limit is a page of its own`() async throws {
        let (store, client) = try await store(of: 5)
        let found = try await pages(client, byteLimit: 1)
        #expect(found.map(\.count) == [1, 1, 1, 1, 1])
        #expect(names(found) == (0..<5).map { "r\($0)" })
        try store.close()
    }

    @Test func `A strict store limits records, and a byte limit must be positive`() async throws {
        let (store, client) = try await store(of: 25) { $0.isStrict = true }
        let found = try await pages(client, byteLimit: 1 << 20)
        #expect(found.allSatisfy { $0.count <= 10 } && names(found).count == 25)
        #expect(await refusal { try await pages(client, byteLimit: 0) } == .invalidArguments)
        try store.close()
    }

    @Test func `Changes are equal however they are read and outlive their page`() async throws {
        let (store, client) = try await store(of: 3)
        try await client.modify([], delete: [RecordDeletion(client.id("r1"))])
        let page = try await pages(client, byteLimit: 1 << 20)[0]
        try store.close()
        let lines = Array(page)
        #expect(RecordChanges(lines) == page && page.hashValue == RecordChanges(lines).hashValue)
        #expect(lines.count == 3 && page[page.endIndex - 1] == lines[2])
        guard case .deleted(let gone) = lines[2], case .changed(let kept) = lines[0] else {
            throw SyncError(.internalError, "expected two records and a deletion")
        }
        #expect(gone.recordID == client.id("r1") && gone.recordType == "Note")
        #expect(kept["text"] == String(repeating: "x", count: 1_000))
        var collected = page
        collected += page
        #expect(Array(collected) == lines + lines)
    }
}

@Suite struct RecordVerificationTests {
    @Test func `verify checks the records that deltas trust by checksum`() async throws {
        let folder = try ScratchFolder()
        let client = try await Client(ofNewStoreIn: folder)
        let store = client.store
        // The checksum is right, and the text is none: only a faulty writer leaves such a record.
        var bytes = Array(try Fields(["text": .string("good")]).bytes)
        bytes[bytes.count - 1] = 0xFF
        var save = try client.save("r", [:])
        save.fields = Fields(sound: bytes[...])
        try await client.modify([save])
        #expect(try await client.fetch("r")[0].get().fields.count == 1)
        #expect(try await client.changes().changes.count == 1)
        try store.close()
        let (reader, begun) = try ViewsCheck.begin(at: folder.path())
        var check = begun
        var failures: [any Error] = []
        _ = try reader.verify { event in
            do { try check.add(event) } catch { failures.append(error) }
        }
        #expect(failures.count == 1)
        #expect("\(failures)".contains("holds a damaged record"))
    }
}
