// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@Suite struct EventFormatTests {
    /// An event's payload with one byte of a body, which is read as the same event, and the body's
    /// offset.
    private func roundTrip(_ event: RecordEvent) throws -> (payload: [UInt8], bodyOffset: Int) {
        var payload: [UInt8] = []
        event.append(to: &payload)
        let offset = payload.count
        // One byte, so that a reader that demands more after the header fails.
        payload.append(0xAB)
        let read = try RecordEvent.read(payload.span.bytes)
        #expect(read.event == event)
        #expect(read.bodyOffset == offset)
        return (payload, offset)
    }

    @Test func `A record event round-trips`() throws {
        let held: [RecordEvent.HeldVersion] = [
            .none, .previous,
            .other(TagContent(sequence: SequenceNumber(rawValue: 77), incarnationBits: .max)),
        ]
        for policy in SavePolicy.allCases {
            for held in held {
                for (previous, state) in [
                    (SequenceNumber(rawValue: 0), RecordState?.none), (9, .live), (9, .tombstone),
                ] {
                    let event = RecordEvent(
                        state: .live,
                        policy: policy,
                        probeCount: 3,
                        previous: previous,
                        previousState: state,
                        held: held
                    )
                    let (payload, offset) = try roundTrip(event)
                    #expect(RecordEvent.bodyOffset(in: payload.span.bytes) == offset)
                }
            }
        }
    }

    @Test func `A touch round-trips as a touch and a live version`() throws {
        var event = RecordEvent(state: .live, probeCount: 2, previous: 8, previousState: .live)
        event.isTouch = true
        event.binds = true
        event.audience = AudiencePlace(key: 40, previous: 8, previousState: .live)
        let (payload, offset) = try roundTrip(event)
        #expect(try RecordEvent.start(of: payload.span.bytes) == .live(bodyOffset: offset))
        var save = event
        save.isTouch = false
        #expect(save != event)
    }

    @Test func `A recreated record under no share has no audience`() throws {
        var event = RecordEvent(
            state: .live,
            previous: 8,
            previousState: .live,
            held: .other(TagContent(sequence: SequenceNumber(rawValue: 5), incarnationBits: 6))
        )
        event.isRecreation = true
        let (payload, offset) = try roundTrip(event)
        let link = try RecordEvent.readLink(payload.span.bytes)
        #expect(link.bodyOffset == offset && link.previous == 8 && link.previousState == .live)
        #expect(try RecordEvent.start(of: payload.span.bytes) == .live(bodyOffset: offset))
        let touchesAudience = RecordEvent.touchesAudience(payload.span.bytes)
        #expect(!touchesAudience)
    }

    @Test func `A tombstone keeps name and type`() throws {
        var payload: [UInt8] = []
        RecordEvent(state: .tombstone, previous: 5, previousState: .live).append(to: &payload)
        RecordEvent.appendTombstone(name: "né".utf8, type: "Page".utf8, to: &payload)
        let (event, offset) = try RecordEvent.read(payload.span.bytes)
        #expect(event.state == .tombstone)
        let (name, type) = try RecordEvent.tombstone(in: payload.span.bytes, bodyOffset: offset)
        #expect(name == "né")
        #expect(type == "Page")
    }

    @Test func `The name of a saved record is found in its body`() throws {
        let fixture = try GoldenEvents()
        let payload = fixture.savedPayload
        let (event, offset) = try RecordEvent.read(payload.span.bytes)
        let range = try RecordEvent.nameRange(
            in: payload.span.bytes,
            state: event.state,
            bodyOffset: offset
        )
        #expect(Array(payload[range]) == Array("common/cal.md".utf8))
        let body = try RecordBody(validating: payload[offset...])
        #expect(body.recordName == "common/cal.md")
        #expect(body.fields["lines"] == .int64(18))
    }

    @Test func `Every truncation of a record event is an error`() throws {
        let payload = try GoldenEvents().savedPayload
        let (_, offset) = try RecordEvent.read(payload.span.bytes)
        for count in 0..<offset {
            let cut = Array(payload[..<count])
            #expect(throws: EventFormatError.self) { try RecordEvent.read(cut.span.bytes) }
        }
        for count in offset..<offset + 34 + 13 {
            let cut = Array(payload[..<count])
            #expect(throws: EventFormatError.self) {
                try RecordEvent.nameRange(in: cut.span.bytes, state: .live, bodyOffset: offset)
            }
        }
    }

    @Test func `Released references round-trip, and every truncation is an error`() throws {
        for held in [
            RecordEvent.HeldVersion.none,
            .other(TagContent(sequence: SequenceNumber(rawValue: 5), incarnationBits: 6)),
        ] {
            var event = RecordEvent(state: .live, previous: 7, previousState: .live, held: held)
            event.binds = true
            event.released = [1, .max, 0x0123_4567_89AB_CDEF]
            let (payload, offset) = try roundTrip(event)
            #expect(try RecordEvent.start(of: payload.span.bytes) == .live(bodyOffset: offset))
            for count in 0..<offset {
                let cut = Array(payload[..<count])
                #expect(throws: EventFormatError.self) { try RecordEvent.read(cut.span.bytes) }
            }
        }
    }

    @Test func `Unknown kinds, flags and policies are errors`() throws {
        var payload = try GoldenEvents().savedPayload
        payload[1] = 0x06
        #expect(throws: EventFormatError.self) { try RecordEvent.read(payload.span.bytes) }
        payload[1] = 0x07
        #expect(throws: EventFormatError.self) { try RecordEvent.read(payload.span.bytes) }
        // The client held the replaced version, and another one.
        payload[1] = 0x30
        #expect(throws: EventFormatError.self) { try RecordEvent.read(payload.span.bytes) }
        #expect(throws: EventFormatError.self) { try RecordEvent.readLink(payload.span.bytes) }
        payload[1] = 0
        payload[0] = 4
        #expect(throws: EventFormatError.self) { try RecordEvent.read(payload.span.bytes) }
    }

    @Test func `The creation and the deletion of a zone round-trip`() throws {
        let identity = ZoneIdentity(
            database: DatabaseID(
                container: ContainerID("iCloud.a"),
                environment: .production,
                scope: .private,
                owner: UserID("_u")
            ),
            zoneName: Name("Notes")
        )
        var payload: [UInt8] = []
        ZoneEvent.appendCreation(of: identity, probeCount: 2, to: &payload)
        let read = try ZoneEvent.readCreation(payload.span.bytes)
        #expect(read.identity == identity)
        #expect(read.probeCount == 2)
        for count in payload.indices {
            let cut = Array(payload[..<count])
            #expect(throws: EventFormatError.self) { try ZoneEvent.readCreation(cut.span.bytes) }
        }
        for reason in ZoneDeletionReason.allCases {
            var payload: [UInt8] = []
            ZoneEvent.appendDeletion(reason, to: &payload)
            #expect(try ZoneEvent.readDeletion(payload.span.bytes) == reason)
        }
    }

    @Test func `Only the default zones are created implicitly`() {
        func isImplicit(_ scope: DatabaseScope, _ name: String) -> Bool {
            ZoneIdentity(database: DatabaseID(scope: scope), zoneName: Name(name)).isImplicit
        }
        #expect(isImplicit(.private, "_defaultZone"))
        #expect(isImplicit(.public, "_defaultZone"))
        #expect(!isImplicit(.shared, "_defaultZone"))
        #expect(!isImplicit(.private, "Notes"))
    }
}

