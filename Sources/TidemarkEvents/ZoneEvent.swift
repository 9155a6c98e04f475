// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// The payloads of the events that begin and end a zone.
package enum ZoneEvent {
    /// Writes the payload of a `zoneCreated` event: kind, zero, probe count, zero, the zone's
    /// identity.
    package static func appendCreation(
        of identity: ZoneIdentity,
        probeCount: UInt8,
        to payload: inout [UInt8]
    ) {
        payload.append(contentsOf: [EventKind.zoneCreated.rawValue, 0, probeCount, 0])
        payload.append(contentsOf: identity.bytes)
    }

    /// Writes the payload of a `zoneDeleted` event: kind, reason, two zeros.
    package static func appendDeletion(_ reason: ZoneDeletionReason, to payload: inout [UInt8]) {
        payload.append(contentsOf: [EventKind.zoneDeleted.rawValue, reason.rawValue, 0, 0])
    }

    /// Reads the payload of a `zoneCreated` event.
    package static func readCreation(
        _ payload: RawSpan
    ) throws(EventFormatError) -> (identity: ZoneIdentity, probeCount: UInt8) {
        var offset = 4
        // A value other than zero has a meaning that this build does not know.
        guard payload.byteCount > 4, payload.byte(at: 1) == 0, payload.byte(at: 3) == 0,
            let identity = ZoneIdentity(payload, at: &offset), offset == payload.byteCount
        else {
            throw EventFormatError(
                "A zone's creation holds its probe count and identity; found "
                    + "\(payload.byteCount) bytes of another form."
            )
        }
        return (identity, payload.byte(at: 2))
    }

    /// Reads the payload of a `zoneDeleted` event.
    package static func readDeletion(
        _ payload: RawSpan
    ) throws(EventFormatError) -> ZoneDeletionReason {
        guard payload.byteCount == 4, payload.integer(at: 2, as: UInt16.self) == 0,
            let reason = ZoneDeletionReason(rawValue: payload.byte(at: 1))
        else {
            throw EventFormatError(
                "A zone's deletion holds a reason in four bytes; found \(payload.byteCount) bytes."
            )
        }
        return reason
    }
}
