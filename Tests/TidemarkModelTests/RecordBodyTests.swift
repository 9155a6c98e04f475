// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkModel

@Suite struct RecordBodyTests {
    private func body() throws -> RecordBody {
        let fields = try fields(sampleValues.map { ($0.0, $0.1) })
        let header = RecordHeader(
            recordName: "é",
            recordType: "T",
            created: Authorship(time: .min, user: UserID("a")),
            modified: Authorship(time: .max, user: nil, device: "d"),
            parentName: "p",
            shareName: "s"
        )
        let first = RecordBody(header, fields: fields)
        return RecordBody(
            header,
            setting: try Fields(["string": nil, "new": 1]),
            extent: .changedFields,
            over: first,
            of: .max
        )
    }

    /// Touches all that a body gives access to.
    private func readAll(_ body: RecordBody) -> Int {
        var count = body.recordName.utf8.count + body.recordType.utf8.count
        count += body.created.device?.utf8.count ?? 0
        count += body.modified.user?.userRecordName.utf8.count ?? 0
        count += body.parentName?.utf8.count ?? 0
        for field in body.fields {
            count &+= field.name.utf8.count + (field.value == nil ? 0 : 1)
            count &+= Int(truncatingIfNeeded: field.stamp)
            count &+= body.fields.index(of: field.name) ?? 0
        }
        return count
    }

    @Test func comparesTheAuthorshipOfRecords() {
        func body(_ name: Name, _ created: Authorship, _ modified: Authorship) -> RecordBody {
            let header = RecordHeader(
                recordName: name,
                recordType: "T",
                created: created,
                modified: modified
            )
            return RecordBody(header, fields: Fields())
        }
        let first = Authorship(time: 1, user: UserID("ann"), device: "b")
        let second = Authorship(time: 2, user: UserID("ben"))
        let record = body("a", first, second)
        // The names have different lengths, which moves the texts of the authorship.
        #expect(record.hasSameAuthorship(as: body("longer", first, second)))
        let others = [
            (second, first), (first, first), (second, second),
            (first, Authorship(time: 3, user: UserID("ben"))),
            (Authorship(time: 3, user: UserID("ann"), device: "b"), second),
            (Authorship(time: 1, user: UserID("amy"), device: "b"), second),
            (Authorship(time: 1, user: UserID("ann"), device: "c"), second),
            (Authorship(time: 1, user: UserID("annb")), second),
            (first, Authorship(time: 2, user: nil, device: "ben")),
        ]
        for (created, modified) in others {
            #expect(!record.hasSameAuthorship(as: body("a", created, modified)))
        }
    }

    @Test func `System fields round-trip`() throws {
        let body = try RecordBody(validating: try body().bytes)
        #expect(body.created == Authorship(time: .min, user: UserID("a")))
        #expect(body.modified == Authorship(time: .max, user: nil, device: "d"))
        #expect(body.parentName == "p")
        #expect(body.shareName == "s")
        #expect(body.fields["string"] == nil)
        #expect(body.fields["new"] == .int64(1))
        #expect(body.fields["bytes"] == .bytes([0, 255, 128]))
    }

    @Test func `Redacting a user changes only that user and the given values`() throws {
        let body = try body()
        let other = body.redacted(without: UserID("b"))
        #expect(other == body)
        let redacted = body.redacted(
            without: UserID("a"),
            values: ["new": .int64(5), "bytes": "of another type", "string": .string("removed")]
        )
        #expect(try RecordBody(validating: redacted.bytes) == redacted)
        #expect(redacted.created == Authorship(time: .min, user: nil))
        #expect(redacted.modified == body.modified)
        #expect(redacted.parentName == "p")
        #expect(redacted.fields["new"] == .int64(5))
        #expect(redacted.fields.count == body.fields.count)
        for (field, old) in zip(redacted.fields, body.fields) {
            #expect(field.name == old.name && field.stamp == old.stamp && field.type == old.type)
            if field.name != "new" { #expect(field.value == old.value) }
        }
    }

    @Test func `A slice of a larger buffer is decoded like the whole`() throws {
        let body = try body()
        let padded = [1, 2, 3] + body.bytes + [4, 5]
        let slice = padded[3..<padded.count - 2]
        let copy = try RecordBody(validating: slice)
        #expect(copy == body)
        #expect(readAll(copy) == readAll(body))
    }

    @Test func `Every truncation is rejected`() throws {
        let bytes = try body().bytes
        for length in 0..<bytes.count {
            #expect(throws: BodyError.self) { try RecordBody(validating: bytes.prefix(length)) }
        }
        #expect(throws: BodyError.self) { try RecordBody(validating: bytes + [0]) }
    }

    @Test func `Every flipped bit is rejected or changes the record`() throws {
        let original = try body()
        let bytes = Array(original.bytes)
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            if let stored = try? RecordBody(stored: flipped[...]) {
                _ = readAll(stored)
            }
            guard let valid = try? RecordBody(validating: flipped[...]) else { continue }
            _ = readAll(valid)
            #expect(valid != original)
        }
    }

