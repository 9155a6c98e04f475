// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A record's slot, or the slot that it would get, and the record's last event there.
///
/// Trivial, unlike the item: a copy of it retains nothing.
package struct ConsultedSlot: Sendable {
    /// The slot.
    package var slot: Slot
    /// The distance of the slot from the hash of the record's name.
    package var probeCount: UInt8 = 0
    /// The position of the last event; zero if there is none.
    package fileprivate(set) var previous: SequenceNumber = 0
    /// The record's state after that event; `nil` if there is none.
    package fileprivate(set) var previousState: RecordState?
    /// True if that event's record is bound to others.
    package fileprivate(set) var wasBound = false
}

/// One item of a request: a record to save or delete, and the result of its lookup.
package struct ConsultedItem: Sendable {
    /// The record's name.
    package var name: Name
    /// The index of its zone among the request's zones.
    package var zone: Int
    /// The record's slot, and what is known of its last event without a look at `old`, which is copied
    /// whole for each look.
    package private(set) var place: ConsultedSlot
    /// The record's last event; `nil` if there is none.
    package private(set) var old: StoredRecord?
    /// The bytes of the body in that event, if it is a save; no optional body, which the runtime would
    /// be called to destroy.
    fileprivate(set) var liveBytes: ArraySlice<UInt8> = []

    package init(name: Name, zone: Int, slot: Slot) {
        self.name = name
        self.zone = zone
        place = ConsultedSlot(slot: slot)
    }

    /// The slot of the record, or the slot that it would get.
    @inline(__always)
    package var slot: Slot { place.slot }
    /// The distance of the slot from the name's hash.
    @inline(__always)
    package var probeCount: UInt8 {
        get { place.probeCount }
        set { place.probeCount = newValue }
    }
    /// The position of the record's last event; zero if there is none.
    @inline(__always)
    package var previous: SequenceNumber { place.previous }
    /// The record's state after that event; `nil` if there is none.
    @inline(__always)
    package var previousState: RecordState? { place.previousState }
    /// True if that event's record is bound to others.
    @inline(__always)
    package var wasBound: Bool { place.wasBound }

    /// Takes in the record's last event; throws if the body of a save is damaged.
    package mutating func take(_ record: consuming StoredRecord) throws(SyncError) {
        if record.event.state == .live { liveBytes = try record.readBody().bytes }
        place.previous = record.sequence
        place.previousState = record.event.state
        place.wasBound = record.event.state == .live && record.event.binds
        old = record
    }

    /// Moves to the next slot, whose event is not known.
    ///
    /// Slots wrap around: after the last slot comes the first.
    fileprivate mutating func moveOn() {
        let count = probeCount + 1
        self = ConsultedItem(name: name, zone: zone, slot: slot.probed(1))
        probeCount = count
    }

    /// True if the last event is a save.
    @inline(__always)
    package var isLive: Bool { previousState == .live }

    /// The last event, if it is a save.
    package var live: StoredRecord? { isLive ? old : nil }

    /// The body in the last event, if it is a save.
    @inline(__always)
    package var liveBody: RecordBody? { isLive ? RecordBody(sound: liveBytes) : nil }
}

