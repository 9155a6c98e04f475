// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The payload of a record's event: the change, the replaced version, the save policy, and the
/// record's body or tombstone.
///
/// `Docs/formats/events.md` has the bytes.
package struct RecordEvent: Hashable, Sendable {
    /// The record's state after the event.
    package var state: RecordState
    /// True if the event only gave an existing record a new tag.
    package var isTouch = false
    /// True if the commit deleted the live version and then saved the record, which thus begins
    /// anew without data of that version.
    package var isRecreation = false
    /// The policy of a save.
    package var policy: SavePolicy
    /// The distance of the record's slot from the hash of its name.
    package var probeCount: UInt8
    /// The position of the record's previous event; zero if there is none.
    package var previous: SequenceNumber
    /// The record's previous state; `nil` if the record never existed.
    package var previousState: RecordState?
    /// The version that the client held.
    package var held: HeldVersion
    /// True if the body holds binding references or a parent.
    package var binds = false
    /// The targets to which the previous version was bound and this one is not, as hashed by
    /// ``StoreHash/target(_:)-(RawSpan)``.
    package var released: [UInt64] = []
    /// The maximum number of released targets, which is written in 16 bits.
    ///
    /// No record may be bound to more targets, because its next event may release all of them.
    package static let releasedLimit = Int(UInt16.max)
    /// The audience of the share that the record is under; `nil` for most records.
    package var audience: AudiencePlace?

    /// The version that a client held when it made the request.
    package enum HeldVersion: Hashable, Sendable {
        /// The client sent no tag.
        case none
        /// The version that the event replaces.
        case previous
        /// Another version.
        case other(TagContent)
    }

    package init(
        state: RecordState,
        policy: SavePolicy = .ifServerRecordUnchanged,
        probeCount: UInt8 = 0,
        previous: SequenceNumber = 0,
        previousState: RecordState? = nil,
        held: HeldVersion = .none
    ) {
        self.state = state
        self.policy = policy
        self.probeCount = probeCount
        self.previous = previous
        self.previousState = previousState
        self.held = held
    }
}

/// Offsets and flags of a record event.
///
/// Frozen.
private enum Layout {
    static let policyMask: UInt8 = 0b0000_0111
    static let replacesTombstone: UInt8 = 1 << 3
    static let heldPrevious: UInt8 = 1 << 4
    static let heldOther: UInt8 = 1 << 5
    /// Both.
    static let heldAny = heldPrevious | heldOther
    static let binds: UInt8 = 1 << 6
    static let releases: UInt8 = 1 << 7

    static let isInAudience: UInt8 = 1 << 0
    static let replacesAudienceTombstone: UInt8 = 1 << 1
    static let isRecreation: UInt8 = 1 << 2

    static let probeCount = 2
    static let moreFlags = 3
    static let previous = 4
    static let held = 12
    static let headerByteCount = 12
    static let heldByteCount = 12
    static let releasedCountByteCount = 2
    static let audienceByteCount = 16
}

// MARK: - Writing

extension RecordEvent {
    /// Appends the header before the body or the tombstone.
    @inline(__always)
    package func append(to payload: inout [UInt8]) {
        var flags = policy.rawValue
        if previousState == .tombstone { flags |= Layout.replacesTombstone }
        switch held {
        case .none: break
        // The usual case takes no bytes: the tag held is that of the previous event.
        case .previous: flags |= Layout.heldPrevious
        case .other: flags |= Layout.heldOther
        }
        if binds { flags |= Layout.binds }
        if !released.isEmpty { flags |= Layout.releases }
        payload.append(kind.rawValue)
        payload.append(flags)
        payload.append(probeCount)
        payload.append(moreFlags)
        payload.append(integer: previous.rawValue)
        // The optional parts follow each other in the order of `Docs/formats/events.md`, and `read`
        // expects them so.
        if case .other(let tag) = held {
            payload.append(integer: tag.sequence.rawValue)
            payload.append(integer: tag.incarnationBits)
        }
        if !released.isEmpty {
            // Never truncates: the plan of a commit rejects a save with more bindings than
            // `releasedLimit`.
            payload.append(integer: UInt16(truncatingIfNeeded: released.count))
            for target in released { payload.append(integer: target) }
        }
        // Last, so that its distance from the body is fixed (`audienceKeyDistance`). The key of an
        // audience that the same commit creates is written there when the commit gets its position.
        if let audience {
            payload.append(integer: audience.key.rawValue)
            payload.append(integer: audience.previous.rawValue)
        }
    }

    private var kind: EventKind {
        switch state {
        case .live: isTouch ? .recordTouched : .recordSaved
        case .tombstone: .recordDeleted
        }
    }