@Suite struct CommitEnvelopeTests {
    static let envelopes: [CommitEnvelope] = [
        CommitEnvelope(),
        CommitEnvelope(user: "u-1", outcomes: (0..<400).map { .event($0 + 1) }),
        CommitEnvelope(
            user: "u-1",
            device: "phone",
            build: "1.2 (3)",
            request: CommitEnvelope.Request(
                id: "A-1",
                key: RequestKey(low: 1, high: 2),
                contentHash: 3,
                isDerived: true,
                neverExpires: true
            ),
            causalParent: SequenceNumber(rawValue: 400),
            timeWasRaised: true,
            outcomes: [
                .event(0), .nothingToDo,
                .refused(code: 14, message: "changed", against: SequenceNumber(rawValue: 12)),
                .event(1),
            ]
        ),
        CommitEnvelope(user: "", device: "", build: "", outcomes: [.nothingToDo]),
        CommitEnvelope(
            user: "u-1",
            request: CommitEnvelope.Request(
                id: "line-3b8vl0d1m6om8-2hloq79gg87it-130",
                key: RequestKey(low: 1, high: 2),
                contentHash: 3,
                isDerived: true,
                neverExpires: true,
                database: .standard
            )
        ),
        CommitEnvelope(
            request: CommitEnvelope.Request(
                id: "A-2",
                key: RequestKey(low: 1, high: 2),
                contentHash: 3,
                neverExpires: true,
                database: DatabaseID(environment: .production, owner: UserID("u-2"))
            )
        ),
        CommitEnvelope(
            user: "u-1",
            outcomes: [.event(0)],
            extras: EnvelopeExtras(
                trace: TraceContext(
                    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
                ),
                authentication: .session(id: "s-1")
            )
        ),
    ]

