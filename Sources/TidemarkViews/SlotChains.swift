// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform
package import TidemarkEvents
package import TidemarkLog

/// Every version of every record in one stretch of the log, in flat arrays; or one entry per
/// record, if only the final state is needed.
///
/// An entry has 48 bytes. The hash table has eight bytes per place and is at most half full. The
/// low half of a place is an entry's index plus one. The high half is the upper half of the entry's
/// hash: it gives the start of the search and, nearly always, shows if the entry is the right one.
package struct SlotChains: Sendable {
    /// One event of a record.
    package struct Entry: Sendable {
        package var zone: ZoneKey
        package var slot: Slot
        package var sequence: SequenceNumber
        package var previous: SequenceNumber
        /// The slot's entry before this one, or `none`.
        package var older: UInt32
        /// The slot's entry after this one, or `none`.
        package var newer: UInt32
        package var state: RecordState
        package var previousState: RecordState?
    }

    /// No entry.
    package static let none = UInt32.max

    /// The entries, ordered by their sequence numbers if versions are kept, otherwise by their
    /// records' first ones.
    package private(set) var entries: [Entry] = []
    let keepsVersions: Bool
    private var table: [UInt64]
    /// The number of used places in `table`.
    private var slotCount = 0

    /// Creates empty chains with reserved space.
    ///
    /// Without versions, an entry has the last sequence and state of its record, and the state
    /// before the first event. The table then begins small, because the number of distinct records
    /// is unknown, and a table that is too large exceeds the processor's caches.
    package init(expectedEntryCount: Int, keepsVersions: Bool = true) {
        self.keepsVersions = keepsVersions
        var placeCount = 1 << 10
        while keepsVersions, placeCount < expectedEntryCount * 2 { placeCount *= 2 }
        table = [UInt64](repeating: 0, count: placeCount)
        entries.reserveCapacity(expectedEntryCount)
    }

    /// Slots are hashes already; zones are small numbers that must be spread.
    @inline(__always)
    private static func hash(zone: ZoneKey, slot: Slot) -> UInt64 {
        (slot.rawValue ^ (zone.rawValue &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    }

    /// Returns the place of a slot in the table, or the empty place for it.
    @inline(__always)
    private func place(_ hash: UInt64, zone: ZoneKey, slot: Slot) -> Int {
        let mask = table.count - 1
        var place = Int(hash >> 32) & mask
        while true {
            let word = table[place]
            // Places are never emptied and the table is at most half full, so an empty place ends
            // the search.
            if word == 0 { return place }
            if word >> 32 == hash >> 32 {
                let index = Int(word & 0xFFFF_FFFF) - 1
                if entries[index].slot == slot, entries[index].zone == zone { return place }
            }
            place = (place + 1) & mask
        }
    }

    /// Returns the newest entry of a slot.
    ///
    /// O(1).
    @inline(__always)
    package func newest(zone: ZoneKey, slot: Slot) -> Entry? {
        let word = table[place(Self.hash(zone: zone, slot: slot), zone: zone, slot: slot)]
        return word == 0 ? nil : entries[Int(word & 0xFFFF_FFFF) - 1]
    }

    /// Adds an event and returns its entry's index.
    ///
    /// This is a new entry, except for later events of a record whose versions are not kept.
    ///
    /// Amortized O(1).
    @inline(__always)
    package mutating func append(_ change: SlotChange) -> UInt32 {
        let hash = Self.hash(zone: change.zone, slot: change.slot)
        let place = place(hash, zone: change.zone, slot: change.slot)
        let index = UInt32(truncatingIfNeeded: entries.count)
        // The index plus one of the slot's newest entry; zero if the slot has none.
        let older = UInt32(truncatingIfNeeded: table[place])
        if older != 0 {
            if !keepsVersions {
                entries[Int(older) - 1].sequence = change.sequence
                entries[Int(older) - 1].state = change.state
                return older - 1
            }
            entries[Int(older) - 1].newer = index
        }
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
        // The index is increased by one because the word 0 stands for an empty place.
        table[place] = hash & ~0xFFFF_FFFF | UInt64(index + 1)
        if older == 0 {
            slotCount += 1
            if slotCount * 2 > table.count { grow() }
        }
        return index
    }

    /// Prefetches the places and entries of some slots, so that the memory accesses run in parallel.
    func prefetch(_ slots: some Sequence<ViewKey>) {
        let mask = table.count - 1
        table.withUnsafeBufferPointer { table in
            guard let places = table.baseAddress else { return }
            for key in slots {
                let hash = Self.hash(zone: key.zone, slot: key.slot)
                tidemark_prefetch(places + (Int(hash >> 32) & mask))
            }
            entries.withUnsafeBufferPointer { entries in
                guard let first = entries.baseAddress else { return }
                for key in slots {
                    let hash = Self.hash(zone: key.zone, slot: key.slot)
                    // Only the first place of each search. A wrong guess loads an entry that is not
                    // needed, and nothing else.
                    let word = table[Int(hash >> 32) & mask]
                    guard word >> 32 == hash >> 32 else { continue }
                    tidemark_prefetch(first + (Int(word & 0xFFFF_FFFF) - 1))
                }
            }
        }
    }

    private mutating func grow() {
        let words = table
        table = [UInt64](repeating: 0, count: words.count * 2)
        let mask = table.count - 1
        // Each word is of another slot, so no entry has to be compared. The upper half gives the
        // start of the search in a table of any size.
        for word in words where word != 0 {
            var place = Int(word >> 32) & mask
            while table[place] != 0 { place = (place + 1) & mask }
            table[place] = word
        }
    }
}
