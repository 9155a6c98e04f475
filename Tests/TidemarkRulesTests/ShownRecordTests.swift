// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel
import TidemarkRules

/// The form in which participants see the record of a share.
@Suite struct ShownRecordTests {
    private func record(_ fields: Fields) -> Record {
        let author = Authorship(time: 1, user: UserID("anna"))
        let header = RecordHeader(
            recordName: Name("s"),
            recordType: Name(Share.recordType),
            created: author,
            modified: author
        )
        return Record(
            zone: ZoneID(zoneName: "Notes"),
            changeTag: nil,
            body: RecordBody(header, fields: fields)
        )
    }

    @Test func `A participant sees no links of a share that cannot be read`() throws {
        let record = record(
            try Fields([
                "cloudkit.title": .string("A share"),
                "___token": .string("t"),
                "___participantLinks": .stringList(["secret"]),
            ])
        )
        #expect(record.share == nil)
        let shown = record.shown(to: ZoneAccess())
        #expect(shown.fields.map(\.name) == ["cloudkit.title"])
        #expect(shown["cloudkit.title"] == .string("A share"))
        // The owner sees everything.
        #expect(record.shown(to: nil).fields == record.fields)
    }
}
