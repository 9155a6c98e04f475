// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Values whose bytes are kept in `Fixtures/v1/events.txt`: one line each, a name and hexadecimal
/// digits.
///
/// The file of a released version is never rewritten.
struct GoldenEvents {
    static let store = StoreID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    let hash = StoreHash(store: Self.store)
    let identity = ZoneIdentity(
        database: DatabaseID(
            container: ContainerID("iCloud.com.example.notes"),
            environment: .production,
            scope: .private,
            owner: UserID("_owner")
        ),
        zoneName: Name("Notes")
    )
    let savedPayload: [UInt8]
    let deletedPayload: [UInt8]

    init() throws {
        let fields = try Fields(["lines": 18, "title": "cal", "folder": nil])
        let written = Authorship(time: 1_393_936_109_000, user: UserID("u-9cd6"), device: "phone")
        let header = RecordHeader(
            recordName: Name("common/cal.md"),
            recordType: Name("Page"),
            created: written,
            modified: written
        )
        var saved: [UInt8] = []
        RecordEvent(
            state: .live,
            policy: .changedKeys,
            probeCount: 1,
            previous: 7,
            previousState: .tombstone,
            held: .other(TagContent(sequence: SequenceNumber(rawValue: 5), incarnationBits: 6))
        ).append(to: &saved)
        saved += RecordBody(header, fields: fields).bytes
        savedPayload = saved
        var deleted: [UInt8] = []
        RecordEvent(state: .tombstone, previous: 8, previousState: .live, held: .previous)
            .append(to: &deleted)
        RecordEvent.appendTombstone(name: "common/cal.md".utf8, type: "Page".utf8, to: &deleted)
        deletedPayload = deleted
    }

    /// Everything in the file, in its order.
    func values() throws -> [(name: String, bytes: [UInt8])] {
        var created: [UInt8] = []
        ZoneEvent.appendCreation(of: identity, probeCount: 1, to: &created)
        var ended: [UInt8] = []
        ZoneEvent.appendDeletion(.purged, to: &ended)
        let token = TokenContent(
            level: .zone,
            place: 3,
            incarnation: Incarnation(rawValue: 0x1122_3344_5566_7788),
            sequence: SequenceNumber(rawValue: 300),
            quiet: SequenceNumber(rawValue: 200)
        ).token(of: Self.store, hash: hash)
        let tag = TagContent(sequence: SequenceNumber(rawValue: 300), incarnationBits: 0x5566_7788)
        let request = hash.key(ofRequest: "A-1", user: "u-9cd6", database: identity.database)
        var hashes: [UInt8] = []
        hashes.append(integer: hash.seed)
        hashes.append(integer: hash.slot(ofName: Array("common/cal.md".utf8).span.bytes).rawValue)
        hashes.append(integer: hash.key(of: identity.database))
        hashes.append(integer: hash.slot(ofZone: "Notes").rawValue)
        hashes.append(integer: request.low)
        hashes.append(integer: request.high)
        var bound: [UInt8] = []
        var event = RecordEvent(state: .live, previous: 8, previousState: .live)
        event.binds = true
        event.released = [hash.target(Name("common/cal.md"))]
        event.append(to: &bound)
        bound.append(contentsOf: try boundBody.bytes)
        return [
            ("recordSaved", savedPayload), ("recordDeleted", deletedPayload),
            ("zoneCreated", created), ("zoneDeleted", ended),
            ("hashes", hashes), ("changeToken", token.bytes),
            ("changeTag", Array(tag.tag.text.utf8)),
        ]
            + zip(0..., CommitEnvelopeTests.envelopes).map { ("envelope\($0)", $1.bytes) }
            + [("recordBound", bound)] + sharing + [("recordTouched", try touchedPayload)]
            + compaction + erasure + [("recordCreatedAnew", try recreatedPayload)]
    }

