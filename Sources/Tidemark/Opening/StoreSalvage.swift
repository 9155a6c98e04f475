// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The parts of a damaged store that were copied.
package struct SalvagedStore: Sendable {
    /// The log.
    package let log: Salvage
    /// The bytes of assets.
    package let assets: BlobCopy
    /// The subject of a pending erasure, which the copy's next open for writing completes.
    package let erasing: ErasureSubject?
    private let erasureDamage: [LogError]

    init(_ log: Salvage, _ assets: BlobCopy, erasing: Result<ErasureSubject?, LogError>) {
        self.log = log
        self.assets = assets
        switch erasing {
        case .success(let subject):
            self.erasing = subject
            erasureDamage = []
        case .failure(let error):
            self.erasing = nil
            erasureDamage = [error]
        }
    }

    /// All that could not be read.
    package var damage: [LogError] { log.damage + assets.damage + erasureDamage }
}

extension Store {
    /// Copies all readable parts of a damaged store into a new one.
    ///
    /// Events keep their positions. A record's event names the one that it replaces; if that one is
    /// lost, the copy names the surviving event before it instead. A zone whose creation is lost is
    /// created again in its place, under its name in the views, or else as `salvaged-` and its key.
    /// The bytes of assets are copied if they are sound. The copy's next open for writing completes
    /// an interrupted erasure.
    ///
    /// Throws if there is nothing to read, or if the destination is not free or cannot be written.
    package static func salvage(
        from source: String,
        to destination: String,
        environment: StoreEnvironment = StoreEnvironment()
    ) throws(LogError) -> SalvagedStore {
        let erasing = Result { () throws(LogError) in
            try ErasureFiles(StoreFolder(source), environment).pending()
        }
        var assets = BlobCopy()
        // The copy is as private as the original: it holds the same data.
        let effects = try environment.log.permitting(asIn: StoreFolder(source))
        let log = try Salvage.run(
            from: source,
            to: destination,
            environment: effects,
            mending: RecordMending(StoreFolder(source), environment),
            complete: { () throws(LogError) in
                assets = try BlobCopy(
                    from: StoreFolder(source),
                    to: StoreFolder(destination),
                    effects.fileSystem
                )
                // Before the copy becomes a store. Otherwise a stop here would leave one that shows
                // what was to be erased, and has no record of the erasure.
                if case .success(let subject?) = erasing {
                    try ErasureFiles(StoreFolder(destination), environment).begin(subject)
                }
            }
        )
        return SalvagedStore(log, assets, erasing: erasing)
    }
}

/// Fixes the references of a damaged log's surviving events to lost events.
private final class RecordMending: SalvageMending {
    private let folder: StoreFolder
    private let environment: StoreEnvironment
    private var hash = StoreHash(store: StoreID(low: 0, high: 0))
    /// The views of the damaged store, if they can be read: they know the names of
    /// zones, and an event that the log had.
    private var views: (any ViewSnapshot)?
    /// The last surviving event of each record, in its zone and in each of its audiences.
    private var last: [ViewKey: (sequence: SequenceNumber, state: RecordState)] = [:]
    private var lost: [ClosedRange<SequenceNumber>] = []
    private var droppedThrough = SequenceNumber.zero
    /// The limits of the last compaction whose event survives.
    private var lastRun: CompactionRun?
    /// True if the event that began the last rewriting of segments survives: that of a compaction, or of
    /// an erasure, which drops no history.
    private var hasBeginning = false

    init(_ folder: StoreFolder, _ environment: StoreEnvironment) {
        self.folder = folder
        self.environment = environment
    }

    func begin(store: StoreID) {
        hash = StoreHash(store: store, slotMask: environment.slotMask)
        views = try? environment.openIndex(folder.views, .readingStill, store).snapshot()
    }

    func take(lost: [ClosedRange<SequenceNumber>], droppedThrough: SequenceNumber) {
        self.lost = lost
        self.droppedThrough = droppedThrough
    }

    var lastKnown: SequenceNumber { views?.checkpoint?.sequence ?? .zero }

    func amended(_ event: LogEvent) -> [UInt8]? {
        if event.sequence == droppedThrough.next { hasBeginning = true }
        switch event.kind {
        case .recordSaved, .recordDeleted, .recordTouched: return amendedRecord(event)
        case .audienceEntered, .audienceLeft: return amendedMove(event)
        case .compactionBegun:
            lastRun = (try? CompactionRun(event.payload.span.bytes)) ?? lastRun
            return nil
        default: return nil
        }
    }

