// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A segment of a journal as the first version of the format wrote it, with entries of every kind.
///
/// The file of a released version never changes. While version 1 is not released, `TIDEMARK_GOLDEN=1
/// swift test --filter GoldenJournalTests` writes it anew.
@Suite(.serialized) struct GoldenJournalTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fixtures/v1/journal.jnl").standardizedFileURL
    private static let folder = StoreFolder("/store")

    private let contents: [JournalEntry.Content]

    init() throws {
        let token = ChangeToken(bytes: Array(0..<50))
        let caller = Caller(
            database: DatabaseID(environment: .production, owner: UserID("u-9cd6")),
            user: UserID("u-9cd6"),
            device: "phone",
            build: "12",
            requestID: "A-1"
        )
        let zone = ZoneID(zoneName: "Notes")
        let shared = Caller(database: DatabaseID(scope: .shared), user: nil)
        var refused = JournalEntry.Refused(
            .modifyRecords,
            caller,
            [
                .init(
                    .record(RecordID(recordName: "common/cal.md", zone: zone)),
                    .permissionFailure,
                    "The record is not among those that the caller may change."
                ),
                .init(.record(RecordID(recordName: "é", zone: zone)), .batchRequestFailed, ""),
            ]
        )
        refused.omittedCount = 3
        contents = [
            .began(.full), .refused(refused),
            .refused(
                JournalEntry.Refused(
                    .zoneChanges,
                    shared,
                    since: token,
                    [
                        .init(nil, .changeTokenExpired, "It is of another store."),
                        .init(
                            .zone(ZoneID(zoneName: "Notes", ownerName: "u-1")),
                            .zoneNotFound,
                            ""
                        ),
                        .init(.subscription("s-1"), .unknownItem, "There is none."),
                    ]
                )
            ),
            .told(
                JournalEntry.Told(
                    .zoneChanges,
                    caller,
                    zone: zone,
                    since: nil,
                    token: token,
                    shownThrough: SequenceNumber(rawValue: 1_042),
                    changeCount: 200,
                    moreComing: true
                )
            ),
            .told(
                JournalEntry.Told(
                    .databaseChanges,
                    shared,
                    since: token,
                    token: token,
                    shownThrough: SequenceNumber(rawValue: 1_043),
                    changeCount: 0,
                    moreComing: false
                )
            ),
            .ended,
        ]
    }

    /// What today's writer makes of the entries.
    private func written() throws -> [UInt8] {
        let disk = SimulatedFileSystem()
        try disk.createDirectory("/store")
        var environment = LogEnvironment(
            fileSystem: disk,
            now: { 1_700_000_000_000 },
            random: { 0x1122_3344_5566_7788 }
        )
        environment.writesInline = true
        let journal = Journal(
            Self.folder,
            of: GoldenEvents.store,
            Incarnation(rawValue: 7),
            JournalConfiguration(),
            environment
        )
        for (number, content) in contents.enumerated() {
            journal.append(content.bytes, at: 1_700_000_000_000 + Int64(number))
        }
        journal.close()
        return try disk.contents(of: Self.folder.journalSegment(1))
    }

    private func kept() throws -> [UInt8] {
        if ProcessInfo.processInfo.environment["TIDEMARK_GOLDEN"] == "1" {
            try Data(try written()).write(to: Self.file)
        }
        return [UInt8](try Data(contentsOf: Self.file))
    }

    @Test func `A segment of version 1 is read`() throws {
        let disk = SimulatedFileSystem()
        try disk.createDirectory("/store")
        try disk.createDirectory(Self.folder.journal)
        try disk.setContents(of: Self.folder.journalSegment(1), to: try kept())
        var found: [JournalEntry] = []
        let standing = JournalStanding(
            reading: JournalReader(Self.folder, of: GoldenEvents.store, disk)
        ) { found.append($0) }
        #expect(standing.damage.isEmpty && standing.segmentCount == 1)
        #expect(
            found
                == contents.enumerated().map {
                    JournalEntry(time: 1_700_000_000_000 + Int64($0.offset), $0.element)
                }
        )
    }

    @Test func `The writer still produces the same bytes`() throws {
        #expect(try written() == kept())
    }

    @Test func `Truncated and extended entries are rejected`() throws {
        for content in contents {
            let bytes = content.bytes
            #expect(try JournalEntry.Content(bytes.span.bytes) == content)
            for length in 0..<bytes.count {
                let part = Array(bytes[..<length])
                #expect(throws: EventFormatError.self) {
                    try JournalEntry.Content(part.span.bytes)
                }
            }
            let longer = bytes + [0]
            #expect(throws: EventFormatError.self) {
                try JournalEntry.Content(longer.span.bytes)
            }
        }
    }

    @Test func `The example of the document is the second entry`() throws {
        let bytes = try kept()
        let document = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Docs/formats/journal.md"),
            encoding: .utf8
        )
        // The header has 256 bytes, and the entry before 24 and its content, padded.
        for start in stride(from: 288, to: 504, by: 16) {
            let row = bytes[start..<min(start + 16, 504)].map { String(format: "%02x", $0) }
            let line = String(format: "%04x  ", start) + row.joined(separator: " ")
            #expect(document.contains(line), "\(line)")
        }
    }

    @Test func `Rejections of a large request are truncated, and the rest counted`() throws {
        let refusals = (0..<2_000).map { number in
            JournalEntry.Refusal(
                .record(RecordID(recordName: "record \(number)")),
                .invalidArguments,
                String(repeating: "long ", count: 300)
            )
        }
        let refused = JournalEntry.Refused(.modifyRecords, Caller(), refusals)
        let bytes = JournalEntry.Content.refused(refused).bytes
        #expect(bytes.count < 70_000)
        guard case .refused(let found) = try JournalEntry.Content(bytes.span.bytes) else {
            Issue.record("another kind")
            return
        }
        #expect(found.refusals.count + found.omittedCount == 2_000 && found.refusals.count > 60)
        #expect(found.refusals.map(\.item) == refusals.prefix(found.refusals.count).map(\.item))
        #expect(found.refusals.allSatisfy { $0.message.count == 1_000 })
    }
}