    @Test(arguments: envelopes) func `An envelope round-trips`(_ envelope: CommitEnvelope) throws {
        let bytes = envelope.bytes
        #expect(try CommitEnvelope(bytes.span.bytes) == envelope)
        #expect(CommitEnvelope.requestKey(in: bytes.span.bytes) == envelope.request?.key)
    }

    @Test(arguments: envelopes) func `Every truncation of an envelope is an error`(
        _ envelope: CommitEnvelope
    ) {
        let bytes = envelope.bytes
        // Without its extras an envelope is whole.
        var bare = envelope
        bare.extras = EnvelopeExtras()
        let wholes = [bare.bytes.count, bare.bytes.count + 27]
        for count in bytes.indices where !wholes.contains(count) {
            let cut = Array(bytes[..<count])
            #expect(throws: EventFormatError.self) { try CommitEnvelope(cut.span.bytes) }
        }
        let longer = bytes + [0]
        #expect(throws: EventFormatError.self) { try CommitEnvelope(longer.span.bytes) }
    }

    @Test func `Extras of a newer version are skipped and kept`() throws {
        let known = Self.envelopes[6].bytes
        let later = known + [3, 2, 0xAB, 0xCD] + [0x81, 0x01, 0]
        var envelope = try CommitEnvelope(later.span.bytes)
        #expect(envelope.extras.trace?.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(envelope.extras.authentication == .session(id: "s-1"))
        #expect(envelope.bytes == later)
        #expect(envelope != Self.envelopes[6])
        envelope.extras.trace = nil
        #expect(envelope.bytes.suffix(7) == later.suffix(7))
        // A kind of authentication, and a length of a trace, that are not known.
        for extra in [[2, 3, 99, 1, 2], [1, 1, 7]] as [[UInt8]] {
            let bytes = Self.envelopes[1].bytes + extra
            let read = try CommitEnvelope(bytes.span.bytes)
            #expect(read.extras.authentication == nil && read.extras.trace == nil)
            #expect(read.bytes == bytes)
        }
        for extra in [[2, 0], [3, 1, 0, 3, 1, 0], [3, 1, 0, 1, 1, 0], [2, 2, 1, 0xFF]] as [[UInt8]]
        {
            let bytes = Self.envelopes[1].bytes + extra
            #expect(throws: EventFormatError.self) { try CommitEnvelope(bytes.span.bytes) }
        }
    }

    @Test(arguments: [
        Authentication.session(id: "a"), .serverKey(id: "b"), .identityProvider(issuer: "c"),
        .administrator(id: ""), .inProcess,
    ])
    func `An authentication round-trips`(_ authentication: Authentication) throws {
        let extras = EnvelopeExtras(trace: nil, authentication: authentication)
        let envelope = CommitEnvelope(extras: extras)
        let read = try CommitEnvelope(envelope.bytes.span.bytes)
        #expect(read.extras.authentication ?? .inProcess == authentication)
    }

