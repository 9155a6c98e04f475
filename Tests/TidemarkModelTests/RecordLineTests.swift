// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@Suite struct RecordLineTests {
    private func read(_ text: String) throws -> RecordLine {
        var reader = RecordLineReader()
        return try reader.read(text.utf8)
    }

    private func save(_ text: String) throws -> RecordSave {
        guard case .record(let record) = try read(text) else { throw JSONError("no record", at: 0) }
        return try record.save(.merge)
    }

    @Test func `A written record is parsed as a save of the same content`() throws {
        let fields = try Fields(["a": 1, "b": "text", "c": .doubleList([1, 2.5])])
        let author = Authorship(time: 5, user: UserID("_anna"), device: "phone")
        let body = RecordBody(
            RecordHeader(
                recordName: "milk",
                recordType: "Item",
                created: author,
                modified: author,
                parentName: "list"
            ),
            setting: fields,
            extent: .wholeRecord,
            over: nil,
            of: 0
        )
        let zone = ZoneID(zoneName: "Küche")
        let record = Record(zone: zone, changeTag: RecordChangeTag("4-z"), body: body)
        var text: [UInt8] = []
        text.append(json: record)
        let expected = RecordSave(
            RecordID(recordName: "milk", zone: zone),
            type: "Item",
            fields: fields,
            parent: .set("list"),
            changeTag: RecordChangeTag("4-z"),
            policy: .merge
        )
        let plain = String(decoding: text, as: UTF8.self)
        for line in [plain, "{\"changed\":\(plain)}", " {\"saved\" : \(plain) } "] {
            #expect(try save(line) == expected)
        }
    }

    @Test func `Members missing from a line are unchanged, and null removes`() throws {
        let bare = try save(#"{"recordName":"a","recordType":"T","fields":{}}"#)
        #expect(bare.recordID == RecordID(recordName: "a"))
        #expect(bare.parent == .unchanged)
        #expect(bare.changeTag == nil)
        let removing = try save(
            #"{"recordName":"a","recordType":"T","parent":null,"fields":{"x":null,"y":1}}"#
        )
        #expect(removing.parent == .removed)
        #expect(removing.fields == (try Fields(["x": nil, "y": 1])))
    }

    @Test func `Deletions and the end of a delta are lines too`() throws {
        let deleted = try read(#"{"deleted":{"zone":"z","recordName":"a","recordType":"T"}}"#)
        guard case .deleted(let record) = deleted else {
            Issue.record("\(deleted)")
            return
        }
        let id = RecordID(recordName: "a", zone: ZoneID(zoneName: "z"))
        #expect(record.deletion == RecordDeletion(id))
        #expect(try read(#"{"token":"t.x","moreComing":false}"#) == .end)
    }

    @Test(arguments: [
        ("{}", "A record needs a \"recordName\"."),
        (#"{"zone":"z"}"#, "A record needs a \"recordName\"."),
        (#"{"recordName":"a","recordName":"b"}"#, "appears twice"),
        (#"{"recordName":"a","tag":"b"}"#, "There is no member \"tag\" here"),
        (#"{"deleted":{"recordName":"a"},"x":1}"#, "There is no member \"x\" here"),
        (#"{"recordName":"a","fields":{"x":1,"x":2}}"#, "is given twice"),
        (#"{"recordName":"a","fields":{"x":{"value":null}}}"#, "A field cannot be null"),
        (#"{"recordName":"a"} x"#, "Expected the end of the text"),
    ])
    func `The error for an invalid line has a reason`(text: String, message: String) {
        let error = #expect(throws: JSONError.self) { try read(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}