    /// What sharing adds.
    private var sharing: [(name: String, bytes: [UInt8])] {
        var shared: [UInt8] = []
        var event = RecordEvent(state: .tombstone, previous: 8, previousState: .live)
        event.audience = AudiencePlace(key: 40, previous: 6, previousState: .tombstone)
        event.append(to: &shared)
        RecordEvent.appendTombstone(name: "common/cal.md".utf8, type: "Page".utf8, to: &shared)
        func audience(_ state: RecordState, _ place: AudiencePlace) -> [UInt8] {
            var bytes: [UInt8] = []
            AudienceEvent(
                state: state,
                probeCount: 1,
                place: place,
                version: 8,
                name: Name("common/cal.md"),
                type: Name("Page")
            ).append(to: &bytes)
            return bytes
        }
        var token = TokenContent(
            level: .sharedZone,
            place: 3,
            incarnation: Incarnation(rawValue: 0x1122_3344_5566_7788),
            sequence: SequenceNumber(rawValue: 300),
            quiet: SequenceNumber(rawValue: 200)
        )
        token.known = SequenceNumber(rawValue: 310)
        token.walks = [
            TokenContent.Walk(audience: 40, position: 50, isLeaving: true),
            TokenContent.Walk(audience: 41, isLeaving: false),
        ]
        return [
            ("recordDeletedUnderShare", shared),
            ("audienceEntered", audience(.live, AudiencePlace(key: 40))),
            (
                "audienceLeft",
                audience(.tombstone, AudiencePlace(key: 40, previous: 41, previousState: .live))
            ),
            ("sharedChangeToken", token.token(of: Self.store, hash: hash).bytes),
        ]
    }

    private var compaction: [(String, [UInt8])] {
        var begun: [UInt8] = []
        CompactionRun(history: 500, tombstones: 400, requests: 300).append(to: &begun)
        var forgotten: [UInt8] = []
        TombstoneHorizon.append(390, to: &forgotten)
        return [("compactionBegun", begun), ("tombstonesForgotten", forgotten)]
    }

    private var erasure: [(String, [UInt8])] {
        let user = UserID("_owner")
        var mark: [UInt8] = []
        ZoneEvent.appendCreation(
            of: .erasureMark(of: DatabaseID(scope: .shared, owner: user)),
            probeCount: 0,
            to: &mark
        )
        let zone = ErasureSubject.zone(ZoneID(zoneName: "Notes"), in: DatabaseID(owner: user))
        return [
            ("erasureMark", mark), ("erasingUser", ErasureSubject.user(user).bytes),
            ("erasingZone", zone.bytes),
        ]
    }

    /// The record of `recordBound` with a new tag: its fields were set by the event at position 9.
    private var touchedPayload: [UInt8] {
        get throws {
            var event = RecordEvent(state: .live, previous: 9, previousState: .live)
            event.isTouch = true
            event.binds = true
            event.audience = AudiencePlace(key: 40, previous: 9, previousState: .live)
            var bytes: [UInt8] = []
            event.append(to: &bytes)
            return bytes + (try boundBody.unchanged(of: 9).bytes)
        }
    }

    /// The record of `recordBound`, deleted and saved again in one commit.
    private var recreatedPayload: [UInt8] {
        get throws {
            var event = RecordEvent(
                state: .live,
                policy: .replace,
                previous: 9,
                previousState: .live
            )
            event.isRecreation = true
            event.binds = true
            var bytes: [UInt8] = []
            event.append(to: &bytes)
            return bytes + (try boundBody.bytes)
        }
    }

    /// A record with a parent and a reference that binds.
    private var boundBody: RecordBody {
        get throws {
            let written = Authorship(time: 1_393_936_109_000, user: UserID("u-9cd6"))
            let link = Reference(recordName: "common/man.md", action: .deleteSelf)
            return RecordBody(
                RecordHeader(
                    recordName: Name("common/less.md"),
                    recordType: Name("Page"),
                    created: written,
                    modified: written,
                    parentName: Name("common")
                ),
                fields: try Fields(["link": .reference(link)])
            )
        }
    }
}

@Suite struct GoldenEventTests {
    @Test func `The bytes of version 1 do not change`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/v1/events.txt")
        let text = try String(contentsOf: file, encoding: .utf8)
        let found = try GoldenEvents().values().map { value in
            "\(value.name) " + value.bytes.map { String(format: "%02x", $0) }.joined()
        }
        #expect(text.split(separator: "\n").map(String.init) == found)
    }
}
