// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A commit that was decided and waits for its place in the log: its events as bytes, what they
/// will do to the views, and what the decision rests on.
///
/// Everything is relative to the commit's first position, which is not known yet.
package struct CommitPlan: Sendable {
    /// What one event does to the views.
    package enum Effect: Sendable {
        case record(SlotChange)
        /// Apart, so that it does not make room for itself in every record's effect.
        indirect case zoneCreated(ZoneCreation)
        case zoneDeleted(key: ZoneKey, ZoneDeletionReason)
        case tombstonesForgotten(zone: ZoneKey, horizon: SequenceNumber)
        case compactionBegun(CompactionRun)
        case nothing
    }

    /// The times of a record that are the commit's.
    private enum MovingTimes: UInt8 {
        case none
        case modified
        /// The record is new.
        case both
    }

    /// What goes into the log.
    package var draft: CommitDraft
    /// What each event does, in their order.
    package private(set) var effects: [Effect] = []
    /// Where the body of each saved record begins in the draft's payloads, by event; -1 elsewhere.
    package private(set) var bodyOffsets: [Int] = []
    /// Which times of each event's record move with the commit's.
    private var movingTimes: [MovingTimes] = []
    /// The key of the request that this answers.
    package var request: RequestKey?
    /// Whether the request is remembered for good.
    package var requestNeverExpires = false
    /// Whether it changes a zone that the store keeps for itself.
    package var changesSystemZone = false
    /// The assets that it may name anew; `nil` if it names none.
    package var assets: ConsultedAssets?
    /// The bound of the picture that this was decided on.
    package let bound: SequenceNumber
    /// Slots whose last event this rests on.
    package private(set) var consulted: [ViewKey] = []
    /// Reference keys that nothing more may have been bound under.
    package private(set) var consultedTargets: [UInt64] = []
    /// What happens to bindings, each with the index of its event.
    package private(set) var references: [(event: Int, change: ReferenceChange)] = []
    /// What happens in audiences, each with the index of its event, in the order of the events.
    package private(set) var audiences: [(event: Int, slot: SlotChange, audience: AudienceChange)] =
        []
    /// Where in the payloads the key of an audience lies that the commit begins.
    private var audienceKeyOffsets: [Int] = []
    /// Whether the plan rests on all there is.
    package var restsOnAll = false
    /// Whether the plan rests on the audiences that records have.
    package var restsOnAudiences = false
    private let hash: StoreHash
    /// The zones that the commit creates, by the index of their creation event.
    private var createdZones: [Int] = []

    package init(time: Int64, received: Int64, bound: SequenceNumber, hash: StoreHash) {
        draft = CommitDraft(time: time, received: received, envelope: [])
        self.bound = bound
        self.hash = hash
    }

    /// How many events there are.
    package var eventCount: Int { effects.count }

    /// What stands in an event's payload before its record's fields, where names are not long.
    static let usualHeaderByteCount = 128

    /// Makes room for events.
    package mutating func reserveCapacity(eventCount: Int, byteCount: Int) {
        draft.reserveCapacity(eventCount: eventCount, byteCount: byteCount)
        effects.reserveCapacity(eventCount)
        bodyOffsets.reserveCapacity(eventCount)
        movingTimes.reserveCapacity(eventCount)
        consulted.reserveCapacity(eventCount)
    }

    /// Stands for the key of the zone that the event with an index creates.
    ///
    /// A key is the position of the zone's creation, which the committer gives out. Positions are counted up
    /// from one and never come near the highest values, so those can stand for keys that are not known yet.
    /// `UInt64.max` itself is ``CommitDraft/ownSequence``: hence one less. A plan has fewer events than
    /// there are values from the lowest placeholder to the log's next position.
    private static func placeholder(_ eventIndex: Int) -> ZoneKey {
        ZoneKey(rawValue: .max - 1 - UInt64(eventIndex))
    }

    /// The index of the event that creates the zone which a key stands for in a plan of a number of
    /// events; `nil` for the key of a zone that is there.
    private static func creation(_ key: ZoneKey, eventCount: Int) -> Int? {
        key > placeholder(eventCount) ? Int(.max - 1 - key.rawValue) : nil
    }

    /// Adds a zone's creation, and returns what stands for the zone's key in this plan.
    package mutating func createZone(_ zone: ConsultedZone) -> ZoneKey {
        let index = effects.count
        draft.append(zone: CommitDraft.ownSequence) { payload in
            ZoneEvent.appendCreation(of: zone.identity, probeCount: zone.probeCount, to: &payload)
        }
        add(
            .zoneCreated(
                ZoneCreation(identity: zone.identity, place: zone.place, time: draft.time)
            )
        )
        createdZones.append(index)
        return Self.placeholder(index)
    }

    /// The zone that the plan creates and that something stands for; `nil` for a zone that is there.
    package func createdZone(_ zone: ZoneKey) -> ZoneIdentity? {
        for index in createdZones where Self.placeholder(index) == zone {
            if case .zoneCreated(let creation) = effects[index] { return creation.identity }
        }
        return nil
    }

    /// Adds a zone's end.
    package mutating func deleteZone(_ key: ZoneKey, _ reason: ZoneDeletionReason) {
        draft.append(zone: key) { ZoneEvent.appendDeletion(reason, to: &$0) }
        add(.zoneDeleted(key: key, reason))
    }

    /// Adds an event that changes nothing, to a plan that has no other.
    package mutating func noteRequest() {
        draft.append(zone: 0) { $0.append(contentsOf: [EventKind.requestNoted.rawValue, 0, 0, 0]) }
        add(.nothing)
    }

    /// Adds the beginning of a compaction, and how far it forgets the tombstones of zones.
    package mutating func compact(
        _ run: CompactionRun,
        horizons: [(zone: ZoneKey, horizon: SequenceNumber)]
    ) {
        draft.append(zone: 0) { run.append(to: &$0) }
        add(.compactionBegun(run))
        for (zone, horizon) in horizons {
            draft.append(zone: zone) { TombstoneHorizon.append(horizon, to: &$0) }
            add(.tombstonesForgotten(zone: zone, horizon: horizon))
        }
    }

    /// Adds a record's save over a version of it, or over nothing: then the record begins anew, even
    /// if its slot had events before.
    ///
    /// The version has been judged by the rules, which read its body.
    package mutating func save(
        _ item: ConsultedItem,
        over live: StoredRecord?,
        in zone: ZoneKey,
        _ save: RecordSave,
        _ author: Authorship,
        share: ShareLink = .unchanged,
        audience: AudiencePlace? = nil
    ) throws(SyncError) {
        let fields = try save.fields.asAsked
        let old = live?.bodyReadBefore
        let header = RecordHeader(
            recordName: item.name,
            recordType: Name(save.recordType),
            created: author,
            modified: author,
            parentName: save.parentName(over: old),
            shareName: share.name(over: old)
        )
        var event = RecordEvent(
            state: .live,
            policy: save.policy,
            probeCount: item.probeCount,
            previous: item.old?.sequence ?? 0,
            previousState: item.old?.event.state,
            held: item.held(save.changeTag)
        )
        event.isRecreation = live == nil && item.live != nil
        event.audience = audience
        let oldSequence = live?.sequence ?? 0
        var bodyOffset = 0
        // What the record was bound to ends also where it begins anew.
        let wasBound = item.old?.event.state == .live && item.old?.event.binds == true
        if wasBound || save.mayBind {
            let body = RecordBody(
                header,
                setting: fields,
                extent: save.policy.extent,
                over: old,
                of: oldSequence.rawValue
            )
            bind(&event, item, zone, from: wasBound ? try? item.live?.body() : nil, to: body)
            draft.append(zone: zone) { payload in
                event.append(to: &payload)
                bodyOffset = payload.count
                payload.append(contentsOf: body.bytes)
            }
        } else {
            draft.append(zone: zone) { payload in
                event.append(to: &payload)
                bodyOffset = payload.count
                RecordBody.append(
                    header,
                    setting: fields,
                    extent: save.policy.extent,
                    over: old,
                    of: oldSequence.rawValue,
                    to: &payload
                )
            }
        }
        let change = change(item, zone, .live)
        addAudience(event, change, bodyOffset: bodyOffset)
        add(.record(change), bodyOffset: bodyOffset, moving: old == nil ? .both : .modified)
    }

    /// Adds a record's new tag: the version that is there once more, at another position.
    package mutating func touch(
        _ item: ConsultedItem,
        in zone: ZoneKey,
        audience: AudiencePlace?
    ) throws(SyncError) {
        guard let live = item.live else { return }
        let body = try live.readBody().unchanged(of: live.sequence)
        var event = RecordEvent(
            state: .live,
            probeCount: item.probeCount,
            previous: live.sequence,
            previousState: .live
        )
        event.isTouch = true
        event.audience = audience
        if live.event.binds { bind(&event, item, zone, from: body, to: body) }
        var bodyOffset = 0
        draft.append(zone: zone) { payload in
            event.append(to: &payload)
            bodyOffset = payload.count
            payload.append(contentsOf: body.bytes)
        }
        let change = change(item, zone, .live)
        addAudience(event, change, bodyOffset: bodyOffset)
        add(.record(change), bodyOffset: bodyOffset)
    }

    /// Notes what the event that is added next does in its audience.
    private mutating func addAudience(
        _ event: RecordEvent,
        _ change: SlotChange,
        bodyOffset: Int
    ) {
        guard let (slot, audience) = event.audienceChange(change) else { return }
        noteKey(slot.zone, at: bodyOffset - RecordEvent.audienceKeyDistance)
        audiences.append((effects.count, slot, audience))
    }

    private mutating func noteKey(_ key: ZoneKey, at offset: Int) {
        if Self.creation(key, eventCount: effects.count) != nil {
            audienceKeyOffsets.append(offset)
        }
    }

    /// Shows a record to an audience, or takes it away from one, without changing the record.
    package mutating func move(_ item: ConsultedItem, in zone: ZoneKey, _ event: AudienceEvent) {
        var start = 0
        draft.append(zone: zone) { payload in
            start = payload.count
            event.append(to: &payload)
        }
        noteKey(event.place.key, at: start + AudienceEvent.keyOffset)
        let (slot, audience) = event.change(of: ViewKey(zone: zone, slot: item.slot), at: 0)
        audiences.append((effects.count, slot, audience))
        add(.nothing)
    }

    /// Says in the event that is added next what its record is bound to from there on, and what no
    /// longer.
    private mutating func bind(
        _ event: inout RecordEvent,
        _ item: ConsultedItem,
        _ zone: ZoneKey,
        from old: RecordBody?,
        to new: RecordBody?
    ) {
        let before = old?.bindings(hash) ?? []
        let after = new?.bindings(hash) ?? []
        event.binds = !after.isEmpty
        event.released = before.map(\.target).filter { target in
            !after.contains { $0.target == target }
        }
        for (target, binding) in event.released.map({ ($0, Binding()) }) + after {
            let change = ReferenceChange(
                zone: zone,
                target: target,
                source: item.slot,
                binding: binding
            )
            references.append((effects.count, change))
        }
    }

    /// Adds a record's deletion, which keeps the type that the record had.
    package mutating func delete(
        _ item: ConsultedItem,
        in zone: ZoneKey,
        type: some Collection<UInt8>,
        holding tag: RecordChangeTag?,
        audience: AudiencePlace? = nil
    ) {
        var event = RecordEvent(
            state: .tombstone,
            probeCount: item.probeCount,
            previous: item.old?.sequence ?? 0,
            previousState: item.old?.event.state,
            held: item.held(tag)
        )
        if let live = item.live, live.event.binds {
            bind(&event, item, zone, from: try? live.body(), to: nil)
        }
        event.audience = audience
        var bodyOffset = 0
        draft.append(zone: zone) { payload in
            event.append(to: &payload)
            bodyOffset = payload.count
            item.name.withBytes { name in
                RecordEvent.appendTombstone(name: name, type: type, to: &payload)
            }
        }
        let change = change(item, zone, .tombstone)
        addAudience(event, change, bodyOffset: bodyOffset)
        add(.record(change))
    }

    /// Says that the plan rests on an item's slot, also where the item has no event.
    package mutating func restsOn(_ slot: Slot, in zone: ZoneKey?) {
        if let zone { consulted.append(ViewKey(zone: zone, slot: slot)) }
    }

    /// Says that the plan rests on what was found beside the records that are changed.
    package mutating func restsOn(_ neighbours: Neighbours) {
        consulted += neighbours.slots
        consultedTargets += neighbours.targets
    }

    private func change(
        _ item: ConsultedItem,
        _ zone: ZoneKey,
        _ state: RecordState
    ) -> SlotChange {
        SlotChange(
            zone: zone,
            slot: item.slot,
            previous: item.old?.sequence ?? 0,
            state: state,
            previousState: item.old?.event.state,
            isProbed: item.probeCount > 0
        )
    }

    private mutating func add(
        _ effect: Effect,
        bodyOffset: Int = -1,
        moving times: MovingTimes = .none
    ) {
        effects.append(effect)
        bodyOffsets.append(bodyOffset)
        movingTimes.append(times)
    }
}

