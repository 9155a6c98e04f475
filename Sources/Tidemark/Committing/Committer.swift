// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
package import TidemarkRules
package import TidemarkViews

/// Appends decided commits to the log in one order, and applies them to the overlay.
///
/// The serialization point is the overlay's lock. Under it, a plan is checked, placed, appended and
/// applied. This takes microseconds and never waits.
package final class Committer: Sendable {
    private let log: SegmentLog
    private let views: ZoneViews
    private let checkpointer: Checkpointer
    /// Refuses commits while the clock is wrong.
    package let clock: ClockWatch

    package init(log: SegmentLog, views: ZoneViews, checkpointer: Checkpointer, clock: ClockWatch) {
        self.log = log
        self.views = views
        self.checkpointer = checkpointer
        self.clock = clock
    }

    /// See ``SegmentLog/earlyFrame(byteCount:)``.
    func earlyFrame(byteCount: Int) -> EarlyFrame? { log.earlyFrame(byteCount: byteCount) }

    /// A commit that has its place in the log.
    package struct Placed: Sendable {
        /// Position of its first event.
        package let first: SequenceNumber
        /// Position of its last event.
        package let last: SequenceNumber
        /// The payloads of its events, one after another.
        package let payloads: [UInt8]
        /// The end of each event's payload, and the zone of the event.
        package let events: [CommitDraft.Event]
    }

    /// Appends a plan, or returns `nil` if the state it depends on has changed; then decide again.
    ///
    /// The appended events are not durable yet: see ``waitUntilDurable(_:)``. With `callerWaits`
    /// the caller must call it next, and may be the one that writes. With `beginsSegment` the commit
    /// is the first of a segment of the log.
    package func append(
        _ plan: inout CommitPlan,
        callerWaits: Bool = false,
        beginsSegment: Bool = false
    ) throws(SyncError) -> Placed? {
        // Outside the overlay's lock: the check takes the lock of the clock's readings, and depends
        // on no other commit.
        try clock.check(plan.draft.received)
        // The overlay's lock is taken before the log's, here and wherever both are: the log never calls back
        // while it appends. Checking and applying under one lock makes the order of commits the order in
        // which their decisions hold.
        return try SyncError.wrapping { () throws(LogError) in
            try views.overlay.withLock { overlay throws(LogError) in
                guard plan.stillHolds(in: overlay) else { return nil }
                return try place(
                    &plan,
                    in: &overlay,
                    callerWaits: callerWaits,
                    beginsSegment: beginsSegment
                )
            }
        }
    }

    private func place(
        _ plan: inout CommitPlan,
        in overlay: inout Overlay,
        callerWaits: Bool,
        beginsSegment: Bool
    ) throws(LogError) -> Placed {
        // Times of commits never go back, although the clock may.
        let lastTime = log.lastTime
        if lastTime > plan.draft.time { plan.raiseTime(to: lastTime) }
        let first = overlay.appended.next
        // This resolves the placeholders for keys of new zones in the payloads. So the payloads are
        // read only after it.
        plan.place(at: first)
        let payloads = plan.draft.payloads
        let events = plan.draft.events
        let commit = PendingCommits.Commit(
            first: first,
            payloads: payloads,
            events: events,
            envelope: plan.draft.envelope,
            received: plan.draft.received
        )
        // The overlay changes only after the log has accepted the commit. If the log throws, no
        // position is lost and no reader sees a part of the commit.
        let position = try log.append(
            plan.draft,
            callerWaits: callerWaits,
            beginsSegment: beginsSegment
        )
        // The effects, and the keys of zones and audiences that the commit creates, name `first`
        // already. At another position, the log and the views would differ for good.
        precondition(position == first, "the log gave out a position that was not next")
        // The events are not durable yet. Pictures for readers end at the durable watermark, so
        // only decisions see them before that.
        plan.apply(to: overlay.current, at: first)
        overlay.current.countPayloads(byteCount: payloads.count)
        // Durable commits can be read from the log. So `pending` holds only the commits that the
        // writer has not synced yet.
        overlay.pending.drop(through: log.durableSequence)
        overlay.pending.append(commit)
        overlay.appended = first + (events.count - 1)
        // A running collection reads the log only up to its start. It learns from this note which
        // blobs later commits name.
        if let assets = plan.assets { overlay.assets.note(assets.blobs) }
        // Caches of schemas, account statuses and participations compare their own position with
        // this one.
        if plan.changesSystemZone { overlay.lastSystemSequence = overlay.appended }
        checkpointer.grew(&overlay, of: views)
        return Placed(first: position, last: overlay.appended, payloads: payloads, events: events)
    }

    /// Waits until a position is on disk and visible.
    ///
    /// Not cancellable.
    ///
    /// Throws `serverResponseLost` if the writer failed before that: whether the commit is on disk
    /// is found out by the next opening.
    package func waitUntilDurable(_ sequence: SequenceNumber) async throws(SyncError) {
        do throws(LogError) {
            try await log.waitUntilDurable(sequence)
        } catch {
            // A failed sync does not tell which pages are on disk. So the commit may exist after a
            // restart, and a retry under the same request id finds it then.
            throw SyncError(.serverResponseLost, SyncError(error).message)
        }
    }

    /// True if ``waitForRoom()`` may wait; asked where two asynchronous calls count.
    package var mayLackRoom: Bool { checkpointer.mayLackRoom }

    /// Waits while the overlay is much too large because checkpoints cannot keep up.
    package func waitForRoom() async throws(SyncError) {
        try await checkpointer.waitForRoom(views)
    }
}

