// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// Facts in dictionaries: a store without files, log or views.
struct StatedFacts: Facts {
    let hash: StoreHash
    private(set) var bound = SequenceNumber.zero
    private var epochs: [ZoneIdentity: ZoneEpoch] = [:]
    private var ends: [ZoneKey: ZoneDeletionReason] = [:]
    private var newest: [ViewKey: RecordVersion] = [:]
    private var events: [SequenceNumber: StoredRecord] = [:]
    private var bindings: [ViewKey: (zone: ZoneKey, binding: Binding)] = [:]

    /// An empty store, whose names have as many hashes as a mask lets through.
    init(slotMask: UInt64 = .max) {
        hash = StoreHash(store: StoreID(low: 1, high: 2), slotMask: slotMask)
    }

    /// Takes in what a plan does, as the log and the views do when it is committed.
    mutating func commit(_ plan: CommitPlan) throws {
        var plan = plan
        let first = bound.next
        plan.place(at: first)
        var start = 0
        for (index, planned) in plan.events.enumerated() {
            let event = plan.draft.events[index]
            bound = first + index
            let payload = plan.draft.payloads[start..<event.payloadEnd]
            start = event.payloadEnd
            switch planned.effect {
            case .record(let change):
                let version = RecordVersion(slot: change.slot, sequence: bound, state: change.state)
                newest[ViewKey(zone: change.zone, slot: change.slot)] = version
                events[bound] = try StoredRecord(bound, zone: change.zone, payload)
            case .zoneCreated(let creation):
                epochs[creation.identity] = ZoneEpoch(
                    key: ZoneKey(createdAt: bound),
                    end: nil,
                    place: creation.place,
                    probeCount: 0
                )
            case .zoneDeleted(let key, let reason):
                ends[key] = reason
                for (identity, epoch) in epochs where epoch.key == key {
                    epochs[identity]?.end = bound
                }
            case .tombstonesForgotten, .compactionBegun, .nothing:
                break
            }
        }
        for (_, change) in plan.references {
            bindings[change.key] = change.binding.isEmpty ? nil : (change.zone, change.binding)
        }
    }

    /// Makes the creator's name in a saved record longer than the record.
    mutating func damageBody(at sequence: SequenceNumber) {
        guard var record = events[sequence] else { return }
        // The length of the name (Docs/formats/record.md, "Header and texts").
        let place = record.payload.startIndex + record.bodyOffset + 6
        record.payload[place] = 0xFF
        record.payload[place + 1] = 0xFF
        events[sequence] = record
    }

    // MARK: Facts

    func epoch(of zone: ZoneIdentity) -> ZoneEpoch {
        let place = ViewKey(
            hash.key(of: zone.database),
            hash.slot(ofZone: zone.zoneName.string).rawValue
        )
        return epochs[zone] ?? ZoneEpoch(key: nil, end: nil, place: place, probeCount: 0)
    }

    func endReason(of zone: ZoneKey) -> ZoneDeletionReason? { ends[zone] }

    func zones(of database: DatabaseID) -> [LivingZone] {
        epochs.compactMap { identity, epoch in
            guard identity.database == database, epoch.end == nil, let key = epoch.key else {
                return nil
            }
            return LivingZone(key: key, identity: identity)
        }
    }

    func versions(at slots: [ViewKey]) -> [RecordVersion?] { slots.map { newest[$0] } }

    func version(at slot: ViewKey) -> RecordVersion? { newest[slot] }

    func liveVersions(in zone: ZoneKey) -> [RecordVersion] {
        newest.filter { $0.key.zone == zone && $0.value.state == .live }.map(\.value)
            .sorted { $0.sequence < $1.sequence }
    }

    func records(at sequences: [SequenceNumber]) throws(SyncError) -> [StoredRecord] {
        try sequences.map { (sequence) throws(SyncError) in
            guard let event = events[sequence] else {
                throw SyncError(.internalError, "Nothing is stated at \(sequence).")
            }
            return event
        }
    }

    func referrers(of target: UInt64, in zone: ZoneKey) -> [Referrer] {
        let key = ReferenceChange.key(of: target, in: zone)
        return bindings.filter { $0.key.high == key && $0.value.zone == zone }
            .map { Referrer(slot: $0.key.slot, binding: $0.value.binding) }
            .sorted { $0.slot < $1.slot }
    }

    func referrerCount(of target: UInt64, in zone: ZoneKey, with binding: Binding) -> Int {
        referrers(of: target, in: zone).count { $0.binding.contains(binding) }
    }

    func audience(of record: ViewKey) -> ZoneKey? { nil }
}