    private var moreFlags: UInt8 {
        var flags = isRecreation ? Layout.isRecreation : 0
        guard let audience else { return flags }
        flags |= Layout.isInAudience
        if audience.previousState == .tombstone { flags |= Layout.replacesAudienceTombstone }
        return flags
    }

    /// The distance of an audience's key from the start of the body or the tombstone.
    package static let audienceKeyDistance = Layout.audienceByteCount

    /// Appends a tombstone's name and type.
    package static func appendTombstone(
        name: some Collection<UInt8>,
        type: some Collection<UInt8>,
        to payload: inout [UInt8]
    ) {
        payload.append(variableInteger: UInt64(name.count))
        payload.append(contentsOf: name)
        // The type takes the rest of the payload and needs no length.
        payload.append(contentsOf: type)
    }
}

// MARK: - Reading

extension RecordEvent {
    /// Returns true if an event changes its record's bindings.
    ///
    /// For payloads that have been validated before.
    @inline(__always)
    package static func touchesBindings(_ payload: RawSpan) -> Bool {
        payload.byte(at: 1) & (Layout.binds | Layout.releases) != 0
    }

    /// Returns the position of the record's previous event; `nil` if there is none, or the payload
    /// is of another kind.
    package static func previous(in payload: RawSpan) throws(EventFormatError) -> SequenceNumber? {
        guard payload.byteCount > 0 else { return nil }
        switch EventKind(rawValue: payload.byte(at: 0)) {
        case .recordSaved, .recordDeleted, .recordTouched:
            let previous = try read(payload).event.previous
            return previous == 0 ? nil : previous
        default: return nil
        }
    }

    /// Reads the header before the body or the tombstone, and returns the header's end.
    @inline(__always)
    package static func read(
        _ payload: RawSpan
    ) throws(EventFormatError) -> (event: RecordEvent, bodyOffset: Int) {
        // More than the header: a body or a tombstone follows, and neither is empty.
        guard payload.byteCount > Layout.headerByteCount else {
            throw EventFormatError(
                "A record event has more than \(Layout.headerByteCount) bytes; found "
                    + "\(payload.byteCount)."
            )
        }
        let flags = payload.byte(at: 1)
        let previous = payload.sequence(at: Layout.previous)
        var event = RecordEvent(
            state: try state(of: payload),
            policy: try policy(of: payload),
            probeCount: payload.byte(at: Layout.probeCount),
            previous: previous,
            previousState: previousState(in: payload, previous: previous)
        )
        event.isTouch = payload.byte(at: 0) == EventKind.recordTouched.rawValue
        var bodyOffset = Layout.headerByteCount
        if flags & Layout.heldPrevious != 0 {
            event.held = .previous
        } else if flags & Layout.heldOther != 0 {
            bodyOffset += Layout.heldByteCount
            guard payload.byteCount > bodyOffset else {
                throw EventFormatError(
                    "A record event is cut off after \(payload.byteCount) bytes."
                )
            }
            event.held = .other(
                TagContent(
                    sequence: payload.sequence(at: Layout.held),
                    incarnationBits: payload.integer(at: Layout.held + 8)
                )
            )
        }
        event.binds = flags & Layout.binds != 0
        if flags & Layout.releases != 0 {
            event.released = try readReleased(payload, &bodyOffset)
        }
        let moreFlags = payload.byte(at: Layout.moreFlags)
        event.isRecreation = moreFlags & Layout.isRecreation != 0
        // Any other flag leads here, also an unknown one: `readAudience` rejects it.
        if moreFlags & ~Layout.isRecreation != 0 {
            event.audience = try readAudience(payload, &bodyOffset)
        }
        return (event, bodyOffset)
    }

    @inline(__always)
    private static func policy(of payload: RawSpan) throws(EventFormatError) -> SavePolicy {
        let flags = payload.byte(at: 1)
        // Three bits also hold 6 and 7, which stand for no policy.
        guard let policy = SavePolicy(rawValue: flags & Layout.policyMask),
            // At most one of them: the client held one version.
            flags & Layout.heldAny != Layout.heldAny
        else {
            throw EventFormatError("A record event has unknown flags: \(flags).")
        }
        return policy
    }

    @inline(__always)
    private static func previousState(in payload: RawSpan, previous: SequenceNumber) -> RecordState?
    {
        // Position 0 is that of no event, so the flag of a replaced tombstone means nothing then.
        if previous == 0 { return nil }
        return payload.byte(at: 1) & Layout.replacesTombstone == 0 ? .live : .tombstone
    }

