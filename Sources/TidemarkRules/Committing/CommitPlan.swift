// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A commit that was decided and waits for its place in the log: its events as bytes, their effects
/// on the views, and the state that the decision depends on.
///
/// All positions are relative to the commit's first position, which is not known yet.
package struct CommitPlan: Sendable {
    /// The effect of one event on the views.
    package enum Effect: Sendable {
        case record(SlotChange)
        /// Indirect, so that it does not enlarge every record's effect.
        indirect case zoneCreated(ZoneCreation)
        case zoneDeleted(key: ZoneKey, ZoneDeletionReason)
        case tombstonesForgotten(zone: ZoneKey, horizon: SequenceNumber)
        case compactionBegun(CompactionRun)
        case nothing
    }

    /// The times of a record that change with the commit's time.
    fileprivate enum MovingTimes: UInt8 {
        case none
        case modified
        /// The record is new.
        case both
    }

    /// An event of the draft, in the same order.
    package struct Event: Sendable {
        /// Its effect on the views.
        package var effect: Effect
        /// The offset of the saved record's body in the draft's payloads; -1 for other events.
        package let bodyOffset: Int
        /// The times of its record that change with the commit's time.
        fileprivate let movingTimes: MovingTimes
    }

    /// The commit that is appended to the log.
    package var draft: CommitDraft
    /// The effect and the body of each event, in event order.
    package private(set) var events: [Event] = []
    /// The key of the request that this commit belongs to.
    package var request: RequestKey?
    /// True if the request is remembered permanently.
    package var requestNeverExpires = false
    /// True if the commit changes a system zone.
    package var changesSystemZone = false
    /// The assets that the commit may newly refer to; `nil` if there are none.
    package var assets: ConsultedAssets?
    /// The bound of the state that the decision was based on.
    package let bound: SequenceNumber
    /// Slots whose last event the decision depends on.
    package private(set) var consulted: [ViewKey] = []
    /// Reference keys for which the decision depends on no new bindings.
    package private(set) var consultedTargets: [UInt64] = []
    /// The changes of bindings, each with the index of its event.
    package private(set) var references: [(event: Int, change: ReferenceChange)] = []
    /// The changes of audiences, each with the index of its event, in event order.
    package private(set) var audiences: [(event: Int, slot: SlotChange, audience: AudienceChange)] =
        []
    /// The offsets in the payloads of the keys of audiences that the commit begins.
    private var audienceKeyOffsets: [Int] = []
    /// True for a compaction: of all later commits, only those that gave a record a slot other than its
    /// name's hash make the decision wrong.
    package var restsOnHashedSlots = false
    /// True if the decision depends on the audiences of records.
    package var restsOnAudiences = false
    private let hash: StoreHash
    /// The zones that the commit creates, by the index of their creation event.
    private var createdZones: [Int] = []

    package init(time: Int64, received: Int64, bound: SequenceNumber, hash: StoreHash) {
        draft = CommitDraft(time: time, received: received, envelope: [])
        self.bound = bound
        self.hash = hash
    }

    /// Begins the plan of a decision that is made at a time, and received then.
    package init(over facts: any Facts, time: Int64) {
        self.init(time: time, received: time, bound: facts.bound, hash: facts.hash)
    }

    /// The number of events in the commit.
    package var eventCount: Int { events.count }

    /// The usual size of an event's payload before its record's fields, unless names are long.
    static let usualHeaderByteCount = 128

    /// Makes room for events.
    package mutating func reserveCapacity(eventCount: Int, byteCount: Int) {
        draft.reserveCapacity(eventCount: eventCount, byteCount: byteCount)
        events.reserveCapacity(eventCount)
        consulted.reserveCapacity(eventCount)
    }

    /// Removes the events of a plan that so far only saves records, bound to none.
    mutating func removeEvents() {
        draft.removeEvents()
        events.removeAll(keepingCapacity: true)
    }

    /// Returns the placeholder for the key of the zone that the event with an index creates.
    ///
    /// A key is the position of the zone's creation, which the committer assigns. Positions count
    /// up from one and never come near the highest values, so those can be placeholders.
    /// `UInt64.max` itself is ``CommitDraft/ownSequence``: hence one less. A plan has fewer events
    /// than there are values from the lowest placeholder to the log's next position.
    private static func placeholder(_ eventIndex: Int) -> ZoneKey {
        ZoneKey(rawValue: .max - 1 - UInt64(eventIndex))
    }

    /// Returns the index of the event that creates the zone of a placeholder; `nil` for the key of
    /// an existing zone.
    private static func creation(_ key: ZoneKey, eventCount: Int) -> Int? {
        key > placeholder(eventCount) ? Int(.max - 1 - key.rawValue) : nil
    }

    /// Adds a zone's creation, and returns the placeholder for the zone's key in this plan.
    package mutating func createZone(_ zone: ConsultedZone) -> ZoneKey {
        let index = events.count
        draft.append(zone: CommitDraft.ownSequence) { payload in
            ZoneEvent.appendCreation(of: zone.identity, probeCount: zone.probeCount, to: &payload)
        }
        add(
            .zoneCreated(ZoneCreation(identity: zone.identity, place: zone.place, time: draft.time))
        )
        createdZones.append(index)
        return Self.placeholder(index)
    }

    /// Returns the zone that the plan creates for a placeholder; `nil` for an existing zone.
    package func createdZone(_ zone: ZoneKey) -> ZoneIdentity? {
        for index in createdZones where Self.placeholder(index) == zone {
            if case .zoneCreated(let creation) = events[index].effect { return creation.identity }
        }
        return nil
    }

    /// Adds a zone's deletion.
    package mutating func deleteZone(_ key: ZoneKey, _ reason: ZoneDeletionReason) {
        draft.append(zone: key) { ZoneEvent.appendDeletion(reason, to: &$0) }
        add(.zoneDeleted(key: key, reason))
    }

    /// Adds an event without effect to a plan that has no other event.
    package mutating func noteRequest() {
        draft.append(zone: 0) { $0.append(contentsOf: [EventKind.requestNoted.rawValue, 0, 0, 0]) }
        add(.nothing)
    }

    /// Adds the start of a compaction, with the limits up to which the tombstones of zones are
    /// dropped.
    package mutating func compact(
        _ run: CompactionRun,
        horizons: [(zone: ZoneKey, horizon: SequenceNumber)]
    ) {
        // The format fixes this order: the start of the compaction comes first, and its horizons
        // follow (events.md, "Compaction begun").
        draft.append(zone: 0) { run.append(to: &$0) }
        add(.compactionBegun(run))
        for (zone, horizon) in horizons {
            draft.append(zone: zone) { TombstoneHorizon.append(horizon, to: &$0) }
            add(.tombstonesForgotten(zone: zone, horizon: horizon))
        }
    }

    /// Adds a record's save that replaces the live version of it, or with `anew` begins the record
    /// without data of that version.
    ///
    /// The caller has applied the rules to the version, whose body they read.
    package mutating func save(
        _ item: ConsultedItem,
        anew: Bool = false,
        in zone: ZoneKey,
        _ save: RecordSave,
        _ author: BodyAuthor,
        share: ShareLink = .unchanged,
        audience: AudiencePlace? = nil
    ) throws(SyncError) {
        try self.save(
            [item],
            anew: anew,
            in: zone,
            [save],
            at: 0,
            author,
            share: share,
            audience: audience
        )
    }

    /// Does the same with one of several items and its save, which are read member by member: a copy of
    /// a save retains ten texts.
    package mutating func save(
        _ items: [ConsultedItem],
        anew: Bool = false,
        in zone: ZoneKey,
        _ saves: [RecordSave],
        at index: Int,
        _ author: BodyAuthor,
        share: ShareLink = .unchanged,
        audience: AudiencePlace? = nil
    ) throws(SyncError) {
        let fields =
            try saves[index].fields.mayHave(.stamps)
            ? saves[index].fields.asAsked : saves[index].fields
        let policy = saves[index].policy
        let place = items[index].place
        let isNew = anew || !items[index].isLive
        // For `encode`: an optional body that it captured would be destroyed by the runtime.
        let oldBytes = items[index].liveBytes
        let old: RecordBody? = isNew ? nil : RecordBody(sound: oldBytes)
        let (name, type) = (items[index].name, saves[index].typeName)
        let parentName = saves[index].parent.name(over: old)
        let shareName = share.name(over: old)
        func encode(to bytes: inout [UInt8]) {
            RecordBody.append(
                named: name,
                type: type,
                created: author,
                modified: author,
                parentName: parentName,
                shareName: shareName,
                setting: fields,
                extent: policy.extent,
                over: isNew ? nil : RecordBody(sound: oldBytes),
                of: isNew ? 0 : place.previous.rawValue,
                to: &bytes
            )
        }
        var event = place.event(.live, by: policy, holding: saves[index].changeTag)
        event.isRecreation = anew && place.previousState == .live
        event.audience = audience
        // The event's header precedes the body and depends on the body's bindings, so here the body
        // is made first. Other saves write it into the draft directly, without a copy.
        var bound: [UInt8] = []
        if place.wasBound || saves[index].parent.isSet || fields.bind {
            bound.reserveCapacity(fields.bytes.count + Self.usualHeaderByteCount)
            encode(to: &bound)
            // The old bindings also end if the record begins anew.
            let replaced = place.wasBound ? items[index].liveBody : nil
            let body = RecordBody(sound: bound[...])
            let count = bind(&event, place.slot, zone, from: replaced, to: body)
            guard count <= RecordEvent.releasedLimit else {
                throw .tooManyBindings(
                    saves[index].recordID,
                    count,
                    limit: RecordEvent.releasedLimit
                )
            }
        }
        // Constants, because a closure copies a variable whose method it calls.
        let (saved, body) = (event, bound)
        var bodyOffset = 0
        draft.append(zone: zone) { payload in
            saved.append(to: &payload)
            bodyOffset = payload.count
            if body.isEmpty { encode(to: &payload) } else { payload.append(contentsOf: body) }
        }
        let change = place.change(in: zone, .live)
        if audience != nil { addAudience(saved, change, bodyOffset: bodyOffset) }
        add(.record(change), bodyOffset: bodyOffset, moving: isNew ? .both : .modified)
    }

    /// Adds an event that gives a record a new tag: the existing version again, at another
    /// position.
    package mutating func touch(
        _ item: ConsultedItem,
        in zone: ZoneKey,
        audience: AudiencePlace?
    ) throws(SyncError) {
        guard let body = item.liveBody?.unchanged(of: item.previous) else { return }
        var event = RecordEvent(
            state: .live,
            probeCount: item.probeCount,
            previous: item.previous,
            previousState: .live
        )
        event.isTouch = true
        event.audience = audience
        if item.wasBound { bind(&event, item.slot, zone, from: body, to: body) }
        var bodyOffset = 0
        draft.append(zone: zone) { payload in
            event.append(to: &payload)
            bodyOffset = payload.count
            payload.append(contentsOf: body.bytes)
        }
        // No moving times below: a touch keeps the times of the version.
        let change = item.place.change(in: zone, .live)
        addAudience(event, change, bodyOffset: bodyOffset)
        add(.record(change), bodyOffset: bodyOffset)
    }

    /// Records the effect of the next event on its audience.
    private mutating func addAudience(_ event: RecordEvent, _ change: SlotChange, bodyOffset: Int) {
        guard let (slot, audience) = event.audienceChange(change) else { return }
        noteKey(slot.zone, at: bodyOffset - RecordEvent.audienceKeyDistance)
        audiences.append((events.count, slot, audience))
    }

    private mutating func noteKey(_ key: ZoneKey, at offset: Int) {
        if Self.creation(key, eventCount: events.count) != nil {
            // The bytes already have the placeholder. `placeAudiences` replaces it there.
            audienceKeyOffsets.append(offset)
        }
    }

    /// Adds an event that shows a record to an audience, or hides it from one, without changing the
    /// record.
    package mutating func move(_ item: ConsultedItem, in zone: ZoneKey, _ event: AudienceEvent) {
        var start = 0
        draft.append(zone: zone) { payload in
            start = payload.count
            event.append(to: &payload)
        }
        noteKey(event.place.key, at: start + AudienceEvent.keyOffset)
        // `placeAudiences` sets the position later.
        let (slot, audience) = event.change(of: ViewKey(zone: zone, slot: item.slot), at: 0)
        audiences.append((events.count, slot, audience))
        add(.nothing)
    }

    /// Writes into the next event the bindings that its record begins and ends; returns the number
    /// of records that it is bound to.
    @discardableResult
    private mutating func bind(
        _ event: inout RecordEvent,
        _ slot: Slot,
        _ zone: ZoneKey,
        from old: RecordBody?,
        to new: RecordBody?
    ) -> Int {
        let before = old?.bindings(hash) ?? []
        let after = new?.bindings(hash) ?? []
        event.binds = !after.isEmpty
        if !before.isEmpty {
            // A set, because a record may have thousands of references.
            let kept = Set(after.map(\.target))
            event.released = before.map(\.target).filter { !kept.contains($0) }
        }
        // Bindings that stay are written too, since their kind may have changed.
        for (target, binding) in event.released.map({ ($0, Binding()) }) + after {
            let change = ReferenceChange(
                zone: zone,
                target: target,
                source: slot,
                binding: binding
            )
            // The index of the event that is being built: it is added after its bindings.
            references.append((events.count, change))
        }
        return after.count
    }

    /// Adds a record's deletion, which keeps the record's type.
    package mutating func delete(
        _ item: ConsultedItem,
        in zone: ZoneKey,
        type: some Collection<UInt8>,
        holding tag: RecordChangeTag?,
        audience: AudiencePlace? = nil
    ) {
        var event = item.place.event(.tombstone, holding: tag)
        if item.wasBound { bind(&event, item.slot, zone, from: item.liveBody, to: nil) }
        event.audience = audience
        var bodyOffset = 0
        draft.append(zone: zone) { payload in
            event.append(to: &payload)
            bodyOffset = payload.count
            item.name.withBytes { name in
                RecordEvent.appendTombstone(name: name, type: type, to: &payload)
            }
        }
        let change = item.place.change(in: zone, .tombstone)
        addAudience(event, change, bodyOffset: bodyOffset)
        add(.record(change))
    }

    /// Records that the plan depends on an item's slot, even if the item has no event.
    package mutating func restsOn(_ slot: Slot, in zone: ZoneKey?) {
        // Without a key, the commit creates the zone. If another commit does so first, the last
        // change of a zone shows the conflict.
        if let zone { consulted.append(ViewKey(zone: zone, slot: slot)) }
    }

    /// Records that the plan depends on the neighbors of the changed records.
    mutating func restsOn(_ neighbours: Neighbours) {
        consulted += neighbours.slots
        consultedTargets += neighbours.targets
    }

    private mutating func add(
        _ effect: Effect,
        bodyOffset: Int = -1,
        moving times: MovingTimes = .none
    ) {
        events.append(Event(effect: effect, bodyOffset: bodyOffset, movingTimes: times))
    }
}

