// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct NameTests {
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    @Test func `Names are compared by bytes, not by Unicode equivalence`() {
        #expect(composed == decomposed)
        #expect(Name(composed) != Name(decomposed))
        #expect(Set([Name(composed), Name(decomposed), Name(composed)]).count == 2)
        #expect(RecordID(recordName: composed) != RecordID(recordName: decomposed))
        #expect(ZoneID(zoneName: composed) != ZoneID(zoneName: decomposed))
        #expect(UserID(composed) != UserID(decomposed))
        #expect(ContainerID(composed) != ContainerID(decomposed))
        #expect(Reference(recordName: composed) != Reference(recordName: decomposed))
        #expect(RecordChangeTag(composed) != RecordChangeTag(decomposed))
        #expect(FieldValue.string(composed) != .string(decomposed))
        #expect(FieldValue.stringList([composed]) != .stringList([decomposed]))
        #expect(
            Authorship(time: 0, user: nil, device: composed)
                != Authorship(time: 0, user: nil, device: decomposed)
        )
        #expect(
            Caller(device: composed, build: composed) != Caller(device: composed, build: decomposed)
        )
    }

    @Test func `Fields of both normalization forms can exist together`() throws {
        let fields = try fields([(composed, 1), (decomposed, 2)])
        #expect(fields[composed] == .int64(1))
        #expect(fields[decomposed] == .int64(2))
    }

    @Test func `Names are ordered by their bytes`() {
        let names: [Name] = ["", "A", "Z", "a", "a\u{0}", "ab", "e\u{301}", "é", "\u{FFFF}", "🌊"]
        #expect(names.shuffled().sorted() == names)
        #expect(RecordID(recordName: "b") < RecordID(recordName: "a", zone: ZoneID(zoneName: "a")))
        #expect(ZoneID(zoneName: "a", ownerName: "a") < ZoneID(zoneName: "a", ownerName: "b"))
    }

    @Test func `The public database has no owner`() {
        let one = DatabaseID(scope: .public, owner: UserID("a"))
        #expect(one == DatabaseID(scope: .public, owner: UserID("b")))
        #expect(one.description == "iCloud.tidemark/development/public")
        #expect(
            DatabaseID(owner: UserID("a")).description
                == "iCloud.tidemark/development/private/a"
        )
    }

    @Test func `Tokens round-trip as text`() {
        for count in 0..<40 {
            let token = ChangeToken(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) })
            #expect(token.description.hasPrefix("t."))
            #expect(ChangeToken(token.description) == token)
        }
        #expect(ChangeToken(bytes: [0xFB, 0xFF]).description == "t.-_8")
        for text in ["", "t", "-_8", "t.-_9", "t.-_8=", "t.+/8", "t.A", "t.AB", "t. -_8", "T.-_8"] {
            #expect(ChangeToken(text) == nil, "\(text)")
        }
    }
}
