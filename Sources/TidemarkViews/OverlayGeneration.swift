// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The changes of zones in one stretch of the log, held in memory until a checkpoint has written
/// them to the view index.
///
/// A store has one growing generation, and one frozen generation while its checkpoint is written.
/// All versions of a record in the stretch are kept, linked from new to old, so that a reader finds
/// the newest version at its own bound even if later versions exist, durable or not.
///
/// Unchecked: the growing generation is only touched under the engine's lock; a frozen one is
/// never changed again.
package final class OverlayGeneration: @unchecked Sendable {
    /// One event of a record.
    package typealias Entry = SlotChains.Entry

    // The accesses are guarded as described above; checking them again at runtime costs a third of
    // a replay.
    @exclusivity(unchecked) private var chains: SlotChains
    /// The changes per zone, in the order in which the zones were first named.
    @exclusivity(unchecked) package private(set) var zones: [OverlayZone] = []
    @exclusivity(unchecked) private var zoneIndexes: [ZoneKey: Int] = [:]
    /// The indexes of recently used zones, by a few bits of their keys' hash.
    ///
    /// Events of some zones come again and again, and a dictionary lookup for each would take
    /// longer than the rest.
    @exclusivity(unchecked) private var recentZones = [UInt32](
        repeating: 0,
        count: 1 << OverlayGeneration.recentZoneBits
    )
    private static let recentZoneBits = 8
    /// Epochs of zones created here, by place in the table of zone names, ascending.
    private var zoneKeys: [ViewKey: [ZoneKey]] = [:]
    /// Zones created here, by the hash of their database, ascending.
    private var createdZones: [UInt64: [ZoneKey]] = [:]
    /// A changed zone of unknown identity: the log has lost its creation.
    package private(set) var strayZone: ZoneKey?
    /// The commits that answered requests.
    @exclusivity(unchecked) package private(set) var requests: [RequestKey: AnsweredRequest] = [:]
    /// The last compaction that began here.
    package private(set) var compaction: (run: CompactionRun, sequence: SequenceNumber)?
    /// The positions up to which tombstones of zones were dropped, each with the position of its
    /// event.
    @exclusivity(unchecked) package private(set) var horizons:
        [ZoneKey: (horizon: SequenceNumber, sequence: SequenceNumber)] = [:]
    /// Changes of records whose places will be looked up together; empty if versions are kept,
    /// since readers may need those at any time.
    @exclusivity(unchecked) private var waiting: [SlotChange] = []
    private static let waitingLimit = 64
    /// The size of the payloads of all events, in bytes.
    @exclusivity(unchecked) private var payloadByteCount = 0
    /// The changes of bindings between records.
    @exclusivity(unchecked) package private(set) var references = ReferenceChanges()
    /// The changes of the audiences of records.
    @exclusivity(unchecked) package private(set) var audiences = AudienceChanges()
    /// The position of the last event, of any kind.
    @exclusivity(unchecked) package private(set) var lastSequence: SequenceNumber = 0
    /// The position of the last event that began or ended a zone.
    @exclusivity(unchecked) package private(set) var lastZoneSequence: SequenceNumber = 0
    /// The position of the last event of a record whose slot is not its name's hash.
    @exclusivity(unchecked) package private(set) var lastProbedSequence: SequenceNumber = 0

    /// Creates an empty generation with reserved space.
    ///
    /// A generation without versions can only make the batch of a checkpoint: it is for replays,
    /// whose entries no reader needs before they are in the index.
    package init(expectedEntryCount: Int = 512, keepsVersions: Bool = true) {
        chains = SlotChains(expectedEntryCount: expectedEntryCount, keepsVersions: keepsVersions)
    }

    /// The events of records, in order of their sequence numbers.
    package var entries: [Entry] { chains.entries }

    /// The number of held objects: entries, zones, requests and changes of bindings and audiences.
    package var heldCount: Int {
        chains.entries.count + zones.count + requests.count + references.changes.count
            + audiences.changes.count + horizons.count
    }

    /// The weight for the checkpoint policy.
    ///
    /// This is the number of events of records, zones and requests, or the payload bytes divided by
    /// 512 if that is more, because an open after a crash has to read all payloads.
    package var weight: Int {
        max(heldCount, payloadByteCount / 512)
    }

    /// Calls a closure with the changes of a zone; returns `nil` if there are none.
    ///
    /// The value is borrowed: a copy that outlives the lock would make the next append copy the
    /// zone's whole list.
    @inline(__always)
    package func withZone<Result>(_ key: ZoneKey, _ body: (OverlayZone) -> Result) -> Result? {
        guard let index = index(of: key) else { return nil }
        return body(zones[index])
    }

    /// Returns the position of a zone's last event in this stretch at or before a bound, zero if
    /// there is none, and true if the stretch has its creation; `nil` if it has nothing of the zone.
    package func head(
        of key: ZoneKey,
        through bound: SequenceNumber
    ) -> (head: SequenceNumber, isCreated: Bool)? {
        guard let index = index(of: key) else { return nil }
        let isCreated = zones[index].isCreated
        // The usual case, read member by member: a zone that is passed to a function is copied.
        let last = zones[index].lastChange
        if zones[index].end == nil, last > 0, last <= bound { return (last, isCreated) }
        return (head(of: zones[index], through: bound), isCreated)
    }

    /// Returns the epochs of zones created here at one place of the table of zone names, ascending.
    package func zoneKeys(at place: ViewKey) -> [ZoneKey] {
        zoneKeys[place] ?? []
    }

    /// Returns the zones of a database that were created here, by the hash of the database,
    /// ascending.
    package func createdZones(of database: UInt64) -> [ZoneKey] {
        createdZones[database] ?? []
    }

    /// Prefetches the newest entries of some slots that are about to be looked up.
    func prefetch(_ slots: [ViewKey]) { chains.prefetch(slots) }

    /// Returns the newest entry of a slot, durable or not.
    ///
    /// O(1).
    @inline(__always)
    package func newest(zone: ZoneKey, slot: Slot) -> Entry? {
        chains.newest(zone: zone, slot: slot)
    }

    /// Returns the oldest entry of a slot.
    ///
    /// O(versions).
    package func first(zone: ZoneKey, slot: Slot) -> Entry? {
        guard var entry = newest(zone: zone, slot: slot) else { return nil }
        while entry.older != SlotChains.none { entry = chains.entries[Int(entry.older)] }
        return entry
    }

    /// Returns the newest entry of a slot at or before a bound.
    ///
    /// O(versions after the bound).
    @inline(__always)
    package func newest(zone: ZoneKey, slot: Slot, through bound: SequenceNumber) -> Entry? {
        guard var entry = newest(zone: zone, slot: slot) else { return nil }
        while entry.sequence > bound {
            // A picture ends at its bound although the generation grows. All versions of this slot
            // may be newer.
            guard entry.older != SlotChains.none else { return nil }
            entry = chains.entries[Int(entry.older)]
        }
        return entry
    }

    /// Returns true if an entry of this generation was its slot's newest here at a bound.
    @inline(__always)
    package func isNewest(_ entry: Entry, through bound: SequenceNumber) -> Bool {
        entry.newer == SlotChains.none || chains.entries[Int(entry.newer)].sequence > bound
    }
}

