// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkEvents
import TidemarkModel

@testable import TidemarkLog

@Suite struct EventMarkerTests {
    private static let saved = RecordEvent(state: .live, previous: 8, previousState: .live)

    private func payload(_ event: RecordEvent, _ body: some Sequence<UInt8>) -> [UInt8] {
        var payload: [UInt8] = []
        event.append(to: &payload)
        return payload + body
    }

    private func body(_ type: String) throws -> RecordBody {
        let author = Authorship(time: 1, user: UserID("u"))
        return RecordBody(
            RecordHeader(
                recordName: "name",
                recordType: Name(type),
                created: author,
                modified: author
            ),
            fields: try Fields(["text": .string("a text")])
        )
    }

    @Test func `A marker notes the bodies of sound live records, and no shares`() throws {
        let body = try body("Note")
        var named = Self.saved
        named.held = .other(TagContent(sequence: SequenceNumber(rawValue: 5), incarnationBits: 6))
        var audience: [UInt8] = []
        AudienceEvent(
            state: .live,
            probeCount: 0,
            place: AudiencePlace(key: 4, previous: 0, previousState: nil),
            version: SequenceNumber(rawValue: 9),
            name: "name",
            type: "Note"
        ).append(to: &audience)
        var payloads = [
            payload(Self.saved, body.bytes), payload(named, body.bytes),
            payload(Self.saved, try self.body(Share.recordType).bytes), audience, [0xFF], [],
        ]
        // Bodies that end within the header, the texts, or the table of fields.
        let tableEnd = body.bytes.count - "texta text".utf8.count
        for count in 0..<tableEnd { payloads.append(payload(Self.saved, body.bytes.prefix(count))) }
        var block: [UInt8] = []
        var rows: [EventRow] = []
        for payload in payloads {
            let range = block.count..<block.count + payload.count
            rows.append(EventRow(position: UInt32(rows.count), payload: range, context: 0))
            block += payload
        }
        do {
            let mark = try #require(EventMarker.records.mark)
            var span = rows.mutableSpan
            mark(block.span.bytes, SequenceNumber(rawValue: 1_000), &span)
        }
        var run = EventRun()
        run.first = SequenceNumber(rawValue: 1_000)
        let versions = rows.map { run.markedSequence(of: $0)?.rawValue }
        #expect(versions[3] == 9)
        #expect(versions.compactMap(\.self).count == 1)
        let marked = rows.map { row in row.markedRange.map { Array(block[$0]) } }
        #expect(marked[..<2] == [Array(body.bytes), Array(body.bytes)])
        #expect(marked[2...].allSatisfy { $0 == nil })
    }
}