// MARK: - At the serialization point

extension CommitPlan {
    /// Raises the commit's time, and the times in the bodies of its records.
    package mutating func raiseTime(to time: Int64) {
        draft.time = time
        // The envelope is encoded already, so the plan must be sealed before it is appended.
        draft.envelope[CommitEnvelope.flagsOffset] |= CommitEnvelope.Flag.timeRaised
        let events = events
        draft.patchPayloads { bytes in
            // Both times have fixed places in a body, so 8 bytes of each change and nothing is
            // encoded again (events.md, "Record saved").
            for event in events where event.movingTimes != .none {
                bytes.storeBytes(
                    of: time.littleEndian,
                    toByteOffset: event.bodyOffset + RecordBody.modifiedTimeOffset,
                    as: Int64.self
                )
                if event.movingTimes == .both {
                    bytes.storeBytes(
                        of: time.littleEndian,
                        toByteOffset: event.bodyOffset + RecordBody.createdTimeOffset,
                        as: Int64.self
                    )
                }
            }
        }
    }

    /// Replaces relative positions with real ones, once the first position is known.
    ///
    /// Must be called once: a second call would confuse positions with placeholders, or leave the
    /// old ones.
    package mutating func place(at first: SequenceNumber) {
        precondition(
            first < Self.placeholder(events.count).creation,
            "a position could be taken for a placeholder of a zone's key"
        )
        for index in createdZones {
            draft.replaceZone(Self.placeholder(index), with: ZoneKey(createdAt: first + index))
        }
        for index in events.indices {
            switch events[index].effect {
            case .record(var change):
                change.sequence = first + index
                change.zone = placed(change.zone, at: first)
                events[index].effect = .record(change)
            case .zoneCreated(var creation):
                // The committer may have raised the time after the decision.
                creation.time = draft.time
                events[index].effect = .zoneCreated(creation)
            case .zoneDeleted(let key, let reason):
                events[index].effect = .zoneDeleted(key: placed(key, at: first), reason)
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
        let eventCount = events.count
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

    /// Returns a zone's key; a placeholder becomes the position of the zone's creation in this
    /// commit.
    private func placed(_ zone: ZoneKey, at first: SequenceNumber) -> ZoneKey {
        Self.creation(zone, eventCount: events.count).map { ZoneKey(createdAt: first + $0) }
            ?? zone
    }
}

/// The effect of a save on the share that its record is the root of.
package enum ShareLink: Hashable, Sendable {
    /// The share stays.
    case unchanged
    /// The record is the root of the share with this name.
    case set(Name)
    /// The record is the root of no share.
    case removed

    /// Returns the share's name after the record's save replaces a version.
    package func name(over old: RecordBody?) -> Name? {
        switch self {
        case .unchanged: old?.shareName.map { Name($0) }
        case .set(let name): name
        case .removed: nil
        }
    }
}

extension ConsultedSlot {
    /// Returns the effect of the next event on the views.
    fileprivate func change(in zone: ZoneKey, _ state: RecordState) -> SlotChange {
        SlotChange(
            zone: zone,
            slot: slot,
            previous: previous,
            state: state,
            previousState: previousState,
            isProbed: probeCount > 0
        )
    }

    /// Returns the event that follows the record's last one, without its bindings and audience.
    fileprivate func event(
        _ state: RecordState,
        by policy: SavePolicy = .ifServerRecordUnchanged,
        holding tag: RecordChangeTag?
    ) -> RecordEvent {
        RecordEvent(
            state: state,
            policy: policy,
            probeCount: probeCount,
            previous: previous,
            previousState: previousState,
            held: held(tag)
        )
    }

    /// Returns the part of the item's tag that is stored.
    private func held(_ tag: RecordChangeTag?) -> RecordEvent.HeldVersion {
        guard let tag, let content = TagContent(tag) else { return .none }
        return previousState != nil && content.sequence == previous ? .previous : .other(content)
    }
}