    private static func readAudience(
        _ payload: RawSpan,
        _ offset: inout Int
    ) throws(EventFormatError) -> AudiencePlace {
        let flags = payload.byte(at: Layout.moreFlags) & ~Layout.isRecreation
        // The flag of a replaced tombstone says something only together with the audience.
        let isKnown =
            flags == Layout.isInAudience
            || flags == Layout.isInAudience | Layout.replacesAudienceTombstone
        guard isKnown, offset + Layout.audienceByteCount < payload.byteCount else {
            throw EventFormatError(
                "A record event is cut off in its audience, or has unknown flags: \(flags)."
            )
        }
        defer { offset += Layout.audienceByteCount }
        return AudiencePlace(
            key: ZoneKey(rawValue: payload.integer(at: offset)),
            previous: payload.sequence(at: offset + 8),
            replacesTombstone: flags & Layout.replacesAudienceTombstone != 0
        )
    }

    private static func readReleased(
        _ payload: RawSpan,
        _ offset: inout Int
    ) throws(EventFormatError) -> [UInt64] {
        let start = offset + Layout.releasedCountByteCount
        let count =
            start <= payload.byteCount ? Int(payload.integer(at: offset, as: UInt16.self)) : 0
        // An empty list is not written, and at least one byte of a body or a tombstone follows the
        // list.
        guard count > 0, start + count * 8 < payload.byteCount else {
            throw EventFormatError(
                "A record event is cut off in its list of released targets, after "
                    + "\(payload.byteCount) bytes."
            )
        }
        offset = start + count * 8
        return (0..<count).map { payload.integer(at: start + $0 * 8, as: UInt64.self) }
    }

    /// The place of an event in its record's chain.
    package struct Link: Sendable {
        /// See ``RecordEvent/state``.
        package var state: RecordState
        /// See ``RecordEvent/probeCount``.
        package var probeCount: UInt8
        /// See ``RecordEvent/previous``.
        package var previous: SequenceNumber
        /// See ``RecordEvent/previousState``.
        package var previousState: RecordState?
        /// The offset of the body or the tombstone.
        package var bodyOffset: Int
    }

    /// Reads an event's place in its record's chain, and usually nothing else, because a replay
    /// calls this for every event.
    @inline(__always)
    package static func readLink(_ payload: RawSpan) throws(EventFormatError) -> Link {
        guard isShort(payload) else { return try readLongLink(payload) }
        // Only for its error: this path must reject the same payloads as `read`, or the result of a
        // replay would depend on the length of an event.
        _ = try policy(of: payload)
        let previous = payload.sequence(at: Layout.previous)
        return Link(
            state: try state(of: payload),
            probeCount: payload.byte(at: Layout.probeCount),
            previous: previous,
            previousState: previousState(in: payload, previous: previous),
            bodyOffset: bodyOffset(in: payload)
        )
    }

    @inline(never)
    private static func readLongLink(_ payload: RawSpan) throws(EventFormatError) -> Link {
        let (event, bodyOffset) = try read(payload)
        return Link(
            state: event.state,
            probeCount: event.probeCount,
            previous: event.previous,
            previousState: event.previousState,
            bodyOffset: bodyOffset
        )
    }

    /// Returns true if at most a tag is between the header and the body or the tombstone.
    @inline(__always)
    private static func isShort(_ payload: RawSpan) -> Bool {
        // One comparison covers events with and without a held tag. Shorter events take the long
        // path, which checks each part.
        // In Swift, `&` and `|` bind more tightly than `==`, unlike in C.
        payload.byteCount > Layout.headerByteCount + Layout.heldByteCount
            && payload.byte(at: 1) & Layout.releases | payload.byte(at: Layout.moreFlags) == 0
    }

    /// The beginning of an event that a delta lists.
    package enum Start: Hashable, Sendable {
        /// The record has the body at an offset.
        case live(bodyOffset: Int)
        /// The record is gone; its tombstone is at an offset.
        case tombstone(bodyOffset: Int)
        /// The event is an ``AudienceEvent``.
        case audience
    }

    /// Returns the kind of an event that a delta lists, and the offset of the body or the tombstone,
    /// without reading the parts in between.
    @inline(__always)
    package static func start(of payload: RawSpan) throws(EventFormatError) -> Start {
        guard isShort(payload) else { return try longStart(of: payload) }
        let bodyOffset = bodyOffset(in: payload)
        // By the numbers, because making a kind of one is a call.
        switch payload.byte(at: 0) {
        case EventKind.recordSaved.rawValue, EventKind.recordTouched.rawValue:
            return .live(bodyOffset: bodyOffset)
        case EventKind.recordDeleted.rawValue: return .tombstone(bodyOffset: bodyOffset)
        default: return try longStart(of: payload)
        }
    }

    @inline(never)
    private static func longStart(of payload: RawSpan) throws(EventFormatError) -> Start {
        if AudienceEvent.isOne(payload) { return .audience }
        let (event, bodyOffset) = try read(payload)
        return switch event.state {
        case .live: .live(bodyOffset: bodyOffset)
        case .tombstone: .tombstone(bodyOffset: bodyOffset)
        }
    }