    @Test(arguments: [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true),
        ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", true),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", false),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
        ("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", false), ("", false),
        ("00--0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("-00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-", false),
    ])
    func `A traceparent is parsed as W3C Trace Context specifies`(text: String, isValid: Bool) {
        let trace = TraceContext(traceparent: text)
        #expect((trace != nil) == isValid)
        if let trace { #expect(trace.traceparent.dropFirst(2) == text.prefix(55).dropFirst(2)) }
    }

    @Test(arguments: [
        ("line-3b8vl0d1m6om8-2hloq79gg87it-0", 2), ("line-0-3w5e11264sgsf-18446744073709551615", 2),
        ("line-00-1-0", 1), ("line-A-1-0", 1), ("line-+1-1-0", 1), ("line-1-1-00", 1),
        ("line-1-1-", 1), ("line-1-1", 1), ("line-1-1-0-", 1), ("Line-1-1-0", 1),
        ("line-3w5e11264sgsg-1-0", 1), ("", 1),
    ]) func `A derived ID keeps its exact text, encoded as numbers if possible`(
        _ id: String,
        version: UInt8
    ) throws {
        var envelope = Self.envelopes[4]
        envelope.request?.id = id
        #expect(envelope.bytes[0] == version)
        #expect(try CommitEnvelope(envelope.bytes.span.bytes) == envelope)
        envelope.request?.isDerived = false
        #expect(envelope.bytes[0] == 1)
        #expect(try CommitEnvelope(envelope.bytes.span.bytes) == envelope)
    }

    @Test func `An envelope of version 2 requires a derived ID`() throws {
        var bytes = Self.envelopes[4].bytes
        let flags = bytes[1]
        for missing in [1, 2] as [UInt8] {
            bytes[1] = flags & ~missing
            #expect(throws: EventFormatError.self) { try CommitEnvelope(bytes.span.bytes) }
        }
        bytes[1] = flags
        bytes[0] = 3
        #expect(throws: EventFormatError.self) { try CommitEnvelope(bytes.span.bytes) }
    }

    @Test func `Four hundred successful items in order take a few bytes`() {
        let one = CommitEnvelope(outcomes: [.event(0)]).bytes.count
        let many = CommitEnvelope(outcomes: (0..<400).map { .event($0) }).bytes.count
        #expect(many <= one + 1)
    }

    @Test func `An audience event round-trips, and other events are not parsed as one`() throws {
        for state in [RecordState.live, .tombstone] {
            for previousState in [nil, RecordState.live, .tombstone] {
                let event = AudienceEvent(
                    state: state,
                    probeCount: 3,
                    place: AudiencePlace(
                        key: 40,
                        previous: previousState == nil ? 0 : 39,
                        previousState: previousState
                    ),
                    version: 12,
                    name: Name("Ünï"),
                    type: Name("Node")
                )
                var bytes: [UInt8] = []
                event.append(to: &bytes)
                #expect(try AudienceEvent(bytes.span.bytes) == event)
                #expect(try RecordEvent.start(of: bytes.span.bytes) == .audience)
                for length in 0..<28 + 1 + 5 {
                    let cut = Array(bytes.prefix(length))
                    #expect(throws: EventFormatError.self) { try AudienceEvent(cut.span.bytes) }
                }
                bytes[1] = 2
                #expect(throws: EventFormatError.self) { try AudienceEvent(bytes.span.bytes) }
            }
        }
    }

    @Test func `The audience of a record round-trips`() throws {
        for previousState in [nil, RecordState.live, .tombstone] {
            var event = RecordEvent(state: .live, previous: 8, previousState: .live)
            event.isRecreation = previousState == .live
            event.released = [7, 9]
            event.audience = AudiencePlace(
                key: 40,
                previous: previousState == nil ? 0 : 39,
                previousState: previousState
            )
            var bytes: [UInt8] = []
            event.append(to: &bytes)
            let length = bytes.count
            bytes.append(0xAB)
            let (read, offset) = try RecordEvent.read(bytes.span.bytes)
            #expect(read == event)
            #expect(offset == length)
            #expect(try RecordEvent.start(of: bytes.span.bytes) == .live(bodyOffset: offset))
            bytes[3] = 8
            #expect(throws: EventFormatError.self) { try RecordEvent.read(bytes.span.bytes) }
        }
    }
}
