// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// The place of a record in one epoch of its zone: the same for all its versions there.
///
/// Only the engine makes them, from events or versions, without reading a record's name.
package struct PastPlace: Hashable, Sendable {
    private let key: ViewKey

    fileprivate init(_ key: ViewKey) {
        self.key = key
    }

    /// The place of a version's record.
    package init(of version: RecordVersion, in epoch: PastZone) {
        key = ViewKey(zone: epoch.key, slot: version.slot)
    }

    /// The key of the zone's epoch.
    package var epoch: ZoneKey { key.zone }
}

/// A step from one version of a record to the next.
package struct PastStep: Sendable {
    /// The place of the record.
    package let place: PastPlace
    /// Position of the version before; zero where the record was not there.
    package let before: SequenceNumber
    /// Position of the version from here on; zero where the record is not there.
    package let after: SequenceNumber
}

/// Finds the records that events are about.
package struct PastPlaces: Sendable {
    private let fold: Fold

    package init(hash: StoreHash) {
        fold = Fold(hash: hash)
    }

    /// Returns the effect of an event that saved, touched or deleted a record.
    ///
    /// O(record's name).
    package func step(_ event: LogEvent) throws(EventFormatError) -> PastStep {
        let change = try fold.recordChange(
            event.sequence,
            zone: event.zone,
            event.payload.span.bytes
        )
        return PastStep(
            place: PastPlace(ViewKey(zone: change.zone, slot: change.slot)),
            before: change.previousState == .live ? change.previous : 0,
            after: change.state == .live ? change.sequence : 0
        )
    }
}

extension PastPicture {
    /// Returns the newest event of a version's record in an audience; `nil` if the record
    /// was never in it.
    package func newestVersion(
        of version: RecordVersion,
        shownIn audience: PastZone
    ) throws(SyncError) -> RecordVersion? {
        try newestVersion(at: ViewKey(zone: audience.key, slot: version.slot))
    }
}
