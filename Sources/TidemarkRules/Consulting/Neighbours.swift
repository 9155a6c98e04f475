// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The records beside those that a request names: targets that it refers to, and what is bound to
/// the records that it deletes.
///
/// Each is looked up once.
package struct Neighbours {
    private let zones: ConsultedZones
    private let facts: any Facts
    private var records: [RecordPlace: ConsultedItem] = [:]
    private var sources: [RecordPlace: [(item: ConsultedItem, binding: Binding)]] = [:]
    /// The highest position that was looked at.
    package private(set) var lookedAt: SequenceNumber = 0
    /// Slots whose last event was looked at, each with its zone's key.
    package private(set) var slots: [ViewKey] = []
    /// Reference keys of records for which it matters that nothing more is bound to them.
    package private(set) var targets: [UInt64] = []

    package init(_ zones: ConsultedZones, _ facts: any Facts) {
        self.zones = zones
        self.facts = facts
    }

    /// The hashes of the store.
    package var hash: StoreHash { facts.hash }

    /// The last version of a record; `nil` if it is not there.
    package mutating func record(_ place: RecordPlace) throws(SyncError) -> StoredRecord? {
        try item(place)?.live
    }

    /// What is known about a record; `nil` if it was never there.
    package mutating func item(_ place: RecordPlace) throws(SyncError) -> ConsultedItem? {
        if let known = records[place] { return known.old == nil ? nil : known }
        let slot = hash.slot(ofName: place.name)
        let item = ConsultedItem(name: place.name, zone: place.zone, slot: slot)
        let found = try ConsultedItems([item], in: zones, facts)
        remember(found.items[0], found.lookedAt)
        return found.items[0].old == nil ? nil : found.items[0]
    }

    /// The records that the index says are bound to a target, at most `limit` of them: a few may
    /// be bound to another name with the same hash.
    package func referrers(
        of target: RecordPlace,
        limit: Int = .max
    ) throws(SyncError) -> [Referrer] {
        guard let zone = zones[target.zone].key else { return [] }
        return try facts.referrers(of: hash.target(target.name), in: zone, limit: limit)
    }

    /// The records that are bound to a target, and how: their bodies say so.
    ///
    /// One look-up and one read for each.
    package mutating func sources(
        of target: RecordPlace
    ) throws(SyncError) -> [(item: ConsultedItem, binding: Binding)] {
        if let known = sources[target] { return known }
        guard let zone = zones[target.zone].key else { return [] }
        targets.append(ReferenceChange.key(of: hash.target(target.name), in: zone))
        let slots = try referrers(of: target).map { ViewKey(zone: zone, slot: $0.slot) }
        let versions = try facts.versions(at: slots)
        let live = versions.compactMap { $0?.state == .live ? $0 : nil }
        let stored = try facts.records(at: live.map(\.sequence))
        var found: [(item: ConsultedItem, binding: Binding)] = []
        for (version, record) in zip(live, stored) {
            let body = try record.readBody()
            guard let binding = body.namedBindings[target.name] else { continue }
            var item = ConsultedItem(
                name: Name(body.recordName),
                zone: target.zone,
                slot: version.slot
            )
            item.probeCount = record.event.probeCount
            item.old = record
            remember(item, version.sequence)
            found.append((item, binding))
        }
        sources[target] = found
        return found
    }

    private mutating func remember(_ item: ConsultedItem, _ sequence: SequenceNumber) {
        records[RecordPlace(item)] = item
        lookedAt = max(lookedAt, sequence)
        if let zone = zones[item.zone].key { slots.append(ViewKey(zone: zone, slot: item.slot)) }
    }
}