    @Test func `Bytes with a verified checksum still have their frame checked`() throws {
        let bytes = try body().bytes
        let table = try body().bytes.count - body().fields.bytes.count + 2 + 8 * body().fields.count
        for length in 0..<table {
            #expect(throws: BodyError.self) { try RecordBody(stored: bytes.prefix(length)) }
        }
        let cut = try RecordBody(stored: bytes.prefix(table))
        #expect(cut.fields.allSatisfy { $0.isRemoved })
        try walkAll(cut, body())
    }

    /// Does with a record what the engine does with one whose frame alone was checked.
    private func walkAll(_ stored: RecordBody, _ other: RecordBody) throws {
        _ = readAll(stored)
        _ = FieldSelection(["string", "bytes"]).narrow(stored)
        stored.visitBindings { _, _ in }
        _ = stored.fields.changes(from: other.fields)
        _ = other.fields.changes(from: stored.fields)
        _ = stored.redacted(without: UserID("a"), values: ["bytes": "x"])
    }

    @Test(arguments: 0..<(runsLongTests ? 4 : 1))
    func `Damaged bytes never trap, and valid bodies can be encoded again`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let bytes = Array(try body().bytes)
        for _ in 0..<1500 {
            let damaged = bytes.damaged(by: &generator)
            if let stored = try? RecordBody(stored: damaged[...]) { try walkAll(stored, body()) }
            guard let valid = try? RecordBody(validating: damaged[...]) else { continue }
            for field in valid.fields.present {
                #expect(field.value.map { $0.encoded[...] } == field.valueBytes)
            }
        }
        for _ in 0..<1000 {
            let count = Int.random(in: 0..<120, using: &generator)
            var noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if count > 1 { noise.replaceSubrange(0..<2, with: [1, 0]) }
            if let stored = try? RecordBody(stored: noise[...]) { _ = readAll(stored) }
            _ = try? Fields(validating: noise[...])
        }
    }

    @Test(arguments: [
        ("format", 0, UInt8(2), "Expected a record body of format 1; found 2."),
        ("flags", 1, 4, "Expected no flags; found 4."),
        ("name", 2, 0, "The recordName is empty."),
    ])
    func `An error names what was found`(
        what: String,
        offset: Int,
        byte: UInt8,
        message: String
    ) throws {
        var bytes = Array(try body().bytes)
        bytes[offset] = byte
        let error = #expect(throws: BodyError.self) { try RecordBody(validating: bytes[...]) }
        #expect(error?.message == message)
        #expect(error?.offset == offset)
    }

    @Test func `A value of an unknown type is rejected, and absent in the log`() throws {
        let authorship = Authorship(time: 0, user: nil)
        let header = RecordHeader(
            recordName: "a",
            recordType: "T",
            created: authorship,
            modified: authorship
        )
        let body = RecordBody(header, fields: try Fields(["new": 1, "old": 2]))
        var bytes = Array(body.bytes)
        let row = bytes.count - body.fields.bytes.count + 2
        // Types go up to 8, and from 17 to 24 for lists.
        bytes[row + 5] = 14
        let error = #expect(throws: BodyError.self) { try RecordBody(validating: bytes[...]) }
        #expect(error?.message == "There is no field type 14.")
        let stored = try RecordBody(stored: bytes[...])
        #expect(stored.fields["new"] == nil)
        #expect(stored.fields["old"] == .int64(2))
    }
}
