// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
@testable import TidemarkCloudKit
#else
@testable import CloudKit
@testable import TidemarkCloudKit
#endif

@Suite(.needsCloud) struct `Assets` {
    private func file(_ bytes: Data) throws -> URL {
        let url = URL(fileURLWithPath: NSTemporaryDirectory())
            .appendingPathComponent("asset-\(UUID().uuidString)")
        try bytes.write(to: url)
        return url
    }

    @Test func `Assets round-trip between devices`() async throws {
        let fixture = CloudFixture()
        let phone = try await fixture.database()
        let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let url = try file(bytes)
        defer { try? FileManager.default.removeItem(at: url) }
        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: url)
        record["parts"] = [CKAsset(fileURL: url), CKAsset(fileURL: url)]

        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        let progress = Heard<Double>()
        operation.perRecordProgressBlock = { _, part in progress.add(part) }
        let saved = Heard<CKRecord>()
        operation.perRecordSaveBlock = { _, result in
            if case .success(let record) = result { saved.add(record) }
        }
        await operation.run { phone.add($0) }
        #expect(progress.items.count > 1)
        #expect(progress.items == progress.items.sorted())
        #expect(progress.items.last == 1)
        // The file of what was saved is the program's own.
        #expect((saved.items.first?["image"] as? CKAsset)?.fileURL == url)

        let laptop = fixture.container(on: "laptop").privateCloudDatabase
        var fetched: CKRecord? = try await laptop.record(for: record.recordID)
        let image = try #require(fetched?["image"] as? CKAsset)
        #expect(try Data(contentsOf: image.fileURL) == bytes)
        #expect(image.fileURL != url)
        let parts = try #require(fetched?["parts"] as? [CKAsset])
        #expect(try parts.map { try Data(contentsOf: $0.fileURL) } == [bytes, bytes])

        // A save of other fields sends no bytes and keeps the assets.
        fetched?["title"] = "Sea"
        let again = try await laptop.save(try #require(fetched))
        #expect(again["image"] != nil)
        fetched = nil
        let without = try await phone.records(for: [record.recordID], desiredKeys: ["title"])
        #expect(try without[record.recordID]?.get().allKeys() == ["title"])
    }

    @Test func `Two attempts to send a file read it independently`() async throws {
        let url = try file(Data(0..<10))
        defer { try? FileManager.default.removeItem(at: url) }
        let pieces = FilePieces(url: url, byteCount: 4)
        // The first attempt goes on after its timeout, while the second one has begun.
        var attempts = [pieces.makeAsyncIterator(), pieces.makeAsyncIterator()]
        var read: [[UInt8]] = [[], []]
        for _ in 0..<3 {
            for attempt in 0..<2 {
                let piece = try await attempts[attempt].next()
                read[attempt] += piece ?? []
            }
        }
        #expect(read == [Array(0..<10), Array(0..<10)])
    }

