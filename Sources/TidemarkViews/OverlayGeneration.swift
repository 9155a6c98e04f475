// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// What happened to the zones in one stretch of the log, held in memory until a checkpoint has
/// taken it into the view index.
///
/// A store has one generation that grows, and one that is frozen while its checkpoint is written.
/// Every version of a record in the stretch is kept, chained from new to old, so that a reader
/// finds what was the newest at its own bound while later versions are already there, durable or
/// not.
///
/// Unchecked: the growing generation is only touched under the engine's lock; a frozen one is
/// never changed again.
package final class OverlayGeneration: @unchecked Sendable {
    /// One event of a record.
    package typealias Entry = SlotChains.Entry

    // What guards this class is said above; checking it again at every access costs a third of a
    // replay.
    @exclusivity(unchecked) private var chains: SlotChains
    /// What happened per zone, in the order in which the zones were first named.
    @exclusivity(unchecked) package private(set) var zones: [OverlayZone] = []
    @exclusivity(unchecked) private var zoneIndexes: [ZoneKey: Int] = [:]
    /// Indexes of zones that were asked for not long ago, by a few bits of their keys' hash: events
    /// of some zones come again and again, and a dictionary takes longer for each than the rest.
    @exclusivity(unchecked) private var recentZones = [UInt32](
        repeating: 0,
        count: 1 << OverlayGeneration.recentZoneBits
    )
    private static let recentZoneBits = 8
    /// Epochs of zones created here, by place in the table of zone names, ascending.
    private var zoneKeys: [ViewKey: [ZoneKey]] = [:]
    /// Zones created here, by the hash of their database, ascending.
    private var createdZones: [UInt64: [ZoneKey]] = [:]
    /// A zone that something happened to and that nothing tells the identity of: the log has lost its creation.
    package private(set) var strayZone: ZoneKey?
    /// The commits that answered requests.
    package private(set) var requests: [RequestKey: AnsweredRequest] = [:]
    /// The last compaction that began here.
    package private(set) var compaction: (run: CompactionRun, sequence: SequenceNumber)?
    /// How far tombstones of zones were forgotten here, and where that was said.
    package private(set) var horizons:
        [ZoneKey: (horizon: SequenceNumber, sequence: SequenceNumber)] = [:]
    /// Changes of records that wait until their places can be looked for together; none where
    /// versions are kept, since readers ask for those at any time.
    @exclusivity(unchecked) private var waiting: [SlotChange] = []
    private static let waitingLimit = 64
    /// Bytes of the payloads of all events.
    @exclusivity(unchecked) private var payloadByteCount = 0
    /// What happened to bindings between records.
    package private(set) var references = ReferenceChanges()
    /// What happened to the audiences of records.
    package private(set) var audiences = AudienceChanges()
    /// Position of the last event, of any kind.
    @exclusivity(unchecked) package private(set) var lastSequence: SequenceNumber = 0
    /// Position of the last event that began or ended a zone.
    package private(set) var lastZoneSequence: SequenceNumber = 0

    /// A generation without events, with room for some.
    ///
    /// One that does not keep versions can only be asked for the batch of a checkpoint: it is for
    /// replays, where nobody reads what is on the way into the index.
    package init(expectedEntryCount: Int = 512, keepsVersions: Bool = true) {
        chains = SlotChains(
            expectedEntryCount: expectedEntryCount,
            keepsVersions: keepsVersions
        )
    }

    /// The events of records, in order of their sequence numbers.
    package var entries: [Entry] { chains.entries }

    /// How many things it holds in memory: entries, zones, requests and changes of bindings and
    /// audiences.
    package var heldCount: Int {
        chains.entries.count + zones.count + requests.count + references.changes.count
            + audiences.changes.count + horizons.count
    }

    /// What the checkpoint policy counts: events of records, zones and requests; or, where that is
    /// more, each 512 bytes of payload, since an opening after a crash has to read them all.
    package var weight: Int {
        max(heldCount, payloadByteCount / 512)
    }

    /// Lends what happened to a zone here; `nil` if nothing did.
    ///
    /// Lent and not given, because a copy that outlives the lock would make the next append copy
    /// the zone's whole list.
    @inline(__always)
    package func withZone<Result>(_ key: ZoneKey, _ body: (OverlayZone) -> Result) -> Result? {
        guard let index = zoneIndexes[key] else { return nil }
        return body(zones[index])
    }

    /// The epochs of zones created here at one place of the table of zone names, ascending.
    package func zoneKeys(at place: ViewKey) -> [ZoneKey] {
        zoneKeys[place] ?? []
    }

    /// The zones of a database that were created here, by the hash of the database, ascending.
    package func createdZones(of database: UInt64) -> [ZoneKey] {
        createdZones[database] ?? []
    }

    /// The newest entry of a slot, durable or not.
    ///
    /// O(1).
    @inline(__always)
    package func newest(zone: ZoneKey, slot: Slot) -> Entry? {
        chains.newest(zone: zone, slot: slot)
    }

    /// The oldest entry of a slot.
    ///
    /// O(versions).
    package func first(zone: ZoneKey, slot: Slot) -> Entry? {
        guard var entry = newest(zone: zone, slot: slot) else { return nil }
        while entry.older != SlotChains.none { entry = chains.entries[Int(entry.older)] }
        return entry
    }

    /// The newest entry of a slot at or before a bound.
    ///
    /// O(versions after the bound).
    @inline(__always)
    package func newest(zone: ZoneKey, slot: Slot, through bound: SequenceNumber) -> Entry? {
        guard var entry = newest(zone: zone, slot: slot) else { return nil }
        while entry.sequence > bound {
            guard entry.older != SlotChains.none else { return nil }
            entry = chains.entries[Int(entry.older)]
        }
        return entry
    }

    /// Whether an entry of this generation was still its slot's newest here at a bound.
    @inline(__always)
    package func isNewest(_ entry: Entry, through bound: SequenceNumber) -> Bool {
        entry.newer == SlotChains.none || chains.entries[Int(entry.newer)].sequence > bound
    }
}