    /// Returns true if an event contains an audience.
    ///
    /// For payloads that have been validated before.
    @inline(__always)
    package static func touchesAudience(_ payload: RawSpan) -> Bool {
        payload.byte(at: Layout.moreFlags) & Layout.isInAudience != 0
    }

    /// Returns the offset of the body in a validated payload that releases no targets and has no
    /// audience.
    @inline(__always)
    package static func bodyOffset(in payload: RawSpan) -> Int {
        payload.byte(at: 1) & Layout.heldOther == 0
            ? Layout.headerByteCount : Layout.headerByteCount + Layout.heldByteCount
    }

    /// Returns the range of the record's name in an event's payload; the record's slot is the hash
    /// of the name.
    @inline(__always)
    package static func nameRange(
        in payload: RawSpan,
        state: RecordState,
        bodyOffset: Int
    ) throws(EventFormatError) -> Range<Int> {
        switch state {
        case .live:
            guard let range = RecordBody.recordNameRange(in: payload, bodyOffset: bodyOffset) else {
                throw EventFormatError("A record's body ends before its name.")
            }
            return range
        case .tombstone:
            var offset = bodyOffset
            // A record's name has at least one byte, as in a body (`Docs/formats/record.md`).
            guard let range = payload.countedRange(at: &offset), !range.isEmpty else {
                throw EventFormatError("A tombstone ends before its name.")
            }
            return range
        }
    }

    /// Checks every byte of the record in an event; does nothing for other events.
    ///
    /// O(bytes).
    package static func checkBody(of event: LogEvent) throws(EventFormatError) {
        let payload = event.payload
        guard payload.count > 0 else { return }
        switch EventKind(rawValue: payload.span.bytes.byte(at: 0)) {
        // A tombstone has no body, and the other kinds hold no record.
        case .recordSaved, .recordTouched: break
        default: return
        }
        guard case .live(let bodyOffset) = try start(of: payload.span.bytes) else { return }
        do throws(BodyError) {
            // Offsets count from the payload's start. A slice keeps the indexes of its block.
            _ = try RecordBody(validating: payload[(payload.startIndex + bodyOffset)...])
        } catch {
            throw EventFormatError(
                "Event \(event.sequence) holds a damaged record: at byte \(error.offset) of its body: "
                    + error.message
            )
        }
    }

    /// Returns the ranges of a tombstone's name and type: the type follows the name.
    package static func tombstoneRanges(
        in payload: RawSpan,
        bodyOffset: Int
    ) throws(EventFormatError) -> (name: Range<Int>, type: Range<Int>) {
        var offset = bodyOffset
        guard let name = payload.countedRange(at: &offset) else {
            throw EventFormatError("A tombstone's name is cut off.")
        }
        return (name, offset..<payload.byteCount)
    }

    /// Returns the name and type of a tombstone.
    package static func tombstone(
        in payload: RawSpan,
        bodyOffset: Int
    ) throws(EventFormatError) -> (name: String, type: String) {
        let ranges = try tombstoneRanges(in: payload, bodyOffset: bodyOffset)
        guard let name = payload.extracting(ranges.name).text else {
            throw EventFormatError("A tombstone's name is not UTF-8.")
        }
        guard let type = payload.extracting(ranges.type).text else {
            throw EventFormatError("A tombstone's type is not UTF-8.")
        }
        return (name, type)
    }

    @inline(__always)
    private static func state(of payload: RawSpan) throws(EventFormatError) -> RecordState {
        // By the numbers, because making a kind of one is a call.
        switch payload.byte(at: 0) {
        case EventKind.recordSaved.rawValue, EventKind.recordTouched.rawValue: return .live
        case EventKind.recordDeleted.rawValue: return .tombstone
        default: throw otherKind(payload)
        }
    }

    /// The error of an event that must be that of a record, and is not.
    package static func otherKind(_ payload: RawSpan) -> EventFormatError {
        EventFormatError("Expected a record event; found one of kind \(payload.byte(at: 0)).")
    }
}

extension RecordBody {
    /// Returns the range of the name in a body that begins at an offset; `nil` if the name is cut
    /// off.
    @inline(__always)
    fileprivate static func recordNameRange(in span: RawSpan, bodyOffset: Int) -> Range<Int>? {
        // A body's header has 34 bytes, with the length of the name at offset 2. The name is the
        // first text after the header (`Docs/formats/record.md`).
        let start = bodyOffset + 34
        guard start <= span.byteCount else { return nil }
        let end = start + Int(span.integer(at: bodyOffset + 2, as: UInt16.self))
        return end <= span.byteCount ? start..<end : nil
    }
}