extension CommitPlan {
    /// Returns true if nothing that the plan depends on has changed since it was decided.
    fileprivate func stillHolds(in overlay: Overlay) -> Bool {
        // A collection removes blobs under the same lock. If it removed any since the decision
        // looked for its blobs, one of them may be gone.
        if let assets, assets.takenCount != overlay.assets.takenCount { return false }
        // The usual case without concurrent writers: no lookup is needed.
        if overlay.appended == bound { return true }
        if restsOnHashedSlots { return overlay.lastProbedSequence <= bound }
        // If a checkpoint has moved events after `bound` into the index, the overlay no longer
        // shows which slots they changed. Changes of zones and system zones are rare, so any of
        // them counts as a conflict.
        guard overlay.reach <= bound, overlay.lastZoneSequence <= bound,
            overlay.lastSystemSequence <= bound
        else { return false }
        if restsOnAudiences, overlay.lastAudienceSequence > bound { return false }
        if let request, let first = overlay.firstSequence(of: request), first > bound {
            return false
        }
        // A slot that the overlay does not have was last changed at or before `reach`, and
        // therefore at or before `bound`.
        return consulted.allSatisfy { overlay.lastSequence(at: $0) <= bound }
            && consultedTargets.allSatisfy { overlay.lastReference(under: $0) <= bound }
    }
}

extension Overlay {
    /// The last position that a slot has in the overlay; zero if it has none.
    fileprivate func lastSequence(at place: ViewKey) -> SequenceNumber {
        // `current` follows `frozen` in the log, so its entry for a slot is the newer one.
        current.newest(zone: place.zone, slot: place.slot)?.sequence
            ?? frozen?.newest(zone: place.zone, slot: place.slot)?.sequence ?? 0
    }

    /// The last position at which something was bound under a reference key, or released; zero if
    /// none is in the overlay.
    fileprivate func lastReference(under key: UInt64) -> SequenceNumber {
        let last = current.references.lastSequence(under: key)
        return last > 0 ? last : frozen?.references.lastSequence(under: key) ?? 0
    }

    /// The last position at which a record entered or left an audience.
    fileprivate var lastAudienceSequence: SequenceNumber {
        max(current.audiences.lastSequence, frozen?.audiences.lastSequence ?? 0)
    }

    /// The first position of the commit that answered a request, if that is in the overlay.
    fileprivate func firstSequence(of request: RequestKey) -> SequenceNumber? {
        (current.requests[request] ?? frozen?.requests[request])?.first
    }
}