    @Test func `A conflict error contains the assets of both records`() async throws {
        let fixture = CloudFixture()
        let phone = try await fixture.database()
        let laptop = fixture.container(on: "laptop").privateCloudDatabase
        func save(_ text: String, _ record: CKRecord, in database: CKDatabase) async throws {
            let url = try file(Data(text.utf8))
            defer { try? FileManager.default.removeItem(at: url) }
            record["image"] = CKAsset(fileURL: url)
            _ = try await database.save(record)
        }
        let record = CKRecord(recordType: "Photo")
        try await save("first", record, in: phone)
        let mine = try await laptop.record(for: record.recordID)
        try await save("second", try await phone.record(for: record.recordID), in: phone)
        let error = await #expect(throws: CKError.self) {
            try await save("mine", mine, in: laptop)
        }
        func text(_ record: CKRecord?) throws -> String {
            let asset = try #require(record?["image"] as? CKAsset)
            return String(decoding: try Data(contentsOf: asset.fileURL), as: UTF8.self)
        }
        #expect(error?.code == .serverRecordChanged)
        #expect(try text(error?.serverRecord) == "second")
        #expect(try text(error?.ancestorRecord) == "first")
        // The server's record, saved again, keeps the server's photo.
        let server = try #require(error?.serverRecord)
        server["title"] = "Sea"
        _ = try await laptop.save(server)
        #expect(try text(try await phone.record(for: record.recordID)) == "second")
    }

    @Test func `The file of a fetched asset outlives the asset`() async throws {
        let database = try await CloudFixture().database()
        let url = try file(Data("bytes".utf8))
        defer { try? FileManager.default.removeItem(at: url) }
        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: url)
        _ = try await database.save(record)
        weak var asset: CKAsset?
        var fetched: URL?
        do {
            let photo = try await database.record(for: record.recordID)
            asset = photo["image"] as? CKAsset
            fetched = asset?.fileURL
        }
        // Callbacks that hold the record may still be on their way out.
        for _ in 0..<200 where asset != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(asset == nil)
        #expect(try Data(contentsOf: #require(fetched)) == Data("bytes".utf8))
    }

    @Test func `A temporary file is removed some time after its release`() async throws {
        let paths = TemporaryPaths(lingering: 0.05)
        let url = try file(Data("bytes".utf8))
        let other = try file(Data("bytes".utf8))
        var lingering: TemporaryFile? = TemporaryFile(at: url, in: paths)
        let held = TemporaryFile(at: other, in: paths)
        #expect(lingering?.url == url)
        lingering = nil
        for _ in 0..<200 where FileManager.default.fileExists(atPath: url.path) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(!FileManager.default.fileExists(atPath: url.path))
        #expect(FileManager.default.fileExists(atPath: held.url.path))

        // What the process does when it exits.
        paths.removeAll()
        #expect(!FileManager.default.fileExists(atPath: other.path))
    }

    @Test func `An asset file that cannot be read fails its record, and is not sent again`()
        async throws
    {
        let database = try await CloudFixture().database(zone: CKRecordZone.ID(zoneName: "Photos"))
        let record = CKRecord(
            recordType: "Photo",
            recordID: CKRecord.ID(zoneID: CKRecordZone.ID(zoneName: "Photos"))
        )
        // It can be opened.
        record["image"] = CKAsset(fileURL: FileManager.default.temporaryDirectory)
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        // Of one of higher quality, a lost connection would end it too.
        operation.qualityOfService = .utility
        let ends = Heard<CKError.Code?>()
        operation.perRecordSaveBlock = { ends.add(($1.error as? CKError)?.code) }
        await operation.run { database.add($0) }
        #expect(ends.items == [.assetFileNotFound])
    }

    @Test func `A missing asset file fails its record, not the whole batch`() async throws {
        let zoneID = CKRecordZone.ID(zoneName: "Photos")
        let database = try await CloudFixture().database(zone: zoneID)
        let missing = URL(fileURLWithPath: "/nowhere/\(UUID().uuidString)")
        let bad = CKRecord(recordType: "Photo", recordID: CKRecord.ID(zoneID: zoneID))
        bad["image"] = CKAsset(fileURL: missing)
        let good = CKRecord(recordType: "Photo", recordID: CKRecord.ID(zoneID: zoneID))
        good["title"] = "Sea"
        do {
            _ = try await database.modifyRecords(saving: [bad, good], deleting: [])
            Issue.record("nothing failed")
        } catch let error as CKError {
            let errors = try #require(error.partialErrorsByItemID)
            #expect((errors[bad.recordID] as? CKError)?.code == .assetFileNotFound)
            #expect((errors[good.recordID] as? CKError)?.code == .batchRequestFailed)
        }
        // Once the file is there the same record can be saved.
        let url = try file(Data("late".utf8))
        defer { try? FileManager.default.removeItem(at: url) }
        bad["image"] = CKAsset(fileURL: url)
        _ = try await database.save(bad)
    }

    @Test func `An asset of another database's record is sent again`() async throws {
        let container = CloudFixture().container(on: "phone")
        let (mine, all) = (container.privateCloudDatabase, container.publicCloudDatabase)
        let url = try file(Data("bytes".utf8))
        defer { try? FileManager.default.removeItem(at: url) }
        let record = CKRecord(recordType: "Photo")
        record["image"] = CKAsset(fileURL: url)
        let saved = try await mine.save(record)
        let fetched = try await mine.record(for: record.recordID)
        for (number, source) in [record, saved, fetched].enumerated() {
            let id = CKRecord.ID(recordName: "c\(number)")
            let copy = CKRecord(recordType: "Photo", recordID: id)
            copy["image"] = source["image"] as? CKAsset
            _ = try await all.save(copy)
            let read = try await all.record(for: copy.recordID)
            let image = try #require((read["image"] as? CKAsset)?.fileURL)
            #expect(try Data(contentsOf: image) == Data("bytes".utf8))
        }
    }
}