// MARK: - At the serialization point

extension CommitPlan {
    /// Raises the commit's time, in the bodies of its records too.
    package mutating func raiseTime(to time: Int64) {
        draft.time = time
        draft.envelope[CommitEnvelope.flagsOffset] |= CommitEnvelope.Flag.timeRaised
        let offsets = bodyOffsets
        let movingTimes = movingTimes
        draft.patchPayloads { bytes in
            for (offset, times) in zip(offsets, movingTimes) where times != .none {
                bytes.storeBytes(
                    of: time.littleEndian,
                    toByteOffset: offset + RecordBody.modifiedTimeOffset,
                    as: Int64.self
                )
                if times == .both {
                    bytes.storeBytes(
                        of: time.littleEndian,
                        toByteOffset: offset + RecordBody.createdTimeOffset,
                        as: Int64.self
                    )
                }
            }
        }
    }

    /// Puts real positions in the place of relative ones, now that the first is known.
    ///
    /// Once: a second call would take positions for placeholders or leave the first ones.
    package mutating func place(at first: SequenceNumber) {
        precondition(
            first < Self.placeholder(effects.count).creation,
            "a position could be taken for a placeholder of a zone's key"
        )
        for index in createdZones {
            draft.replaceZone(Self.placeholder(index), with: ZoneKey(createdAt: first + index))
        }
        for index in effects.indices {
            switch effects[index] {
            case .record(var change):
                change.sequence = first + index
                change.zone = placed(change.zone, at: first)
                effects[index] = .record(change)
            case .zoneCreated(var creation):
                creation.time = draft.time
                effects[index] = .zoneCreated(creation)
            case .zoneDeleted(let key, let reason):
                effects[index] = .zoneDeleted(key: placed(key, at: first), reason)
            case .tombstonesForgotten, .compactionBegun, .nothing:
                break
            }
        }
        for index in references.indices {
            references[index].change.sequence = first + references[index].event
            references[index].change.zone = placed(references[index].change.zone, at: first)
        }
        placeAudiences(at: first)
    }

