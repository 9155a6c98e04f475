// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct ChangeStreamTests {
    private func read(_ text: String) throws -> ChangeStreamLine {
        var reader = ChangeStreamReader()
        return try reader.read(Array(text.utf8))
    }

    private func line(fields: String) -> String {
        #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"r","#
            + #""recordType":"T","fields":"# + fields + "}]}"
    }

    private func readFields(_ text: String) throws -> Fields {
        guard case .save(_, _, let fields, _) = try read(line(fields: text)).changes.first else {
            throw JSONError("no save", at: 0)
        }
        return fields
    }

    @Test func `Every type round-trips through JSON`() throws {
        var builder = FieldsBuilder()
        for (name, value) in sampleValues { try builder.set(name, value) }
        try builder.set("secret", .string("x"), isEncrypted: true)
        try builder.set("plainList", .int64List([1, 2]))
        let fields = try builder.finish()
        let original = ChangeStreamLine(
            time: -5,
            user: UserID("ü"),
            device: "d",
            build: "b",
            requestID: "r",
            database: DatabaseID(
                container: ContainerID("iCloud.x"),
                environment: .production,
                scope: .public
            ),
            changes: [
                .createZone(ZoneID(zoneName: "z")),
                .save(
                    recordID: RecordID(recordName: "a/\"b\"", zone: ZoneID(zoneName: "z")),
                    recordType: "T",
                    fields: fields
                ),
                .save(
                    recordID: RecordID(recordName: "child", zone: ZoneID(zoneName: "z")),
                    recordType: "T",
                    fields: Fields(),
                    parent: "a/\"b\""
                ),
                .delete(RecordID(recordName: "\u{1F30A}", zone: ZoneID(zoneName: "z"))),
                .deleteZone(ZoneID(zoneName: "other")),
            ]
        )
        var text: [UInt8] = []
        text.append(json: original)
        var reader = ChangeStreamReader()
        let copy = try reader.read(text)
        #expect(copy == original)
        guard case .save(_, _, let copied, _) = copy.changes[1] else {
            Issue.record("the second change is no save")
            return
        }
        #expect(copied.first { $0.name == "secret" }?.isEncrypted == true)
        #expect(try JSONSerialization.jsonObject(with: Data(text)) is [String: Any])
    }

    @Test func `Plain JSON values have default types`() throws {
        let fields = try readFields(
            #"{"s":"a\u0000","n":-7,"l":["x",""],"m":[1],"t":{"value":"v"},"d":{"type":"DOUBLE","value":1}}"#
        )
        #expect(fields["s"] == .string("a\0"))
        #expect(fields["n"] == .int64(-7))
        #expect(fields["l"] == .stringList(["x", ""]))
        #expect(fields["m"] == .int64List([1]))
        #expect(fields["t"] == .string("v"))
        #expect(fields["d"] == .double(1))
    }

    @Test func `The written bytes do not change between versions`() throws {
        var builder = FieldsBuilder()
        try builder.set("title", "Milk \"2%\"\n\u{7F}\u{1}é")
        try builder.set("done", 0)
        try builder.set("price", 1)
        try builder.set("price2", 0.1)
        try builder.set("tags", .stringList([]))
        try builder.set("due", .timestamp(1_393_936_109_000))
        try builder.set("blob", .bytes([0xFB, 0xFF]))
        try builder.set(
            "list",
            .reference(Reference(recordName: "groceries", action: .deleteSelf))
        )
        let body = RecordBody(
            RecordHeader(
                recordName: "milk",
                recordType: "Item",
                created: Authorship(time: 1, user: UserID("u-1")),
                modified: Authorship(time: 2, user: UserID("u-2"), device: "phone")
            ),
            fields: try builder.finish()
        )
        var text: [UInt8] = []
        text.append(
            json: Record(
                zone: ZoneID(zoneName: "lists"),
                changeTag: RecordChangeTag("5-a"),
                body: body
            )
        )
        #expect(
            String(decoding: text, as: UTF8.self)
                == #"{"zone":"lists","recordName":"milk","recordType":"Item","#
                + #""recordChangeTag":"5-a","created":{"timestamp":1,"userRecordName":"u-1"},"#
                + #""modified":{"timestamp":2,"userRecordName":"u-2","deviceID":"phone"},"#
                + #""fields":{"blob":{"value":"+/8=","type":"BYTES"},"done":0,"#
                + #""due":{"value":1393936109000,"type":"TIMESTAMP"},"#
                + #""list":{"value":{"recordName":"groceries","action":"DELETE_SELF"},"#
                + #""type":"REFERENCE"},"price":1,"price2":{"value":0.1,"type":"DOUBLE"},"#
                + #""tags":{"value":[],"type":"STRING_LIST"},"#
                + "\"title\":\"Milk \\\"2%\\\"\\n\u{7F}\\u0001é\"}}"
        )
    }

    @Test(arguments: [
        ("{\"a\":null}", "The field \"a\": A field cannot be null; leave it out."),
        ("{\"a\":true}", "The field \"a\": There is no Boolean type; write 0 or 1."),
        (
            "{\"a\":[]}",
            "The field \"a\": An empty list has no type; write {\"value\": [], \"type\": "
                + "\"STRING_LIST\"} or another list type."
        ),
        (
            "{\"a\":[1,\"x\"]}",
            "The field \"a\": A list holds values of one type; this one mixes types."
        ),
        (
            "{\"a\":9223372036854775808}",
            "The field \"a\": 9223372036854775808 is an integer beyond 64 bits."
        ),
        (
            "{\"a\":[1,99999999999999999999]}",
            "The field \"a\": 99999999999999999999 is an integer beyond 64 bits."
        ),
        (
            "{\"a\":1.5}",
            "The field \"a\": 1.5 is not a whole number; write {\"value\": 1.5, \"type\": "
                + "\"DOUBLE\"} for a floating-point number."
        ),
        (
            "{\"a\":[1,2.0]}",
            "The field \"a\": 2.0 is not a whole number; write {\"value\": […], \"type\": "
                + "\"DOUBLE_LIST\"} for floating-point numbers."
        ),
        (
            "{\"a\":{\"value\":1e3,\"type\":\"TIMESTAMP\"}}",
            "The field \"a\": 1e3 is not a whole number; write it without fraction and exponent."
        ),
        ("{\"a\":1,\"a\":2}", "The field \"a\" is given twice; keep one of them."),
        (
            "{\"a\":{\"value\":\"?\",\"type\":\"BYTES\"}}",
            "The field \"a\": The string is not base64 (RFC 4648, with padding)."
        ),
        (
            "{\"a\":{\"value\":1e999,\"type\":\"DOUBLE\"}}",
            "The field \"a\": 1e999 is beyond what a DOUBLE holds."
        ),
        (
            "{\"a\":{\"value\":{\"latitude\":91,\"longitude\":0},\"type\":\"LOCATION\"}}",
            "The field \"a\": It holds a location at latitude 91.0; it must lie from -90 to 90."
        ),
        (
            "{\"a\":{\"value\":1,\"value\":2}}",
            "The field \"a\": The member \"value\" appears twice; keep one of them."
        ),
        (
            "{\"a\":{\"type\":\"STRING\"}}",
            "The field \"a\": A field that is an object needs the member \"value\"."
        ),
        ("{\"\":1}", "The field \"\": A field has an empty name; name it."),
    ])
    func `The error names an invalid field`(fields: String, message: String) {
        let error = #expect(throws: JSONError.self) { try read(line(fields: fields)) }
        #expect(error?.message == "changes[0]: " + message)
    }

    @Test(arguments: [
        ("{\"user\":\"u\",\"changes\":[]}", "A line needs a \"time\"."),
        ("{\"time\":1,\"changes\":[]}", "A line needs a \"user\"."),
        (
            "{\"time\":1700000000000000,\"user\":\"u\",\"changes\":[]}",
            "The time 1700000000000000 is beyond the years 0 to 9999; write milliseconds since 1970."
        ),
        ("{\"time\":1,\"user\":\"u\"}", "A line needs \"changes\"."),
        (
            "{\"time\":1,\"time\":2,\"user\":\"u\",\"changes\":[]}",
            "The member \"time\" appears twice; keep one of them."
        ),
        (
            "{\"time\":1,\"usr\":\"u\",\"changes\":[]}",
            "There is no member \"usr\" here; the members are time, user, device, build, request, "
                + "changes, container, environment, database, owner."
        ),
        (
            "{\"time\":1,\"user\":\"\",\"changes\":[]}",
            "\"user\" is empty; name it, or leave it out."
        ),
        (
            "{\"time\":1,\"user\":\"u\",\"changes\":[{\"op\":\"drop\",\"zone\":\"z\"}]}",
            "changes[0]: There is no op \"drop\"; the ops are save, delete, createZone, deleteZone."
        ),
        (
            "{\"time\":1,\"user\":\"u\",\"changes\":[{\"op\":\"delete\",\"zone\":\"z\"}]}",
            "changes[0]: A delete needs a \"recordName\"."
        ),
        (
            "{\"time\":1.5,\"user\":\"u\",\"changes\":[]}",
            "1.5 is not a whole number; write it without fraction and exponent."
        ),
    ])
    func `The error for an invalid line has a reason`(line: String, message: String) {
        let error = #expect(throws: JSONError.self) { try read(line) }
        #expect(error?.message == message)
    }

    @Test func `A line after an invalid one is read without its remains`() throws {
        var reader = ChangeStreamReader()
        let good = Array(line(fields: "{\"x\":1}").utf8)
        let expected = try reader.read(good)
        #expect(throws: JSONError.self) {
            try reader.read(Array(line(fields: "{\"y\":2,\"z\":null}").utf8))
        }
        #expect(try reader.read(good) == expected)
    }

    @Test func `Content does not depend on the formatting of the line`() throws {
        func content(_ text: String) throws -> [UInt8] {
            var bytes: [UInt8] = []
            try read(text).appendContent(to: &bytes)
            return bytes
        }
        let one =
            #"{"time":1,"user":"u","changes":[{"op":"save","zone":"z","recordName":"é","#
            + #""recordType":"T","fields":{"a":1,"b":["x"]}}]}"#
        let other =
            #"{ "changes" : [ {"fields":{"b":{"type":"STRING_LIST","value":["x"]},"a":1},"#
            + #""recordType":"T","recordName":"\u00e9","zone":"z","op":"save"} ],"user":"u","time":1}"#
        let decomposed = one.replacing("é", with: "e\u{301}")
        #expect(try content(one) == content(other))
        #expect(try content(one) != content(decomposed))
        #expect(try content(one) != content(one.replacing("\"time\":1", with: "\"time\":2")))
        #expect(
            try content(one) != content(one.replacing("\"user\":\"u\"", with: "\"user\":\"v\""))
        )
    }

    @Test(arguments: 0..<4)
    func `Damaged lines are rejected or read, and never trap`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        var text: [UInt8] = []
        var builder = FieldsBuilder()
        for (name, value) in sampleValues { try builder.set(name, value) }
        text.append(
            json: ChangeStreamLine(
                time: 1,
                user: UserID("u"),
                changes: [
                    .save(
                        recordID: RecordID(recordName: "r"),
                        recordType: "T",
                        fields: try builder.finish()
                    )
                ]
            )
        )
        var reader = ChangeStreamReader()
        for _ in 0..<2000 {
            let damaged = text.damaged(by: &generator)
            guard let line = try? reader.read(damaged) else { continue }
            for case .save(_, _, let fields, _) in line.changes {
                #expect(throws: Never.self) { try Fields(validating: fields.bytes) }
            }
        }
    }
}