    private func amendedRecord(_ event: LogEvent) -> [UInt8]? {
        let bytes = event.payload
        let payload = bytes.span.bytes
        guard
            let change = try? Fold(hash: hash).recordChange(
                event.sequence,
                zone: event.zone,
                payload
            ),
            let (old, bodyOffset) = try? RecordEvent.read(payload)
        else { return nil }
        var record = old
        // Events arrive in log order, so this is the nearest earlier one that survives.
        let previous = take(change.slot, in: change.zone, change.sequence, change.state)
        if !wasDropped(old.previous, previous?.sequence) {
            record.previous = previous?.sequence ?? 0
            record.previousState = previous?.state
            // The flag says that the commit deleted a live version first (events.md, "Record
            // saved"). Without a surviving live version there is none to delete.
            record.isRecreation = old.isRecreation && previous?.state == .live
            // The flag says that the client held the version that this event replaced. It is not
            // known if the client held the version that now takes its place.
            if record.previous != old.previous, record.held == .previous { record.held = .none }
        }
        if let place = old.audience {
            let previous = take(change.slot, in: place.key, change.sequence, change.state)
            if !wasDropped(place.previous, previous?.sequence) {
                record.audience?.previous = previous?.sequence ?? 0
                record.audience?.previousState = previous?.state
            }
        }
        guard record != old else { return nil }
        var amended: [UInt8] = []
        record.append(to: &amended)
        return amended + bytes.dropFirst(bodyOffset)
    }

    private func amendedMove(_ event: LogEvent) -> [UInt8]? {
        guard let old = try? AudienceEvent(event.payload.span.bytes) else { return nil }
        var moved = old
        let slot = hash.slot(ofName: old.name).probed(old.probeCount)
        let previous = take(slot, in: old.place.key, event.sequence, old.state)
        if wasDropped(old.place.previous, previous?.sequence) { return nil }
        moved.place.previous = previous?.sequence ?? 0
        moved.place.previousState = previous?.state
        guard moved != old else { return nil }
        var amended: [UInt8] = []
        moved.append(to: &amended)
        return amended
    }

    /// The event about a record before this one in a zone or an audience, of those that survive.
    private func take(
        _ slot: Slot,
        in zone: ZoneKey,
        _ sequence: SequenceNumber,
        _ state: RecordState
    ) -> (sequence: SequenceNumber, state: RecordState)? {
        let place = ViewKey(zone: zone, slot: slot)
        defer { last[place] = (sequence, state) }
        return last[place]
    }

    /// Returns true if compaction has dropped the event that another one names as its predecessor; the
    /// other one keeps the name, which shows that something came before it.
    private func wasDropped(_ named: SequenceNumber, _ survivor: SequenceNumber?) -> Bool {
        named > .zero && named != survivor && named <= droppedThrough
            && !lost.overlap(named...named)
    }

    func closing(
        droppedThrough last: SequenceNumber,
        isCutOff: Bool,
        notBefore time: Int64
    ) -> CommitDraft? {
        let unrecorded = last == .zero ? nil : unrecordedRun(through: last)
        guard unrecorded != nil || isCutOff else { return nil }
        let now = environment.log.now()
        var draft = CommitDraft(
            time: max(time, now),
            received: now,
            envelope: CommitEnvelope().bytes
        )
        draft.append(zone: 0) { payload in
            if let unrecorded {
                unrecorded.append(to: &payload)
            } else {
                payload.append(contentsOf: [EventKind.requestNoted.rawValue, 0, 0, 0])
            }
        }
        return draft
    }

    /// The limits of the last compaction, if its event is lost: those in the views, or without views
    /// those of a compaction that dropped everything up to a position.
    private func unrecordedRun(through last: SequenceNumber) -> CompactionRun? {
        // A compaction drops nothing before the views have its event.
        if let views, views.checkpoint != nil {
            do throws(ViewIndexError) {
                guard let value = try views.value(in: .zones, for: .compaction) else { return nil }
                let known = try CompactionRun(value)
                return known == lastRun ? nil : known
            } catch {
                // As without views.
            }
        }
        return hasBeginning ? nil : CompactionRun(history: last, tombstones: last, requests: 0)
    }

    func creation(of zone: ZoneKey, before commit: LogCommit) -> CommitDraft? {
        var identity = ZoneIdentity(database: .standard, zoneName: Name("salvaged-\(zone)"))
        var probeCount: UInt8 = 0
        if let value = try? views?.value(in: .zones, for: .zone(zone)),
            let entry = try? ZoneEntry(value, key: zone)
        {
            identity = entry.identity
            // The views hold the place of the zone's name. Its distance from the hash is the probe
            // count, which the lost event contained.
            let slot = hash.slot(ofZone: identity.zoneName.string)
            probeCount = UInt8(truncatingIfNeeded: entry.place.low &- slot.rawValue)
        }
        var draft = CommitDraft(
            time: commit.time,
            received: commit.received,
            envelope: CommitEnvelope().bytes
        )
        draft.append(zone: CommitDraft.ownSequence) { payload in
            ZoneEvent.appendCreation(of: identity, probeCount: probeCount, to: &payload)
        }
        return draft
    }
}
