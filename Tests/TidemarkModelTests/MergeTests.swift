// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkModel

/// The rules for stamps against a plain dictionary that follows the table of the document.
@Suite struct MergeTests {
    /// A field of the model: a value, or a removal, and the event that last set or removed it.
    private struct Known: Equatable {
        var value: FieldValue?
        var stamp: UInt64
    }

    private let header = RecordHeader(
        recordName: "r",
        recordType: "T",
        created: Authorship(time: 1, user: nil),
        modified: Authorship(time: 2, user: nil)
    )

    private func model(
        _ old: [String: Known]?,
        _ set: [String: FieldValue?],
        _ extent: SaveExtent,
        at sequence: UInt64
    ) -> [String: Known] {
        guard var new = old else {
            return set.compactMapValues { $0.map { Known(value: $0, stamp: sequence) } }
        }
        for (name, value) in set {
            guard let value else {
                if new[name]?.value != nil { new[name] = Known(value: nil, stamp: sequence) }
                continue
            }
            if extent == .wholeRecord, new[name]?.value == value { continue }
            new[name] = Known(value: value, stamp: sequence)
        }
        if extent == .wholeRecord {
            for (name, known) in new where set[name] == nil && known.value != nil {
                new[name] = Known(value: nil, stamp: sequence)
            }
        }
        return new
    }

    @Test(arguments: 0..<16)
    func `Sequences of saves keep values and stamps as the table specifies`(seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        let names = ["a", "b", "é", "e\u{301}", "longer name", "z"]
        var body: RecordBody?
        var held: UInt64 = 0
        var known: [String: Known]?
        var modelKeys: [String: String] = [:]
        for name in names { modelKeys[key(name)] = name }
        for step in 1...200 {
            let sequence = UInt64(step) * UInt64.random(in: 200...300, using: &generator) * 7
            let extent: SaveExtent = Bool.random(using: &generator) ? .wholeRecord : .changedFields
            var set: [String: FieldValue?] = [:]
            var builder = FieldsBuilder()
            for name in names.shuffled(using: &generator)
            where Int.random(in: 0..<3, using: &generator) == 0 {
                let value = randomValue(&generator)
                set[key(name)] = .some(value)
                try builder.set(name, value)
            }
            let fields = try builder.finish()
            let new = RecordBody(header, setting: fields, extent: extent, over: body, of: held)
            known = model(known, set, extent, at: sequence)
            let read = try RecordBody(validating: new.bytes)
            var found: [String: Known] = [:]
            for field in read.fields {
                let stamp = field.stamp == 0 ? sequence : field.stamp
                found[key(field.name)] = Known(value: field.value, stamp: stamp)
            }
            #expect(found == known)
            body = new
            held = sequence
            if Int.random(in: 0..<40, using: &generator) == 0 {
                body = nil
                known = nil
            }
        }
    }

    /// Dictionaries compare strings by Unicode equivalence; the bytes in digits do not mix.
    private func key(_ name: String) -> String {
        name.utf8.map { String($0, radix: 16) }.joined(separator: " ")
    }

    private func randomValue(_ generator: inout SeededGenerator) -> FieldValue? {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: nil
        case 1: .string(["", "x", "é", "e\u{301}"].randomElement(using: &generator) ?? "")
        case 2: .int64(.random(in: 0..<3, using: &generator))
        case 3: .timestamp(.random(in: 0..<3, using: &generator))
        default: .stringList(["x"])
        }
    }

    @Test func `A record keeps the latest 255 removals`() throws {
        var body: RecordBody?
        for step in 0..<300 {
            let set: KeyValuePairs<String, FieldValue?> = ["field\(step)": 1, "stays": 2]
            body = RecordBody(
                header,
                setting: try Fields(set),
                extent: .wholeRecord,
                over: body,
                of: UInt64(step)
            )
        }
        let merged = try RecordBody(validating: try #require(body).bytes)
        #expect(merged.fields.filter(\.isRemoved).count == 255)
        #expect(Set(merged.fields.present.map(\.name)) == ["field299", "stays"])
        let removed = Set(merged.fields.filter(\.isRemoved).map(\.name))
        #expect(removed == Set((44..<299).map { "field\($0)" }))
    }

    @Test func `Of the removals by one event, the first ones by name are kept`() throws {
        let names = (0..<300).map { "f\(1000 + $0)" }
        let first = RecordBody(header, fields: try fields(names.map { ($0, 1) }))
        let second = RecordBody(
            header,
            setting: Fields(),
            extent: .wholeRecord,
            over: first,
            of: 7
        )
        #expect(second.fields.map(\.name) == Array(names.prefix(255)))
        #expect(try RecordBody(validating: second.bytes) == second)
    }

    @Test func `Appending to the bytes of an event results in the same body`() throws {
        let fields = try Fields(["b": "x", "a": 1])
        var event: [UInt8] = [9, 9, 9]
        RecordBody.append(
            named: header.recordName,
            type: header.recordType,
            created: BodyAuthor(header.created),
            modified: BodyAuthor(header.modified),
            parentName: header.parentName,
            shareName: header.shareName,
            setting: fields,
            extent: .changedFields,
            over: nil,
            of: 0,
            to: &event
        )
        #expect(event[3...] == RecordBody(header, fields: fields).bytes)
    }

    @Test func `Times can be overwritten in place`() throws {
        var bytes = Array(RecordBody(header, fields: Fields()).bytes)
        bytes[RecordBody.createdTimeOffset] = 7
        bytes[RecordBody.modifiedTimeOffset] = 8
        let body = try RecordBody(validating: bytes[...])
        #expect(body.created.time == 7)
        #expect(body.modified.time == 8)
    }

    @Test func `Encrypting a value changes it`() throws {
        var builder = FieldsBuilder()
        try builder.set("a", .string("x"))
        let plain = RecordBody(header, fields: try builder.finish())
        try builder.set("a", .string("x"), isEncrypted: true)
        let secret = RecordBody(
            header,
            setting: try builder.finish(),
            extent: .wholeRecord,
            over: plain,
            of: 4
        )
        #expect(secret.fields[0].isEncrypted)
        #expect(secret.fields[0].stamp == 0)
    }
}