/// The items of one request with the results of their lookups.
package struct ConsultedItems: Sendable {
    /// The items in request order.
    package private(set) var items: [ConsultedItem]
    /// The highest position that the lookups read.
    package private(set) var lookedAt: SequenceNumber
    /// True if two items may have the same slot, which is very rare.
    package private(set) var mayMeet: Bool

    /// Looks up all slots in the state, then reads the events of those that were found.
    ///
    /// A record that never existed takes a lookup in the overlay and one in the index; other
    /// records also take the decoding of the block that holds their last event.
    package init(
        _ items: [ConsultedItem],
        in zones: ConsultedZones,
        _ facts: any Facts
    ) throws(SyncError) {
        var items = items
        let order = SlotOrder(items)
        try self.init(&items, order, in: zones, facts)
    }

    /// Does the same for items whose order is known, and leaves none behind: a second reference to the
    /// items would copy them.
    package init(
        _ items: inout [ConsultedItem],
        _ order: SlotOrder,
        in zones: ConsultedZones,
        _ facts: any Facts
    ) throws(SyncError) {
        self.items = []
        swap(&self.items, &items)
        lookedAt = zones.zones.reduce(0) { max($0, $1.lookedAt) }
        mayMeet = order.hasEqualSlots
        // In index order, so that neighbors share a page.
        var open =
            try order.places.isEmpty
            ? lookUp(self.items.indices, in: zones, facts)
            : lookUp(order.places.lazy.map { $0.index }, in: zones, facts)
        while !open.isEmpty {
            for index in open { try moveOn(index) }
            open = try lookUp(open, in: zones, facts)
        }
    }

    /// Assigns separate slots to new records whose names have the same hash.
    ///
    /// `newcomers` are the items that begin a record; only those take a slot. The first one keeps
    /// its slot, and the others move to the next free slot.
    package mutating func settle(
        _ newcomers: [Int],
        in zones: ConsultedZones,
        _ facts: any Facts
    ) throws(SyncError) {
        // Moving an item may bring it into the slot of another one. So the pairs are formed again
        // until all slots differ.
        while mayMeet {
            let places = SlotOrder(newcomers, of: items).places
            var open = zip(places, places.dropFirst()).compactMap { first, second in
                first.isSameSlot(as: second) ? second.index : nil
            }
            if open.isEmpty { return }
            while !open.isEmpty {
                for index in open { try moveOn(index) }
                try lookUp(open, in: zones, facts)
                open = open.filter { items[$0].old != nil }
            }
        }
    }

    /// Moves an item to the slot after its own.
    private mutating func moveOn(_ index: Int) throws(SyncError) {
        guard items[index].probeCount < .max else {
            throw SyncError(
                .internalError,
                "256 record names of one zone have the same hash, which cannot happen by chance."
            )
        }
        mayMeet = true
        items[index].moveOn()
    }

    /// Looks up items; returns those whose slot belongs to another name.
    @discardableResult
    private mutating func lookUp(
        _ open: some Collection<Int>,
        in zones: ConsultedZones,
        _ facts: any Facts
    ) throws(SyncError) -> [Int] {
        // A lone item is looked up without lists.
        if open.count == 1, let index = open.first {
            guard let zone = zones.key(of: items[index].zone),
                let version = try facts.version(at: ViewKey(zone: zone, slot: items[index].slot)),
                let record = try facts.records(at: [version.sequence]).first
            else { return [] }
            lookedAt = max(lookedAt, record.sequence)
            let isStranger = try isStranger(record, at: index)
            try items[index].take(consume record)
            return isStranger ? [index] : []
        }
        // A zone without a key has no events, and its records are looked up nowhere.
        var slots: [ViewKey] = []
        slots.reserveCapacity(open.count)
        for index in open {
            guard let zone = zones.key(of: items[index].zone) else { continue }
            slots.append(ViewKey(zone: zone, slot: items[index].slot))
        }
        if slots.isEmpty { return [] }
        let versions = try facts.versions(at: slots)
        let sequences = versions.compactMap { $0?.sequence }
        // A free slot ends the search for a name. Compaction therefore keeps the tombstones of a
        // zone in which a record has another slot than its name's hash.
        if sequences.isEmpty { return [] }
        var records = try facts.records(at: sequences).makeIterator()
        var version = versions.makeIterator()
        var strangers: [Int] = []
        for index in open where zones.key(of: items[index].zone) != nil {
            guard version.next()??.sequence != nil, let record = records.next() else { continue }
            lookedAt = max(lookedAt, record.sequence)
            if try isStranger(record, at: index) { strangers.append(index) }
            try items[index].take(consume record)
        }
        return strangers
    }

    /// Returns true if an event in an item's slot is of another name.
    private func isStranger(_ record: StoredRecord, at index: Int) throws(SyncError) -> Bool {
        do throws(EventFormatError) {
            return try !record.hasName(items[index].name)
        } catch {
            throw SyncError(error)
        }
    }
}

/// Items in the order of their zones and slots.
package struct SlotOrder: Sendable {
    /// The place of an item's lookup, by which items are sorted without moving them.
    fileprivate struct Place: Sendable {
        /// The slot as a number, because a sort calls the comparison of ``Slot`` instead of inlining
        /// it.
        var slot: UInt64
        var zone: Int
        var index: Int

        func isSameSlot(as other: Place) -> Bool { slot == other.slot && zone == other.zone }
    }

    /// Empty for a single item, which has no order.
    fileprivate private(set) var places: [Place] = []

    /// Sorts the items of a request.
    ///
    /// O(n log n).
    package init(_ items: [ConsultedItem]) {
        self.init(items.indices, of: items)
    }

    fileprivate init(_ indexes: some Collection<Int>, of items: [ConsultedItem]) {
        if indexes.count < 2 { return }
        if let zone = items.first?.zone, items.allSatisfy({ $0.zone == zone }) {
            let indexes = Array(indexes)
            let slots = indexes.map { items[$0].slot.rawValue }
            places = AscendingOrder.indexes(of: slots).map { place in
                Place(slot: slots[place], zone: zone, index: indexes[place])
            }
            return
        }
        places = indexes.map { index in
            Place(slot: items[index].slot.rawValue, zone: items[index].zone, index: index)
        }
        places.sort { first, second in
            if first.zone != second.zone { return first.zone < second.zone }
            return first.slot == second.slot
                ? first.index < second.index : first.slot < second.slot
        }
    }

    /// True if two items have the same slot.
    fileprivate var hasEqualSlots: Bool {
        zip(places, places.dropFirst()).contains { $0.isSameSlot(as: $1) }
    }

    /// Returns the index of an item that names the same record as an earlier item; `nil` if all
    /// differ.
    package func firstRepetition(in items: [ConsultedItem]) -> Int? {
        var repetition: Int?
        for position in places.indices.dropFirst() {
            // Names with one slot are adjacent; there are hardly ever two.
            var earlier = position - 1
            while earlier >= 0, places[earlier].isSameSlot(as: places[position]) {
                let index = places[position].index
                if items[places[earlier].index].name == items[index].name {
                    repetition = min(repetition ?? .max, index)
                }
                earlier -= 1
            }
        }
        return repetition
    }
}

extension Facts {
    /// Looks one record up in a zone that was looked up before.
    package func item(
        named name: Name,
        in zones: ConsultedZones,
        at zone: Int = 0
    ) throws(SyncError) -> ConsultedItem {
        let item = ConsultedItem(name: name, zone: zone, slot: hash.slot(ofName: name))
        return try ConsultedItems([item], in: zones, self).items[0]
    }
}
