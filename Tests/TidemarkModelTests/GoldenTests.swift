// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TidemarkModel

/// The formats as they were when they were first written down.
@Suite struct GoldenTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    private func fixture(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: Self.folder.appending(path: "Fixtures/v1/\(name)")))
    }

    private func document(_ name: String) throws -> String {
        let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "Docs/formats/\(name)"), encoding: .utf8)
    }

    /// The record of the document's example, made by three saves.
    private func milk() throws -> RecordBody {
        let created = Authorship(time: 1_700_000_000_000, user: UserID("u-1"))
        func header(_ modified: Authorship) -> RecordHeader {
            RecordHeader(
                recordName: "milk",
                recordType: "Item",
                created: created,
                modified: modified
            )
        }
        let first = RecordBody(
            header(created),
            fields: try Fields(["title": "Milk", "due": .timestamp(1)])
        )
        let second = RecordBody(
            header(Authorship(time: 1_700_000_030_000, user: UserID("u-1"))),
            setting: try Fields(["due": nil]),
            extent: .changedFields,
            over: first,
            of: 3
        )
        return RecordBody(
            header(Authorship(time: 1_700_000_060_000, user: UserID("u-2"), device: "phone")),
            setting: try Fields(["done": 1]),
            extent: .changedFields,
            over: second,
            of: 5
        )
    }

    @Test func `A record has the bytes of its golden file`() throws {
        let bytes = try fixture("milk.record")
        #expect(Array(try milk().bytes) == bytes)
        let body = try RecordBody(validating: bytes[...])
        #expect(body.recordName == "milk")
        #expect(body.recordType == "Item")
        #expect(body.created == Authorship(time: 1_700_000_000_000, user: UserID("u-1")))
        #expect(
            body.modified
                == Authorship(time: 1_700_000_060_000, user: UserID("u-2"), device: "phone")
        )
        #expect(body.parentName == nil)
        #expect(body.shareName == nil)
        #expect(body.fields.map(\.name) == ["done", "due", "title"])
        #expect(body.fields.map(\.value) == [.int64(1), nil, .string("Milk")])
        #expect(body.fields.map(\.stamp) == [0, 5, 3])
        #expect(body.fields.present.map(\.name) == ["done", "title"])
    }

    @Test func `The document's example equals the golden record`() throws {
        let example = try #require(
            try document("record.md").components(separatedBy: "## Example").last
        )
        var bytes: [UInt8] = []
        for line in example.components(separatedBy: "```")[1].split(separator: "\n") {
            let columns = line.dropFirst(4).split(separator: " ", omittingEmptySubsequences: false)
            #expect(Int(line.prefix(2), radix: 16) == bytes.count, "\(line)")
            // Bytes are two digits each; the remark begins after them.
            for column in columns {
                if column.isEmpty { continue }
                guard column.count == 2, let byte = UInt8(column, radix: 16) else { break }
                bytes.append(byte)
            }
        }
        #expect(bytes == (try fixture("milk.record")))
    }

    @Test func `A change stream is read and written as its golden files`() throws {
        let text = try fixture("changes.jsonl")
        var reader = ChangeStreamReader()
        var written: [UInt8] = []
        var content: [UInt8] = []
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let commit = try reader.read(line)
            written.append(json: commit)
            commit.appendContent(to: &content)
        }
        #expect(written == text)
        #expect(content == (try fixture("changes.content")))
    }

    @Test func `The document of the change stream contains a valid line`() throws {
        let example = try document("changes.md").components(separatedBy: "```")[1]
        let line = example.replacing("\n", with: "").replacing("  {", with: "{")
        var reader = ChangeStreamReader()
        let commit = try reader.read(Array(line.utf8))
        #expect(commit.changes.count == 1)
    }
}
