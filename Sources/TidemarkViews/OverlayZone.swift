// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The changes of one zone in one stretch of the log.
package struct OverlayZone: Sendable {
    /// The zone's key: the position of its creation.
    package let key: ZoneKey
    /// Indexes of the zone's entries in its generation, in order of their sequence numbers.
    package var entries: [UInt32] = []
    /// The position of the last event of one of its records; zero if there is none.
    package var lastChange: SequenceNumber = 0
    /// True if a record of the zone has a slot other than its name's hash.
    package var isProbed = false
    /// The zone's creation, if it is in this stretch.
    package var creation: ZoneCreation? {
        didSet { isCreated = creation != nil }
    }
    /// True if ``creation`` is in this stretch, to be read without copying it.
    package private(set) var isCreated = false
    /// The zone's end, if it is in this stretch.
    package var end: End?

    /// A zone's end.
    package struct End: Hashable, Sendable {
        /// The position of the event.
        package var sequence: SequenceNumber
        /// The reason for the end.
        package var reason: ZoneDeletionReason

        package init(sequence: SequenceNumber, reason: ZoneDeletionReason) {
            self.sequence = sequence
            self.reason = reason
        }
    }

    package init(key: ZoneKey) {
        self.key = key
    }

    /// Returns the zone's end at or before a bound.
    package func end(through bound: SequenceNumber) -> End? {
        guard let end, end.sequence <= bound else { return nil }
        return end
    }
}

/// The state of a zone at a bound, as far as one stretch of the log has it.
package struct ZoneGlance: Sendable {
    /// The zone's creation, if it is in this stretch.
    package var creation: ZoneCreation?
    /// The zone's end, if it is in this stretch.
    package var end: OverlayZone.End?
    /// The position of the zone's last event in this stretch; zero if there is none.
    package var head: SequenceNumber
}

extension OverlayGeneration {
    /// Returns the changes of a zone in this stretch at or before a bound; `nil` if there are none.
    package func glance(at key: ZoneKey, through bound: SequenceNumber) -> ZoneGlance? {
        withZone(key) { zone in
            let head = head(of: zone, through: bound)
            guard head > 0 else { return nil }
            let isCreated = zone.creation != nil && zone.key.creation <= bound
            return ZoneGlance(
                creation: isCreated ? zone.creation : nil,
                end: zone.end(through: bound),
                head: head
            )
        } ?? nil
    }

    /// Returns the position of a zone's last event in this stretch at or before a bound; zero if
    /// there is none.
    ///
    /// O(log events of the zone).
    package func head(of zone: OverlayZone, through bound: SequenceNumber) -> SequenceNumber {
        // An ended zone gets no further records. A later zone of the same name has another key.
        if let end = zone.end(through: bound) { return end.sequence }
        // The usual case, without a search: no change of the zone is after the bound.
        if zone.lastChange > 0, zone.lastChange <= bound { return zone.lastChange }
        let count = entryCount(of: zone, through: bound)
        if count > 0 { return entries[Int(zone.entries[count - 1])].sequence }
        // Without an entry at or before the bound, only the zone's creation can be its last event.
        return zone.creation != nil && zone.key.creation <= bound ? zone.key.creation : 0
    }

    /// Returns the number of a zone's entries at or before a bound.
    ///
    /// O(log events of the zone).
    package func entryCount(of zone: OverlayZone, through bound: SequenceNumber) -> Int {
        var low = 0
        var high = zone.entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[Int(zone.entries[middle])].sequence <= bound {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    /// Returns the versions of a zone after one position and at or before another that were their
    /// slots' newest here at that bound, oldest first; at most `limit`.
    ///
    /// Tombstones at or below `quiet` are left out.
    package func newestVersions(
        in key: ZoneKey,
        after start: SequenceNumber,
        through bound: SequenceNumber,
        quiet: SequenceNumber,
        limit: Int
    ) -> [RecordVersion] {
        withZone(key) { zone in
            let end = entryCount(of: zone, through: bound)
            let first = entryCount(of: zone, through: start)
            var versions: [RecordVersion] = []
            if first >= end { return versions }
            versions.reserveCapacity(min(limit, end - first))
            // One reference to each list, and not one for each entry.
            let entries = entries
            for index in zone.entries[first..<end] {
                let entry = entries[Int(index)]
                guard isNewest(entry, through: bound) else { continue }
                let version = entry.version
                if version.isQuiet(below: quiet) { continue }
                versions.append(version)
                if versions.count == limit { break }
            }
            return versions
        } ?? []
    }
}
