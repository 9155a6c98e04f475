// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The place of a record in an audience, which is all records that a share shows.
package struct AudiencePlace: Hashable, Sendable {
    /// The audience's key: the position of the event that made it.
    package var key: ZoneKey
    /// The position of the record's previous event in the audience; zero if there is none.
    package var previous: SequenceNumber
    /// The record's previous state in the audience; `nil` if the record was never in it.
    package var previousState: RecordState?

    package init(key: ZoneKey, previous: SequenceNumber = 0, previousState: RecordState? = nil) {
        self.key = key
        self.previous = previous
        self.previousState = previousState
    }

    package init(key: ZoneKey, previous: SequenceNumber, replacesTombstone: Bool) {
        self.key = key
        self.previous = previous
        previousState = previous == 0 ? nil : replacesTombstone ? .tombstone : .live
    }
}

/// The payload of an event that shows a record to an audience or hides it, without changing the
/// record.
///
/// `Docs/formats/events.md` has the bytes.
package struct AudienceEvent: Hashable, Sendable {
    /// The record's state for the audience after the event.
    package var state: RecordState
    /// The distance of the record's slot from the hash of its name.
    package var probeCount: UInt8
    /// The place of the record in the audience.
    package var place: AudiencePlace
    /// The position of the record's last event: the version that the audience sees.
    package var version: SequenceNumber
    /// The record's name.
    package var name: Name
    /// The record's type.
    package var type: Name

    package init(
        state: RecordState,
        probeCount: UInt8,
        place: AudiencePlace,
        version: SequenceNumber,
        name: Name,
        type: Name
    ) {
        self.state = state
        self.probeCount = probeCount
        self.place = place
        self.version = version
        self.name = name
        self.type = type
    }

    /// The offset of the audience's key.
    package static let keyOffset = 4
    private static let replacesTombstone: UInt8 = 1
    private static let headerByteCount = 28

    /// Appends the event's bytes.
    package func append(to payload: inout [UInt8]) {
        let kind: EventKind = state == .live ? .audienceEntered : .audienceLeft
        payload.append(kind.rawValue)
        payload.append(place.previousState == .tombstone ? Self.replacesTombstone : 0)
        payload.append(probeCount)
        // Reserved: readers reject any other value.
        payload.append(0)
        payload.append(integer: place.key.rawValue)
        payload.append(integer: place.previous.rawValue)
        payload.append(integer: version.rawValue)
        payload.append(string: name.string)
        type.withBytes { payload.append(contentsOf: $0) }
    }

    /// Reads an event's bytes.
    package init(_ payload: RawSpan) throws(EventFormatError) {
        var offset = Self.headerByteCount
        let (state, version) = try Self.version(in: payload)
        // Any other value is of a form that this version does not know. The name must not be empty,
        // since it identifies the record.
        guard payload.byte(at: 1) <= Self.replacesTombstone, payload.byte(at: 3) == 0,
            let name = payload.string(at: &offset), !name.isEmpty,
            let type = payload.extracting(offset..<payload.byteCount).text
        else { throw Self.malformed(payload) }
        self.init(
            state: state,
            probeCount: payload.byte(at: 2),
            place: AudiencePlace(
                key: ZoneKey(rawValue: payload.integer(at: Self.keyOffset)),
                previous: payload.sequence(at: 12),
                replacesTombstone: payload.byte(at: 1) == Self.replacesTombstone
            ),
            version: version,
            name: Name(name),
            type: Name(type)
        )
    }

    /// Returns the record's state for the audience, and the version that the audience sees.
    package static func version(
        in payload: RawSpan
    ) throws(EventFormatError) -> (state: RecordState, version: SequenceNumber) {
        guard payload.byteCount > headerByteCount, isOne(payload) else { throw malformed(payload) }
        let entered = payload.byte(at: 0) == EventKind.audienceEntered.rawValue
        return (entered ? .live : .tombstone, payload.sequence(at: 20))
    }

    /// Returns true if a payload is of such an event.
    @inline(__always)
    package static func isOne(_ payload: RawSpan) -> Bool {
        // The two kinds have adjacent numbers.
        payload.byteCount > 0 && payload.byte(at: 0) >= EventKind.audienceEntered.rawValue
            && payload.byte(at: 0) <= EventKind.audienceLeft.rawValue
    }

    private static func malformed(_ payload: RawSpan) -> EventFormatError {
        EventFormatError(
            "An audience's event holds a key, two positions, a name and a type; found "
                + "\(payload.byteCount) bytes of another form."
        )
    }
}