// MARK: - Applying

extension OverlayGeneration {
    /// Takes in what one event did to a record.
    ///
    /// Amortized O(1).
    @inline(__always)
    package func apply(_ change: SlotChange) {
        lastSequence = change.sequence
        if chains.keepsVersions { return takeIn(change) }
        waiting.append(change)
        if waiting.count == Self.waitingLimit { settle() }
    }

    /// Takes in the changes that wait.
    ///
    /// Their places are far apart in more memory than the processor's caches hold: asked for
    /// together, they come together.
    package func settle() {
        // Where none wait, others may be reading: a frozen generation is not touched.
        if waiting.isEmpty { return }
        chains.fetch(waiting)
        for change in waiting { takeIn(change) }
        waiting.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private func takeIn(_ change: SlotChange) {
        let count = chains.entries.count
        let index = chains.append(change)
        let zone = zoneIndex(change.zone)
        zones[zone].lastChange = change.sequence
        if change.isProbed { zones[zone].isProbed = true }
        if chains.entries.count > count { zones[zone].entries.append(index) }
    }

    /// Takes in what an event did to a binding.
    package func apply(_ change: ReferenceChange) {
        references.append(change)
    }

    /// Takes in what an event did for an audience: in its own list, and for the record.
    package func apply(_ slot: SlotChange, _ audience: AudienceChange) {
        apply(slot)
        audiences.append(audience)
    }

    /// Looks for a zone that was neither created here nor is in the index.
    ///
    /// O(zones).
    package func findStrayZone(beside index: some ViewSnapshot) throws(ViewIndexError) {
        for zone in zones where zone.creation == nil {
            guard try index.value(in: .zones, for: .zone(zone.key)) == nil else { continue }
            strayZone = zone.key
            return
        }
    }

    /// Takes in a zone's creation, whose position is the zone's key.
    package func apply(_ creation: ZoneCreation, key: ZoneKey) {
        zones[zoneIndex(key)].creation = creation
        zoneKeys[creation.place, default: []].append(key)
        createdZones[creation.place.high, default: []].append(key)
        lastSequence = key.creation
        lastZoneSequence = key.creation
    }

    /// Takes in a zone's end.
    package func applyDeletion(
        of zone: ZoneKey,
        at sequence: SequenceNumber,
        reason: ZoneDeletionReason
    ) {
        zones[zoneIndex(zone)].end = OverlayZone.End(sequence: sequence, reason: reason)
        lastSequence = sequence
        lastZoneSequence = sequence
    }

    /// Takes in an event that changes nothing.
    package func applyNothing(at sequence: SequenceNumber) {
        lastSequence = sequence
    }

    /// Counts the payloads of events that were taken in.
    @inline(__always)
    package func countPayloads(byteCount: Int) {
        payloadByteCount += byteCount
    }

    /// Takes in the request that a commit answered.
    package func apply(_ request: RequestKey, _ answered: AnsweredRequest) {
        requests[request] = answered
    }

    /// Takes in the beginning of a compaction.
    package func apply(_ run: CompactionRun, at sequence: SequenceNumber) {
        compaction = (run, sequence)
        lastSequence = sequence
        // Whoever has looked up what is forgotten now has to look again.
        lastZoneSequence = sequence
    }

    /// Takes in how far the tombstones of a zone are forgotten.
    package func applyHorizon(
        _ horizon: SequenceNumber,
        of zone: ZoneKey,
        at sequence: SequenceNumber
    ) {
        horizons[zone] = (horizon, sequence)
        lastSequence = sequence
        lastZoneSequence = sequence
    }

    @inline(__always)
    private func zoneIndex(_ key: ZoneKey) -> Int {
        let place = Int(
            (key.rawValue &* 0x9E37_79B9_7F4A_7C15) >> (64 - UInt64(Self.recentZoneBits))
        )
        let recent = Int(recentZones[place])
        if recent < zones.count, zones[recent].key == key { return recent }
        let index = zoneIndexes[key] ?? zones.count
        if index == zones.count {
            zoneIndexes[key] = index
            zones.append(OverlayZone(key: key))
        }
        recentZones[place] = UInt32(index)
        return index
    }
}
