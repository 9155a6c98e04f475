// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// What happened to the zones in one stretch of the log, held in memory until a checkpoint has
/// taken it into the view index.
///
/// A store has one generation that grows, and one that is frozen while its checkpoint is written.
/// Every version of a record in the stretch is kept, chained from new to old, so that a reader
/// finds what was the newest at its own bound while later versions are already there, durable or
/// not. Everything lies in flat arrays: one entry of 48 bytes per event, and a table of indexes
/// into them.
///
/// Unchecked: the growing generation is only touched under the engine's lock; a frozen one is
/// never changed again.
package final class OverlayGeneration: @unchecked Sendable {
    /// One event of a record.
    package struct Entry {
        package var zone: UInt64
        package var slot: UInt64
        package var sequence: UInt64
        package var previous: UInt64
        /// The slot's entry before this one in this generation, or `none`.
        package var older: UInt32
        /// The slot's entry after this one in this generation, or `none`.
        package var newer: UInt32
        package var state: RecordState
        package var previousState: RecordState?
    }

    /// No entry.
    package static let none = UInt32.max

    /// In order of their sequence numbers.
    package private(set) var entries: [Entry] = []
    /// Hash table with linear probing over (zone, slot); an entry's index plus one, or zero.
    private var table: [UInt32]
    /// How far a hash is shifted to give a place in `table`.
    private var shift: UInt64
    /// How many places of `table` are taken.
    private var slotCount = 0
    /// What happened per zone, in the order in which the zones were first named.
    package private(set) var zones: [OverlayZone] = []
    private var zoneIndexes: [UInt64: Int] = [:]
    /// Most events name the zone of the one before.
    private var lastZoneIndex = 0
    /// Epochs of zones created here, by place in the table of zone names, ascending.
    private var zoneKeys: [ViewKey: [UInt64]] = [:]
    /// The first position of the commit that answered a request.
    package private(set) var requests: [RequestKey: UInt64] = [:]
    /// Position of the last event, of any kind.
    package private(set) var lastSequence: UInt64 = 0
    /// Position of the last event that began or ended a zone.
    package private(set) var lastZoneSequence: UInt64 = 0

    /// A generation without events, with room for some.
    package init(expectedEntryCount: Int = 512) {
        var bits: UInt64 = 10
        while 1 << bits < expectedEntryCount * 2 { bits += 1 }
        table = [UInt32](repeating: 0, count: 1 << bits)
        shift = 64 - bits
        entries.reserveCapacity(expectedEntryCount)
    }

    /// Events of records, plus zones: what the checkpoint policy counts.
    package var weight: Int { entries.count + zones.count + requests.count }

    /// Lends what happened to a zone here; `nil` if nothing did.
    ///
    /// Lent and not given, because a copy that outlives the lock would make the next append copy
    /// the zone's whole list.
    @inline(__always)
    package func withZone<Result>(_ key: UInt64, _ body: (OverlayZone) -> Result) -> Result? {
        guard let index = zoneIndexes[key] else { return nil }
        return body(zones[index])
    }

    /// The epochs of zones created here at one place of the table of zone names, ascending.
    package func zoneKeys(at place: ViewKey) -> [UInt64] {
        zoneKeys[place] ?? []
    }

    /// The newest entry of a slot, durable or not.
    ///
    /// O(1).
    @inline(__always)
    package func newest(zone: UInt64, slot: UInt64) -> Entry? {
        let index = table[place(zone: zone, slot: slot)]
        return index == 0 ? nil : entries[Int(index) - 1]
    }

    /// The newest entry of a slot at or before a bound.
    ///
    /// O(versions after the bound).
    @inline(__always)
    package func newest(zone: UInt64, slot: UInt64, through bound: UInt64) -> Entry? {
        guard var entry = newest(zone: zone, slot: slot) else { return nil }
        while entry.sequence > bound {
            guard entry.older != Self.none else { return nil }
            entry = entries[Int(entry.older)]
        }
        return entry
    }

    /// Whether an entry of this generation was still its slot's newest here at a bound.
    @inline(__always)
    package func isNewest(_ entry: Entry, through bound: UInt64) -> Bool {
        entry.newer == Self.none || entries[Int(entry.newer)].sequence > bound
    }
}

// MARK: - Applying

extension OverlayGeneration {
    /// Takes in what one event did to a record.
    ///
    /// Amortized O(1).
    package func apply(_ change: SlotChange) {
        let place = place(zone: change.zone, slot: change.slot)
        let index = UInt32(entries.count)
        let older = table[place]
        if older != 0 { entries[Int(older) - 1].newer = index }
        entries.append(
            Entry(
                zone: change.zone,
                slot: change.slot,
                sequence: change.sequence,
                previous: change.previous,
                older: older == 0 ? Self.none : older - 1,
                newer: Self.none,
                state: change.state,
                previousState: change.previousState
            )
        )
        table[place] = index + 1
        lastSequence = change.sequence
        zones[zoneIndex(change.zone)].entries.append(index)
        if older == 0 {
            slotCount += 1
            if slotCount * 2 > table.count { grow() }
        }
    }

    /// Takes in a zone's creation, whose position is the zone's key.
    package func apply(_ creation: ZoneCreation, key: UInt64) {
        zones[zoneIndex(key)].creation = creation
        zoneKeys[creation.place, default: []].append(key)
        lastSequence = key
        lastZoneSequence = key
    }

    /// Takes in a zone's end.
    package func applyDeletion(of zone: UInt64, at sequence: UInt64, reason: ZoneDeletionReason) {
        zones[zoneIndex(zone)].end = OverlayZone.End(sequence: sequence, reason: reason)
        lastSequence = sequence
        lastZoneSequence = sequence
    }

    /// Takes in an event that changes nothing.
    package func applyNothing(at sequence: UInt64) {
        lastSequence = sequence
    }

    /// Takes in the request that a commit answered.
    package func apply(_ request: RequestKey, first: UInt64) {
        requests[request] = first
    }

    private func zoneIndex(_ key: UInt64) -> Int {
        if lastZoneIndex < zones.count, zones[lastZoneIndex].key == key { return lastZoneIndex }
        if let index = zoneIndexes[key] {
            lastZoneIndex = index
        } else {
            lastZoneIndex = zones.count
            zoneIndexes[key] = zones.count
            zones.append(OverlayZone(key: key))
        }
        return lastZoneIndex
    }

    /// The place of a slot in the table: where it is, or the empty place where it would go.
    @inline(__always)
    private func place(zone: UInt64, slot: UInt64) -> Int {
        // Slots are hashes already; zones are small numbers that must spread.
        let hash = (slot ^ (zone &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
        let mask = table.count - 1
        var place = Int(truncatingIfNeeded: hash >> shift)
        while true {
            let index = table[place]
            if index == 0 { return place }
            let entry = entries[Int(index) - 1]
            if entry.slot == slot, entry.zone == zone { return place }
            place = (place + 1) & mask
        }
    }

    private func grow() {
        table = [UInt32](repeating: 0, count: table.count * 2)
        shift -= 1
        for (index, entry) in entries.enumerated() where entry.newer == Self.none {
            table[place(zone: entry.zone, slot: entry.slot)] = UInt32(index) + 1
        }
    }
}