    private mutating func placeAudiences(at first: SequenceNumber) {
        for index in audiences.indices {
            let sequence = first + audiences[index].event
            audiences[index].slot.sequence = sequence
            audiences[index].slot.zone = placed(audiences[index].slot.zone, at: first)
            audiences[index].audience.sequence = sequence
            let record = audiences[index].audience.record
            audiences[index].audience.record = ViewKey(
                zone: placed(record.zone, at: first),
                slot: record.slot
            )
            audiences[index].audience.audience = placed(
                audiences[index].audience.audience,
                at: first
            )
        }
        let offsets = audienceKeyOffsets
        let eventCount = effects.count
        if offsets.isEmpty { return }
        draft.patchPayloads { bytes in
            for offset in offsets {
                let key = ZoneKey(rawValue: bytes.bytes.integer(at: offset))
                guard let index = Self.creation(key, eventCount: eventCount) else { continue }
                bytes.storeBytes(
                    of: (first + index).rawValue.littleEndian,
                    toByteOffset: offset,
                    as: UInt64.self
                )
            }
        }
    }

    /// A zone's key, where what stands for it is the place of its creation in this commit.
    private func placed(_ zone: ZoneKey, at first: SequenceNumber) -> ZoneKey {
        Self.creation(zone, eventCount: effects.count).map { ZoneKey(createdAt: first + $0) }
            ?? zone
    }
}

/// What a save means for the share that its record is the root of.
package enum ShareLink: Hashable, Sendable {
    /// It stays.
    case unchanged
    /// The record is the root of the share with this name.
    case set(Name)
    /// The record is the root of no share.
    case removed

    /// The share's name once the record is saved over a version.
    package func name(over old: RecordBody?) -> Name? {
        switch self {
        case .unchanged: old?.shareName.map { Name($0) }
        case .set(let name): name
        case .removed: nil
        }
    }
}

extension ConsultedItem {
    /// What is kept of the tag that came with the item.
    fileprivate func held(_ tag: RecordChangeTag?) -> RecordEvent.HeldVersion {
        guard let tag, let content = TagContent(tag) else { return .none }
        return content.sequence == old?.sequence ? .previous : .other(content)
    }
}
