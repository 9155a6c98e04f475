// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The content of a zone at some position, folded from the log: the last event of every record.
///
/// One table in a flat array, 24 bytes for each place, of which at most half are used, whatever the number
/// of versions.
struct PastState {
    /// The last event of one slot.
    private struct Entry {
        var slot: Slot = 0
        /// Zero for an empty place.
        var sequence: SequenceNumber = 0
        var isLive = false
    }

    private var table = [Entry](repeating: Entry(), count: 1 << 12)
    private var shift: UInt64 = 64 - 12
    private var count = 0

    /// Folds the events of one zone up to a position.
    ///
    /// O(blocks up to it that have events of the zone).
    init(
        of zone: ZoneKey,
        in log: PastLog,
        _ fold: Fold,
        through last: SequenceNumber
    ) throws(SyncError) {
        try log.scan(from: zone.creation, through: last, zones: [zone]) {
            (event) throws(EventFormatError) in
            try apply(event, fold)
            return true
        }
    }

    private mutating func apply(_ event: LogEvent, _ fold: Fold) throws(EventFormatError) {
        let bytes = event.payload
        let payload = bytes.span.bytes
        switch EventKind(of: payload) {
        case .zoneCreated, .zoneDeleted, .requestNoted, .audienceEntered, .audienceLeft,
            .tombstonesForgotten, .compactionBegun:
            break
        case nil where event.isSkipped: break
        case .recordSaved, .recordDeleted, .recordTouched, nil:
            let change = try fold.recordChange(event.sequence, zone: event.zone, payload)
            set(
                Entry(
                    slot: change.slot,
                    sequence: change.sequence,
                    isLive: change.state == .live
                )
            )
        }
    }

    private mutating func set(_ entry: Entry) {
        let place = place(of: entry)
        if table[place].sequence == 0 { count += 1 }
        table[place] = entry
        // At most half of the places are used, so the search in `place` always ends at an empty
        // one.
        if count * 2 > table.count { grow() }
    }

    private func place(of entry: Entry) -> Int {
        // The high bits of the product depend on all bits of the slot.
        let hash = entry.slot.rawValue &* 0xD6E8_FEB8_6659_FD93
        var place = Int(truncatingIfNeeded: hash >> shift)
        while table[place].sequence != 0, table[place].slot != entry.slot {
            place = (place + 1) & (table.count - 1)
        }
        return place
    }

    private mutating func grow() {
        let entries = table
        table = [Entry](repeating: Entry(), count: entries.count * 2)
        shift -= 1
        for entry in entries where entry.sequence != 0 { table[place(of: entry)] = entry }
    }

    /// The last events of the zone's records, ascending.
    var versions: [RecordVersion] {
        table.lazy.filter { $0.sequence > 0 }
            .map { entry in
                RecordVersion(
                    slot: entry.slot,
                    sequence: entry.sequence,
                    state: entry.isLive ? .live : .tombstone
                )
            }
            .sorted { $0.sequence < $1.sequence }
    }
}
