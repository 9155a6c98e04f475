// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkWire

/// The binary form of requests and answers.
@Suite struct RecordsFormTests {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Fixtures/v1")

    // MARK: Messages

    private static let zone = ZoneID(zoneName: "Notes", ownerName: "u-1")

    private static let token = ChangeToken(bytes: [1, 2, 3])

    /// The record of the example in `Docs/formats/record.md`.
    private static let milk: RecordBody = {
        let header = RecordHeader(
            recordName: "milk",
            recordType: "Item",
            created: Authorship(time: 1_700_000_000_000, user: "u-1"),
            modified: Authorship(time: 1_700_000_060_000, user: "u-2", device: "phone")
        )
        var fields = Fields()
        fields["title"] = "Milk"
        fields["done"] = 1
        return RecordBody(header, fields: fields)
    }()

    private static func record(_ tag: String = "2s-1z141z3") -> Record {
        Record(zone: zone, changeTag: RecordChangeTag(tag), body: milk)
    }

    private static let failure = SyncError(
        .serverRecordChanged,
        "The record was changed.",
        retryAfter: .seconds(2),
        conflict: ConflictRecords(client: record(), ancestor: record("a"), server: record("b"))
    )

    private static func rows(_ count: Int) -> RecordRows {
        var rows = RecordRows()
        for number in 0..<count {
            rows.append(milk, UInt64(100 + number), 7)
            if number % 3 == 0 {
                rows.appendDeletion(of: "tea\(number)".utf8, "Item".utf8, UInt64(200 + number), 8)
            }
        }
        return rows
    }

    private static let changes = ZoneChanges(
        zone: zone,
        changes: RecordChanges(rows(1), in: zone),
        token: token,
        moreComing: true
    )

    private static let modification: ModifyRecordsRequest = {
        var fields = Fields()
        fields["title"] = "Milk"
        let id = { (name: String) in RecordID(recordName: name, zone: zone) }
        return ModifyRecordsRequest(
            saves: [
                RecordSave(id("milk"), type: "Item", fields: fields),
                RecordSave(
                    RecordID(recordName: "share", zone: ZoneID(zoneName: "Other")),
                    type: Share.recordType,
                    fields: Fields(),
                    parent: .removed,
                    changeTag: RecordChangeTag("a-b"),
                    policy: .merge,
                    share: ShareContent(root: "root", publicPermission: .readOnly)
                ),
                RecordSave(id("leaf"), type: "Item", fields: Fields(), parent: .set("milk")),
            ],
            deletions: [
                RecordDeletion(id("tea")),
                RecordDeletion(id("rice"), changeTag: RecordChangeTag("c-d")),
            ],
            isAtomic: false
        )
    }()

    private static let outcomes = ModifyRecordsResult(
        saves: [.failure(failure), .success(record())],
        deletions: [
            .success(RecordID(recordName: "tea", zone: zone)),
            .failure(SyncError(.unknownItem, "It is gone.")),
        ]
    )

    private static let fetched: [CodedOutcome<Record>] = outcomes.saves.map { CodedOutcome($0) }

    private static let ask = ZoneChangesRequest(
        zone: zone,
        since: token,
        limit: 200,
        byteLimit: 1 << 20,
        desiredKeys: ["title", ""]
    )

    private static let fetch = FetchRecordsRequest(
        ["milk", "tea"].map { RecordID(recordName: $0, zone: zone) },
        desiredKeys: ["title"]
    )

