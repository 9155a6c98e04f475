// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark

/// What a device keeps in files of its own.
@Suite struct KeptValueTests {
    private struct State: Codable, Equatable {
        var token: ChangeToken
        var zone: ZoneID
        var shared: ZoneID
        var database: DatabaseID
        var record: Record
        var id: RecordID
        var tag: RecordChangeTag?
        var cursor: QueryPageCursor
        var place: Location
        var link: Reference
        var mark: ProjectionMark
    }

    private actor Last: Projection {
        nonisolated let databaseID: DatabaseID? = nil
        private var last: ProjectionMark?
        func mark() -> ProjectionMark? { last }
        func take(_ commits: [ProjectedCommit], through mark: ProjectionMark) { last = mark }
        func reset(_ reason: ProjectionReset) { last = nil }
    }

    @Test func `Tokens, identifiers, records, cursors and marks round-trip with any coder`()
        async throws
    {
        let garden = try await Garden()
        let saved = try await garden.zone.save(Chore(title: "ü", tags: ["a"])).record
        try await garden.zone.save(Chore(title: "b"))
        var query = garden.zone.query("Chore")
        query.pageLimit = 1
        var pages = query.pages.makeAsyncIterator()
        let cursor = try #require(try await pages.next()?.cursor)
        var changes = garden.zone.changes().pages.makeAsyncIterator()
        let token = try #require(try await changes.next()?.token)
        let state = State(
            token: token,
            zone: garden.zone.id,
            shared: ZoneID(zoneName: "z", ownerName: "anna"),
            database: garden.anna.id,
            record: saved,
            id: saved.recordID,
            tag: saved.changeTag,
            cursor: cursor,
            place: Location(latitude: 1, longitude: -2, timestamp: 3),
            link: Reference(recordName: "other", zone: garden.zone.id, action: .deleteSelf),
            mark: try await garden.store.advance(Last())
        )
        let bytes = try JSONEncoder().encode(state)
        #expect(try JSONDecoder().decode(State.self, from: bytes) == state)
        query.cursor = cursor
        #expect(try await query.all().count == 1)
        // What was changed in a file is found, and is no crash.
        let text = String(decoding: bytes, as: UTF8.self)
        let damaged = [
            text.replacing("\(token)", with: "t.%"),
            text.replacing(#""body":""#, with: #""body":"AAAA"#),
            text.replacing("\(state.mark)", with: "x"),
        ]
        for text in damaged {
            #expect(text != String(decoding: bytes, as: UTF8.self))
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(State.self, from: Data(text.utf8))
            }
        }
    }

    @Test func `Fields are read and written as Swift values`() throws {
        var fields: Fields = ["a": 1, "b": true, "c": ["x"], "d": nil, "e": [1.5]]
        #expect(fields.count == 5)
        fields["a"] = "text"
        fields["b"] = nil as FieldValue?
        let date = Date(timeIntervalSince1970: 1.5)
        fields["f"] = date
        fields["g"] = .int64(7)
        #expect(fields["a"] == "text")
        #expect(fields["b"] as FieldValue? == nil)
        #expect(fields["c"] == ["x"])
        #expect(fields["f"] == date)
        #expect(fields["g"] as Int? == 7)
        #expect(fields["g"] as UInt8? == 7)
        #expect(try fields.value("e", as: [Double].self) == [1.5])
        #expect(fields.map(\.name) == ["a", "b", "c", "d", "e", "f", "g"])
        let error = #expect(throws: SyncError.self) { try fields.value("a", as: Int.self) }
        #expect(error?.message == "The field \"a\" is a STRING, which cannot be read as Int.")
        #expect(throws: SyncError.self) { try fields.value("b", as: Int.self) }
    }

    @Test func `A save rejects fields that cannot be stored and names them`() async throws {
        let garden = try await Garden()
        let long = String(repeating: "x", count: 300)
        let cases: [(Fields, String)] = [
            (["n": Double.nan], "The field \"n\" holds nan"),
            // Beside a reference that is stored in another form.
            (
                ["n": Double.nan, "to": Reference(recordName: "x", zone: garden.zone.id)],
                "The field \"n\" holds nan"
            ),
            (["p": Location(latitude: 91, longitude: 0)], "The field \"p\" holds a location"),
            ([long: 1], "xxx"), (["": 1], "name"),
        ]
        for (fields, text) in cases {
            await #expect {
                try await garden.zone.save("r", type: "Chore", fields: fields)
            } throws: { error in
                (error as? SyncError)?.code == .invalidArguments && "\(error)".contains(text)
            }
        }
        #expect(try await garden.zone.fetchIfPresent("r") == nil)
    }
}
