// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel
import TidemarkRules

/// The bytes of requests, by whose hash on disk a repeated request is recognized.
@Suite struct RequestChecksTests {
    private static func save(
        _ name: String = "a",
        zone: ZoneID = ZoneID(zoneName: "z", ownerName: "o"),
        type: String = "T",
        number: Int64 = 1,
        parent: ParentChange = .unchanged,
        tag: String? = nil,
        policy: SavePolicy = .changedKeys
    ) throws -> RecordSave {
        RecordSave(
            RecordID(recordName: name, zone: zone),
            type: type,
            fields: try Fields(["n": .int64(number)]),
            parent: parent,
            changeTag: tag.map { RecordChangeTag($0) },
            policy: policy
        )
    }

    @Test func `The bytes of a request keep their form`() throws {
        let save = try Self.save(parent: .set("p"), tag: "x!")
        let deletion = RecordDeletion(RecordID(recordName: "b", zone: save.recordID.zone))
        let request = ModifyRecordsRequest(saves: [save], deletions: [deletion], isAtomic: false)
        let fields = Array(save.fields.bytes)
        // Each text follows its length; policy 1 is `changedKeys`, and 2 sets a parent.
        var expected: [UInt8] = [0, 1] + Array("\u{1}z\u{1}o\u{1}a\u{1}T\u{2}x!".utf8)
        expected += [1, 2] + Array("\u{1}p".utf8) + [UInt8(fields.count)] + fields
        expected += Array("\u{1}z\u{1}o\u{1}b\u{0}".utf8)
        #expect(request.contentBytes == expected)
    }

    @Test func `Saves that differ in one part have different bytes`() throws {
        let saves = [
            try Self.save(), try Self.save("b"),
            try Self.save(zone: ZoneID(zoneName: "y", ownerName: "o")),
            try Self.save(zone: ZoneID(zoneName: "z", ownerName: "p")),
            try Self.save(type: "U"), try Self.save(number: 2), try Self.save(parent: .removed),
            try Self.save(parent: .set("p")), try Self.save(tag: "t"),
            try Self.save(policy: .allKeys),
        ]
        let bytes = saves.map { ModifyRecordsRequest(saves: [$0]).contentBytes }
        #expect(Set(bytes).count == saves.count)
    }
}
