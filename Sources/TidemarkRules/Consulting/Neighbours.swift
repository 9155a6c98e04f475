// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The records related to those that a request names: targets of references, and records bound to
/// deleted records.
///
/// Each is looked up once.
struct Neighbours {
    private let zones: ConsultedZones
    private let facts: any Facts
    private var records: [RecordPlace: ConsultedItem] = [:]
    private var sources: [RecordPlace: [(item: ConsultedItem, binding: Binding)]] = [:]
    /// The highest position that the lookups read.
    private(set) var lookedAt: SequenceNumber = 0
    /// Slots whose last event was read, each with its zone's key.
    private(set) var slots: [ViewKey] = []
    /// Reference keys of records for which the decision depends on no new bindings.
    private(set) var targets: [UInt64] = []

    init(_ zones: ConsultedZones, _ facts: any Facts) {
        self.zones = zones
        self.facts = facts
    }

    /// The hashes of the store.
    var hash: StoreHash { facts.hash }

    /// Returns the body of a record; `nil` if the record does not exist.
    mutating func liveBody(of place: RecordPlace) throws(SyncError) -> RecordBody? {
        try item(place)?.liveBody
    }

    /// Returns the lookup of a record; `nil` if the record never existed.
    mutating func item(_ place: RecordPlace) throws(SyncError) -> ConsultedItem? {
        // A name that was looked up without success is remembered too, as an item without an event.
        if let known = records[place] { return known.old == nil ? nil : known }
        let slot = hash.slot(ofName: place.name)
        let item = ConsultedItem(name: place.name, zone: place.zone, slot: slot)
        let found = try ConsultedItems([item], in: zones, facts)
        remember(found.items[0], found.lookedAt)
        return found.items[0].old == nil ? nil : found.items[0]
    }

    /// Returns the number of records that the index lists as bound to a target by a kind of
    /// binding; a few may be bound to another name with the same hash.
    mutating func referrerCount(
        of target: RecordPlace,
        with binding: Binding
    ) throws(SyncError) -> Int {
        guard let zone = zones[target.zone].key else { return 0 }
        let key = hash.target(target.name)
        // The decision is invalid if another commit adds a binding to this target first.
        targets.append(ReferenceChange.key(of: key, in: zone))
        return try facts.referrerCount(of: key, in: zone, with: binding)
    }

    /// Returns the records that are bound to a target, each with its binding, as read from their
    /// bodies.
    ///
    /// One lookup and one read for each.
    mutating func sources(
        of target: RecordPlace
    ) throws(SyncError) -> [(item: ConsultedItem, binding: Binding)] {
        if let known = sources[target] { return known }
        guard let zone = zones[target.zone].key else { return [] }
        // Even if nothing is found: the decision is invalid if another commit adds a binding to
        // this target first.
        let key = hash.target(target.name)
        targets.append(ReferenceChange.key(of: key, in: zone))
        let referrers = try facts.referrers(of: key, in: zone)
        let slots = referrers.map { ViewKey(zone: zone, slot: $0.slot) }
        let versions = try facts.versions(at: slots)
        let live = versions.compactMap { $0?.state == .live ? $0 : nil }
        let stored = try facts.records(at: live.map(\.sequence))
        var found: [(item: ConsultedItem, binding: Binding)] = []
        for (version, record) in zip(live, stored) {
            let body = try record.readBody()
            // The index has a hash of the target's name. The body tells if it is this name.
            guard let binding = body.namedBindings[target.name] else { continue }
            var item = ConsultedItem(
                name: Name(body.recordName),
                zone: target.zone,
                slot: version.slot
            )
            item.probeCount = record.event.probeCount
            try item.take(record)
            remember(item, version.sequence)
            found.append((item, binding))
        }
        sources[target] = found
        return found
    }

    private mutating func remember(_ item: ConsultedItem, _ sequence: SequenceNumber) {
        records[RecordPlace(item)] = item
        lookedAt = max(lookedAt, sequence)
        // Also for missing records: the decision fails if another commit creates one first.
        if let zone = zones[item.zone].key { slots.append(ViewKey(zone: zone, slot: item.slot)) }
    }
}