// MARK: - Applying

extension OverlayGeneration {
    /// Adds the change of one record by one event.
    ///
    /// Amortized O(1).
    @inline(__always)
    package func apply(_ change: SlotChange) {
        lastSequence = change.sequence
        if chains.keepsVersions { return takeIn(change) }
        waiting.append(change)
        if waiting.count == Self.waitingLimit { settle() }
    }

    /// Adds the waiting changes.
    ///
    /// Their places are spread over more memory than the processor's caches hold. Requested
    /// together, they are loaded in parallel.
    package func settle() {
        // If no changes wait, others may be reading: a frozen generation is not modified.
        if waiting.isEmpty { return }
        chains.prefetch(waiting.lazy.map { ViewKey(zone: $0.zone, slot: $0.slot) })
        for change in waiting { takeIn(change) }
        waiting.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private func takeIn(_ change: SlotChange) {
        let count = chains.entries.count
        let index = chains.append(change)
        let zone = zoneIndex(change.zone)
        zones[zone].lastChange = change.sequence
        if change.isProbed {
            zones[zone].isProbed = true
            lastProbedSequence = change.sequence
        }
        // Without versions, a later event of a record changes its entry, which the zone lists
        // already.
        if chains.entries.count > count { zones[zone].entries.append(index) }
    }

    /// Adds a change of a binding.
    package func apply(_ change: ReferenceChange) {
        references.append(change)
    }

    /// Adds a record's change to its audience, and the record's change of audience.
    package func apply(_ slot: SlotChange, _ audience: AudienceChange) {
        apply(slot)
        audiences.append(audience)
    }

    /// Searches for a zone that was not created here and is not in the index.
    ///
    /// O(zones).
    package func findStrayZone(beside index: some ViewSnapshot) throws(ViewIndexError) {
        for zone in zones where zone.creation == nil {
            guard try index.value(in: .zones, for: .zone(zone.key)) == nil else { continue }
            strayZone = zone.key
            return
        }
    }

    /// Adds a zone's creation, whose position is the zone's key.
    package func apply(_ creation: ZoneCreation, key: ZoneKey) {
        zones[zoneIndex(key)].creation = creation
        zoneKeys[creation.place, default: []].append(key)
        // The high word of a place is the key of the zone's database.
        createdZones[creation.place.high, default: []].append(key)
        lastSequence = key.creation
        lastZoneSequence = key.creation
    }

    /// Adds a zone's end.
    package func applyDeletion(
        of zone: ZoneKey,
        at sequence: SequenceNumber,
        reason: ZoneDeletionReason
    ) {
        zones[zoneIndex(zone)].end = OverlayZone.End(sequence: sequence, reason: reason)
        lastSequence = sequence
        lastZoneSequence = sequence
    }

    /// Adds an event without effect.
    package func applyNothing(at sequence: SequenceNumber) {
        lastSequence = sequence
    }

    /// Counts the payloads of added events.
    @inline(__always)
    package func countPayloads(byteCount: Int) {
        payloadByteCount += byteCount
    }

    /// Adds the request that a commit answered.
    package func apply(_ request: RequestKey, _ answered: AnsweredRequest) {
        requests[request] = answered
    }

    /// Adds the start of a compaction.
    package func apply(_ run: CompactionRun, at sequence: SequenceNumber) {
        compaction = (run, sequence)
        lastSequence = sequence
        // Lookups of entries that are now dropped have to be repeated.
        lastZoneSequence = sequence
    }

    /// Adds the position up to which a zone's tombstones are dropped.
    package func applyHorizon(
        _ horizon: SequenceNumber,
        of zone: ZoneKey,
        at sequence: SequenceNumber
    ) {
        horizons[zone] = (horizon, sequence)
        lastSequence = sequence
        lastZoneSequence = sequence
    }

    /// Returns the place of a zone in the table of recently used ones.
    @inline(__always)
    private func recentPlace(of key: ZoneKey) -> Int {
        Int((key.rawValue &* 0x9E37_79B9_7F4A_7C15) >> (64 - UInt64(Self.recentZoneBits)))
    }

    /// Returns the index of a zone; `nil` if the stretch has nothing of it.
    @inline(__always)
    private func index(of key: ZoneKey) -> Int? {
        // A place that was never used holds 0, which is a valid index. Only the key decides.
        let recent = Int(recentZones[recentPlace(of: key)])
        if recent < zones.count, zones[recent].key == key { return recent }
        return zoneIndexes[key]
    }

    /// Returns the index of a zone, which is added if the stretch has nothing of it.
    @inline(__always)
    private func zoneIndex(_ key: ZoneKey) -> Int {
        let place = recentPlace(of: key)
        let recent = Int(recentZones[place])
        if recent < zones.count, zones[recent].key == key { return recent }
        // A zone's index never changes, so both tables can keep it.
        let index = zoneIndexes[key] ?? zones.count
        if index == zones.count {
            zoneIndexes[key] = index
            zones.append(OverlayZone(key: key))
        }
        recentZones[place] = UInt32(index)
        return index
    }
}
