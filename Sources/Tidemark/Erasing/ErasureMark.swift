// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension CommitDraft {
    /// Adds marks, and raises the tombstone horizons of zones to the draft's first position.
    ///
    /// The draft must have a place in the log already: its next event is at `next`.
    mutating func appendErasure(
        _ marks: some Sequence<DatabaseID>,
        raising zones: some Sequence<ZoneKey>,
        at next: SequenceNumber
    ) {
        var position = next
        // A zone's key is the position of its creation. The deletion names it, so the position of
        // each event is counted here.
        for database in marks {
            append(zone: CommitDraft.ownSequence) { payload in
                let identity = ZoneIdentity.erasureMark(of: database)
                ZoneEvent.appendCreation(of: identity, probeCount: 0, to: &payload)
            }
            append(zone: ZoneKey(createdAt: position)) {
                ZoneEvent.appendDeletion(.purged, to: &$0)
            }
            position = position + 2
        }
        for zone in zones { append(zone: zone) { TombstoneHorizon.append(next, to: &$0) } }
    }
}