    /// The messages by the names of their files.
    private static func messages() throws -> [(name: String, bytes: [UInt8])] {
        let methods = (
            DatabaseMethods.zoneChanges, DatabaseMethods.fetchRecords, DatabaseMethods.modifyRecords
        )
        let (delta, look, change) = methods
        return [
            ("changes-request", try delta.message(for: ask, in: .records).bytes),
            ("changes-answer", try #require(try RecordsForm.changes.writeAnswer(changes)).bytes),
            ("fetch-request", try look.message(for: fetch, in: .records).bytes),
            ("fetch-answer", try #require(try RecordsForm.fetch.writeAnswer(fetched)).bytes),
            ("modify-request", try change.message(for: modification, in: .records).bytes),
            ("modify-answer", try #require(try RecordsForm.modify.writeAnswer(outcomes)).bytes),
        ]
    }

    @Test func `Messages have the reviewed bytes`() throws {
        for (name, bytes) in try Self.messages() {
            let file = Self.fixtures.appending(path: "\(name).records")
            if ProcessInfo.processInfo.environment["TIDEMARK_GOLDEN"] != nil {
                try Data(bytes).write(to: file)
            }
            #expect(try Array(Data(contentsOf: file)) == bytes, "\(name)")
        }
    }

    @Test func `Written messages are read`() throws {
        let delta = RecordsForm.changes
        #expect(try delta.readRequest(delta.writeRequest(Self.ask).bytes) == Self.ask)
        let bare = ZoneChangesRequest(zone: .default)
        #expect(try delta.readRequest(delta.writeRequest(bare).bytes) == bare)
        for count in [0, 1, 5, 2_000] {
            let page = ZoneChanges(
                zone: Self.zone,
                changes: RecordChanges(Self.rows(count), in: Self.zone),
                token: Self.token,
                moreComing: count == 5
            )
            let bytes = try #require(try delta.writeAnswer(page)).bytes
            #expect(try delta.readAnswer(bytes) == page)
            // Lines that were made one by one have tags as texts, and say the same.
            let lines = ZoneChanges(
                zone: Self.zone,
                changes: RecordChanges(Array(page.changes)),
                token: Self.token,
                moreComing: page.moreComing
            )
            #expect(try delta.readAnswer(#require(try delta.writeAnswer(lines)).bytes) == page)
        }
        let look = RecordsForm.fetch
        #expect(try look.readRequest(look.writeRequest(Self.fetch).bytes) == Self.fetch)
        let found = try look.readAnswer(#require(try look.writeAnswer(Self.fetched)).bytes)
        #expect(found.map(\.result) == Self.fetched.map(\.result))
        let change = RecordsForm.modify
        let request = try change.readRequest(change.writeRequest(Self.modification).bytes)
        #expect(request == Self.modification)
        #expect(
            try change.readAnswer(#require(try change.writeAnswer(Self.outcomes)).bytes)
                == Self.outcomes
        )
    }

    @Test func `Only the requested fields are written`() throws {
        let changes = RecordChanges(
            Self.rows(3),
            in: Self.zone,
            selecting: FieldSelection(["done"])
        )
        let page = ZoneChanges(
            zone: Self.zone,
            changes: changes,
            token: Self.token,
            moreComing: false
        )
        let bytes = try #require(try RecordsForm.changes.writeAnswer(page)).bytes
        #expect(!bytes.contains("title"))
        #expect(try RecordsForm.changes.readAnswer(bytes) == page)
    }

    @Test func `Changes in several zones are sent as JSON`() throws {
        let other = Record(zone: .default, changeTag: RecordChangeTag("1-1"), body: Self.milk)
        let page = ZoneChanges(
            zone: Self.zone,
            changes: [.changed(other)],
            token: Self.token,
            moreComing: false
        )
        #expect(try RecordsForm.changes.writeAnswer(page) == nil)
    }

    // MARK: Bytes from elsewhere

    @Test func `Truncated and extended messages are rejected`() throws {
        for (name, bytes) in try Self.messages() {
            for count in bytes.indices {
                #expect(throws: WireFormError.self, "\(name), \(count) bytes") {
                    try read(name, Array(bytes[..<count]))
                }
            }
            #expect(throws: WireFormError.self) { try read(name, bytes + [0]) }
        }
    }

    @Test func `Changed and generated bytes are read, or rejected with a position`() async throws {
        var random = SeededGenerator(seed: 26)
        for (name, bytes) in try Self.messages() {
            var refused = 0
            for round in 0..<(runsLongTests ? 200_000 : 4_000) {
                // For a minute of --long, the clients of other tests would wait for this thread.
                if round % 1_000 == 0 { await Task.yield() }
                var changed = bytes
                if round % 10 == 0 {
                    let count = Int.random(in: 0..<200, using: &random)
                    changed = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random)
                    }
                    if round % 20 == 0 { changed = Array(bytes.prefix(2)) + changed }
                } else {
                    for _ in 0...Int.random(in: 0..<3, using: &random) {
                        let index = Int.random(in: changed.indices, using: &random)
                        changed[index] =
                            [0, 1, 0x7F, 0xFF, changed[index] &+ 1]
                            .randomElement(using: &random) ?? 0
                    }
                }
                do {
                    try read(name, changed)
                } catch let error as WireFormError {
                    refused += 1
                    #expect(error.offset >= 0 && error.offset <= changed.count, "\(error)")
                }
            }
            #expect(refused > 1_000, "\(name)")
        }
    }

    /// Reads a message, and all that was read of it.
    private func read(_ name: String, _ bytes: [UInt8]) throws {
        switch name {
        case "changes-request": _ = try RecordsForm.changes.readRequest(bytes)
        case "changes-answer": _ = "\(try RecordsForm.changes.readAnswer(bytes))"
        case "fetch-request": _ = try RecordsForm.fetch.readRequest(bytes)
        case "fetch-answer": _ = "\(try RecordsForm.fetch.readAnswer(bytes).map(\.result))"
        case "modify-request": _ = "\(try RecordsForm.modify.readRequest(bytes))"
        default: _ = "\(try RecordsForm.modify.readAnswer(bytes))"
        }
    }

    @Test func `Server and client report what they cannot read`() async throws {
        let hosted = try ServiceHost.records.open()
        let method = DatabaseMethods.modifyRecords
        let caller = hosted.trusted(Caller(user: "anna"))
        let error = try await #require(throws: SyncError.self) {
            try await method.answer(
                to: ReceivedMessage(.records, [1, 5, 9]),
                in: .records,
                by: hosted.store,
                as: caller
            )
        }
        #expect(error.code == .invalidArguments)
        #expect(
            error.message
                == "The request of 'modifyRecords' cannot be read: at byte 2: the flags 9 have no meaning."
        )
        let answer = #expect(throws: SyncError.self) {
            try method.answer(from: ReceivedMessage(.records, [2]))
        }
        #expect(answer?.code == .internalError)
        // A method without the form says so.
        let zones = try #require(DatabaseMethods.named("zones"))
        await #expect(throws: SyncError.self) {
            try await zones.answer(
                to: ReceivedMessage(.records, []),
                in: .records,
                by: hosted.store,
                as: caller
            )
        }
    }

    // MARK: Streams

    @Test func `Lines are reassembled from any split`() throws {
        let push = StreamLine.element(AccountStatus.restricted)
        let bytes = try push.bytes() + [10] + StreamLine<AccountStatus>.end.bytes()
        for size in 1...bytes.count {
            var splitter = LineSplitter()
            var lines: [[UInt8]] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                try splitter.append(Array(bytes[start..<min(start + size, bytes.count)]))
                while let line = splitter.next() { lines.append(line) }
            }
            #expect(lines.count == 3)
            guard case .element(.restricted) = try StreamLine<AccountStatus>(lines[0]),
                lines[1].isEmpty, case .end = try StreamLine<AccountStatus>(lines[2])
            else {
                Issue.record("\(lines)")
                return
            }
        }
        var endless = LineSplitter()
        #expect(throws: SyncError.self) {
            for _ in 0...LineSplitter.lineByteLimit >> 20 {
                try endless.append([UInt8](repeating: 32, count: 1 << 20))
            }
        }
    }

    @Test func `Pieces of an asset are reassembled from any split, with their end`() throws {
        let pieces: [[UInt8]] = [[1], [2, 3, 4, 5], [6]]
        let framed = pieces.flatMap { PieceFrames.head(ofPiece: $0.count) + $0 }
        let lost = SyncError(.assetNotAvailable, "It is damaged.")
        func read(_ bytes: [UInt8], _ size: Int) throws -> [UInt8] {
            var reader = PieceReader()
            var got: [UInt8] = []
            var start = 0
            while true {
                switch try reader.next() {
                case .piece(let piece): got += piece
                case .end: return got
                case .starved:
                    guard start < bytes.count else {
                        try reader.finish()
                        return got
                    }
                    reader.append(Array(bytes[start..<min(start + size, bytes.count)]))
                    start += size
                }
            }
        }
        for size in 1...30 {
            #expect(try read(framed + PieceFrames.end, size) == [1, 2, 3, 4, 5, 6])
            let cut = #expect(throws: SyncError.self) { try read(framed, size) }
            #expect(cut?.code == .networkFailure)
            let damaged = #expect(throws: SyncError.self) {
                try read(framed + PieceFrames.end(lost), size)
            }
            #expect(damaged == lost)
        }
    }
}

extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
        let utf8 = Array(text.utf8)
        return indices.contains { self[$0...].starts(with: utf8) }
    }
}
