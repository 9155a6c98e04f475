// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The origin of a commit: its user, device and request id, and the outcome of each item;
/// `Docs/formats/events.md` has the bytes.
package struct CommitEnvelope: Hashable, Sendable {
    /// The user who made the request; `nil` if unknown.
    package var user: String?
    /// The device's name, as sent by the device.
    package var device: String?
    /// The build of the app.
    package var build: String?
    /// The request's id, as sent or derived; `nil` for a request without an id.
    package var request: Request?
    /// The sequence number that the client had seen; zero if the client sent none.
    package var causalParent: SequenceNumber
    /// True if the claimed time was before the last commit's and was raised.
    package var timeWasRaised: Bool
    /// The outcome of each item, in request order.
    package var outcomes: [ItemOutcome]
    /// The optional parts of the envelope.
    package var extras: EnvelopeExtras

    /// The identity of an idempotent request.
    package struct Request: Hashable, Sendable {
        package var id: String
        package var key: RequestKey
        /// A hash of the request's content.
        package var contentHash: UInt64
        /// True if the id was derived from the content of an imported line.
        package var isDerived: Bool
        /// True if the id is of an import and is remembered permanently.
        package var neverExpires: Bool
        /// The database of the request, which the commit's events may not show; `nil` if unknown.
        package var database: DatabaseID?

        package init(
            id: String,
            key: RequestKey,
            contentHash: UInt64,
            isDerived: Bool = false,
            neverExpires: Bool = false,
            database: DatabaseID? = nil
        ) {
            self.id = id
            self.key = key
            self.contentHash = contentHash
            self.isDerived = isDerived
            self.neverExpires = neverExpires
            self.database = database
        }
    }

    package init(
        user: String? = nil,
        device: String? = nil,
        build: String? = nil,
        request: Request? = nil,
        causalParent: SequenceNumber = .zero,
        timeWasRaised: Bool = false,
        outcomes: [ItemOutcome] = [],
        extras: EnvelopeExtras = EnvelopeExtras()
    ) {
        self.user = user
        self.device = device
        self.build = build
        self.request = request
        self.causalParent = causalParent
        self.timeWasRaised = timeWasRaised
        self.outcomes = outcomes
        self.extras = extras
    }
}

/// The outcome of one item of a request.
package enum ItemOutcome: Hashable, Sendable {
    /// Done, by the event with this index in the commit.
    case event(Int)
    /// Done without an event, because nothing had to change.
    case nothingToDo
    /// Rejected: the error's number, its text, and the sequence number of the record's version that
    /// caused the rejection (zero if there was none).
    case refused(code: Int, message: String, against: SequenceNumber)
}

extension CommitEnvelope {
    /// The format's version, the first byte of every envelope.
    private static let version: UInt8 = 1
    /// The version of an envelope with a derived request id, which is stored as numbers: as text,
    /// it would be twice as long, even compressed.
    private static let derivedVersion: UInt8 = 2
    /// The offset of the flags.
    package static let flagsOffset = 1

    /// Bits of the flags.
    ///
    /// Frozen.
    package enum Flag {
        package static let request: UInt8 = 1 << 0
        package static let derived: UInt8 = 1 << 1
        package static let neverExpires: UInt8 = 1 << 2
        package static let timeRaised: UInt8 = 1 << 3
        package static let user: UInt8 = 1 << 4
        package static let device: UInt8 = 1 << 5
        package static let build: UInt8 = 1 << 6
        package static let database: UInt8 = 1 << 7
    }

    /// The envelope's bytes.
    package var bytes: [UInt8] {
        Self.bytes(
            user: user,
            device: device,
            build: build,
            request: request,
            causalParent: causalParent,
            timeWasRaised: timeWasRaised,
            outcomes: outcomes,
            extras: extras
        )
    }

    /// Returns the bytes of an envelope with these parts, without making the envelope.
    package static func bytes(
        user: String?,
        device: String?,
        build: String?,
        request: Request?,
        causalParent: SequenceNumber = .zero,
        timeWasRaised: Bool = false,
        outcomes: [ItemOutcome],
        extras: EnvelopeExtras
    ) -> [UInt8] {
        var flags: UInt8 = timeWasRaised ? Flag.timeRaised : 0
        if user != nil { flags |= Flag.user }
        if device != nil { flags |= Flag.device }
        if build != nil { flags |= Flag.build }
        if let request {
            flags |= Flag.request
            if request.isDerived { flags |= Flag.derived }
            if request.neverExpires { flags |= Flag.neverExpires }
            if request.database != nil { flags |= Flag.database }
        }
        // An id that is not of the derived form is stored as text, under the first version.
        let derived = request.flatMap { $0.isDerived ? DerivedID($0.id) : nil }
        // Enough for all numbers; only a list of outcomes and a database may need more.
        var byteCount = 96 + (user?.utf8.count ?? 0)
        byteCount += device?.utf8.count ?? 0
        byteCount += build?.utf8.count ?? 0
        byteCount += request?.id.utf8.count ?? 0
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        bytes.append(derived == nil ? version : derivedVersion)
        bytes.append(flags)
        if let request {
            bytes.append(integer: request.key.low)
            bytes.append(integer: request.key.high)
            bytes.append(integer: request.contentHash)
            if let derived {
                bytes.append(integer: derived.low)
                bytes.append(integer: derived.high)
                bytes.append(variableInteger: derived.occurrence)
            } else {
                bytes.append(string: request.id)
            }
            if let database = request.database {
                // The usual form is omitted.
                let identity = database == .standard ? [] : database.identityBytes
                bytes.append(variableInteger: UInt64(identity.count))
                bytes.append(contentsOf: identity)
            }
        }
        // No part from here on has a fixed offset: the reader depends on this order and on the
        // flags.
        bytes.append(variableInteger: causalParent.rawValue)
        if let user { bytes.append(string: user) }
        if let device { bytes.append(string: device) }
        if let build { bytes.append(string: build) }
        OutcomeList.append(outcomes, to: &bytes)
        extras.append(to: &bytes)
        return bytes
    }

