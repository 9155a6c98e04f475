// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TidemarkModel

@Suite struct SchemaBytesTests {
    /// One change of every kind, and every type of field.
    private static let everything: [SchemaChange] = {
        let fields = Schema.DeclaredType.all.enumerated().map { index, type in
            Schema.Field(Name("f\(index)"), type, type.automaticIndexes)
        }
        var note = Schema.RecordType("Note", fields: fields, grants: Schema.Grant.standard)
        note.set(Schema.Field("___recordID", .plain(.reference), .queryable))
        note.set([.read, .write], for: Schema.Role("editor"))
        return [
            .roleAdded(Schema.Role("editor")),
            .roleRemoved(Schema.Role("guest")),
            .recordTypeAdded(note),
            .recordTypeRemoved("Old"),
            .fieldAdded("Note", Schema.Field("due", .plain(.timestamp), .sortable)),
            .fieldRemoved("Note", "gone"),
            .fieldTypeChanged("Note", "size", from: .number, to: .plain(.double)),
            .indexesChanged("Note", "title", from: [], to: [.queryable, .searchable]),
            .permissionsChanged("Note", .creator, from: .write, to: [.read, .write]),
        ]
    }()

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `changes have the bytes they always had`() throws {
        let golden = Self.folder.appending(path: "Fixtures/v1/schema.changes")
        let bytes = [UInt8](try Data(contentsOf: golden))
        #expect(Self.everything.encoded == bytes)
        #expect(try [SchemaChange](encoded: bytes[...]) == Self.everything)
    }

    @Test func `the document's example is what it says`() throws {
        let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(
            contentsOf: root.appending(path: "Docs/formats/schema.md"),
            encoding: .utf8
        )
        let example = try #require(document.components(separatedBy: "## Example").last)
        var bytes: [UInt8] = []
        for line in example.components(separatedBy: "```")[1].split(separator: "\n") {
            let columns = line.dropFirst(4).split(separator: " ", omittingEmptySubsequences: false)
            #expect(Int(line.prefix(2), radix: 16) == bytes.count, "\(line)")
            for column in columns {
                if column.isEmpty { continue }
                guard column.count == 2, let byte = UInt8(column, radix: 16) else { break }
                bytes.append(byte)
            }
        }
        let changes: [SchemaChange] = [
            .recordTypeAdded(
                Schema.RecordType(
                    "Note",
                    fields: [
                        Schema.Field("___recordID", .plain(.reference), .queryable),
                        Schema.Field("secret", .encrypted(.string)),
                        Schema.Field("tags", .plain(.stringList), [.queryable, .searchable]),
                    ],
                    grants: [Schema.Grant([.read, .write], to: .creator)]
                )
            ),
            .indexesChanged("Users", "nick", from: [], to: .sortable),
        ]
        #expect(bytes == changes.encoded)
    }

    @Test(arguments: 0..<40)
    func `changes read back as they were written`(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<10 {
            let old = Schema.random(using: &generator)
            let changes = old.changes(to: old.varied(using: &generator))
            let bytes = changes.encoded
            #expect(try [SchemaChange](encoded: bytes[...]) == changes)
            #expect(
                try [SchemaChange](encoded: ([7] + bytes + [7]).dropFirst().dropLast()) == changes
            )
        }
    }

    @Test func `bytes that are cut short anywhere are refused`() {
        let bytes = Self.everything.encoded
        for end in 0..<bytes.count {
            #expect(throws: SchemaBytesError.self, "\(end)") {
                try [SchemaChange](encoded: bytes[..<end])
            }
        }
    }

    @Test(arguments: 0..<40)
    func `damaged bytes are refused, or are the bytes of what is read`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let bytes = Self.everything.encoded
        for _ in 0..<100 {
            let damaged = bytes.damaged(by: &generator)
            do throws(SchemaBytesError) {
                let changes = try [SchemaChange](encoded: damaged[...])
                #expect(changes.encoded == damaged)
                _ = Schema().applying(changes)
            } catch {
                #expect((0...damaged.count).contains(error.offset))
            }
        }
    }

    static let errors: [([UInt8], String)] = [
        ([], "The bytes end before the version. (at byte 0)"),
        (
            [2, 0],
            "Expected schema changes of version 1, found 2; use a newer program. (at byte 1)"
        ),
        ([1], "The bytes end before the end of the number of changes. (at byte 1)"),
        ([1, 0, 9], "1 bytes are left over after the last change. (at byte 2)"),
        ([1, 2, 1], "2 changes are announced, but 1 bytes are left. (at byte 2)"),
        ([1, 0x80, 0], "The number of changes is not written in its shortest form. (at byte 3)"),
        (
            [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            "The number of changes is too large. (at byte 5)"
        ),
        ([1, 1, 10], "There is no schema change of kind 10; use a newer program. (at byte 3)"),
        ([1, 1, 1, 0], "The name of a role is empty. (at byte 4)"),
        ([1, 1, 1, 1, 0xFF], "The name of a role is not UTF-8. (at byte 4)"),
        ([1, 1, 5, 1, 65, 1, 98, 9, 0], "There is no field type 9. (at byte 8)"),
        ([1, 1, 5, 1, 65, 1, 98, 0x88, 0], "There is no field type 136. (at byte 8)"),
        ([1, 1, 5, 1, 65, 1, 98, 1, 8], "There are no indexes 8. (at byte 9)"),
        (
            [1, 1, 5, 1, 65, 7] + Array("___etag".utf8) + [2, 0],
            "The system field ___etag cannot be INT64. (at byte 15)"
        ),
        (
            [1, 1, 3, 1, 65, 1, 7] + Array("___etag".utf8) + [1, 0],
            "The system field ___etag stands here without an index. (at byte 16)"
        ),
        (
            [1, 1, 3, 1, 65, 2, 1, 98, 1, 0, 1, 98, 1, 0, 0],
            "The field b does not follow the one before it. (at byte 14)"
        ),
        ([1, 1, 3, 1, 65, 0, 1, 1, 114, 0], "The role r is granted nothing. (at byte 10)"),
        ([1, 1, 3, 1, 65, 0, 1, 1, 114, 8], "There are no permissions 8. (at byte 10)"),
        (
            [1, 1, 3, 1, 65, 0, 2, 1, 114, 1, 1, 97, 1],
            "The role a does not follow the one before it. (at byte 13)"
        ),
    ]

    @Test(arguments: errors)
    func `an error says where and what`(_ bytes: [UInt8], _ message: String) {
        do throws(SchemaBytesError) {
            let changes = try [SchemaChange](encoded: bytes[...])
            Issue.record("\(bytes) reads as \(changes)")
        } catch {
            #expect(error.description == message)
        }
    }
}