    /// Reads an envelope, which must fill the whole span.
    package init(_ span: RawSpan) throws(EventFormatError) {
        var offset = 2
        guard span.byteCount >= 2, Self.version...Self.derivedVersion ~= span.byte(at: 0) else {
            throw EventFormatError(
                "A commit envelope begins with its version, \(Self.version) or "
                    + "\(Self.derivedVersion); found "
                    + (span.byteCount == 0 ? "no bytes." : "\(span.byte(at: 0)).")
            )
        }
        let flags = span.byte(at: Self.flagsOffset)
        let derived = Flag.request | Flag.derived
        // Only envelopes with a derived request id have the second version.
        guard span.byte(at: 0) == Self.version || flags & derived == derived,
            // The database is that of the request, and is stored behind the request's id.
            flags & Flag.database == 0 || flags & Flag.request != 0
        else { throw EventFormatError("A commit envelope has unknown flags: \(flags).") }
        self.init()
        timeWasRaised = flags & Flag.timeRaised != 0
        if flags & Flag.request != 0 {
            request = try Self.readRequest(span, flags: flags, at: &offset)
        }
        guard let parent = span.variableInteger(at: &offset) else { throw Self.cutOff }
        causalParent = SequenceNumber(rawValue: parent)
        if flags & Flag.user != 0 { user = try Self.readString(span, at: &offset) }
        if flags & Flag.device != 0 { device = try Self.readString(span, at: &offset) }
        if flags & Flag.build != 0 { build = try Self.readString(span, at: &offset) }
        // Always present: an empty list takes one byte. Only the list itself says where it ends.
        outcomes = try OutcomeList.read(span, at: &offset)
        // Must be last: the extras have no count, and take all bytes up to the end.
        extras = try EnvelopeExtras(span.extracting(offset..<span.byteCount))
    }

    /// Returns the key of the request in an envelope, without reading the rest; `nil` if there is
    /// no request.
    ///
    /// A fold needs nothing else of an envelope.
    @inline(__always)
    package static func requestKey(in span: RawSpan) -> RequestKey? {
        // The key of 16 bytes directly follows the version and the flags in both versions.
        guard span.byteCount >= 18, span.byte(at: flagsOffset) & Flag.request != 0 else {
            return nil
        }
        return RequestKey(low: span.integer(at: 2), high: span.integer(at: 10))
    }

    /// Returns true if the request of an envelope is remembered permanently.
    @inline(__always)
    package static func requestNeverExpires(in span: RawSpan) -> Bool {
        // No check of the length: every caller has found a request key in this envelope before.
        span.byte(at: flagsOffset) & Flag.neverExpires != 0
    }

    static let cutOff = EventFormatError("A commit envelope is cut off.")

    private static func readRequest(
        _ span: RawSpan,
        flags: UInt8,
        at offset: inout Int
    ) throws(EventFormatError) -> Request {
        // The key has 16 bytes, the content hash 8.
        guard span.byteCount >= offset + 24, let key = requestKey(in: span) else { throw cutOff }
        let contentHash = span.integer(at: offset + 16, as: UInt64.self)
        offset += 24
        // The version decides, not the flag: an id with the flag is text if it is not of the form
        // that `DerivedID` parses.
        let isNumbers = span.byte(at: 0) == derivedVersion
        var request = Request(
            id: try isNumbers
                ? readDerivedID(span, at: &offset).text : readString(span, at: &offset),
            key: key,
            contentHash: contentHash,
            isDerived: flags & Flag.derived != 0,
            neverExpires: flags & Flag.neverExpires != 0
        )
        if flags & Flag.database != 0 { request.database = try readDatabase(span, at: &offset) }
        return request
    }

    private static func readDatabase(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> DatabaseID {
        guard let range = span.countedRange(at: &offset) else { throw cutOff }
        // An empty identity stands for the usual database, as `bytes` writes it.
        if range.isEmpty { return .standard }
        // The span ends with the identity: a damaged count in it cannot read into the next part.
        var end = 0
        guard let database = DatabaseID(span.extracting(range), at: &end), end == range.count
        else { throw cutOff }
        return database
    }

    private static func readDerivedID(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> DerivedID {
        guard span.byteCount >= offset + 16 else { throw cutOff }
        let low = span.integer(at: offset, as: UInt64.self)
        let high = span.integer(at: offset + 8, as: UInt64.self)
        offset += 16
        guard let occurrence = span.variableInteger(at: &offset) else { throw cutOff }
        return DerivedID(high: high, low: low, occurrence: occurrence)
    }

    private static func readString(
        _ span: RawSpan,
        at offset: inout Int
    ) throws(EventFormatError) -> String {
        guard let string = span.string(at: &offset) else { throw cutOff }
        return string
    }
}
