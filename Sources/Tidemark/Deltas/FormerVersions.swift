// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// A search for earlier versions of records that a client may still hold although a delta shows it
/// nothing in their place.
///
/// The sync index has one entry for each record, at its last event. That event may be a version
/// that the client may not read, or a deletion that is not reported to it. The client may then hold
/// an earlier version under the same name: another user reused the name, or an import changed the
/// record's type. The events of a record are linked backwards, so the search follows them from the
/// entry.
struct FormerVersions {
    /// A version that counts.
    struct Found {
        /// Position of the event that ended or replaced it.
        var end: SequenceNumber
        var recordType: String
    }

    /// The user who created a record, and the device.
    struct Creator: Equatable {
        var user: UserID?
        var device: String
    }

    let source: any EventSource
    /// The position at which the client's copy of the zone was complete.
    ///
    /// A version counts if it existed at this position or came later, and the client may read it.
    let known: SequenceNumber
    /// The client, if it began without a token: of the versions that ended before `known` those count
    /// whose record it created.
    let creator: Creator?
    /// The types that the client may read; `nil` for all.
    let access: PublicAccess?

    /// A place in a record's chain of events.
    private struct Step {
        /// Position of the event to read.
        var position: SequenceNumber
        /// Position of the entry that the search began with.
        var entry: SequenceNumber
        /// The position of the next event in the chain.
        var end: SequenceNumber
        /// The record's state after the event.
        var state = RecordState.tombstone
    }

    /// Searches the chains that end with some entries, which ascend.
    ///
    /// - Parameters:
    ///   - entries: The positions of the entries.
    ///   - budget: The number of events that may be read. The first entry is decided in any case.
    ///
    /// - Returns: For each entry its newest version that counts, if it has one, and the first entry that
    ///   the budget left undecided.
    ///
    /// - Throws: `changeTokenExpired` if compaction has dropped an event that decides.
    func find(
        before entries: [SequenceNumber],
        budget: inout Int
    ) throws(SyncError) -> (found: [SequenceNumber: Found], undecided: SequenceNumber?) {
        var found: [SequenceNumber: Found] = [:]
        var undecided: SequenceNumber?
        var steps = entries.map { Step(position: $0, entry: $0, end: $0) }
        while true {
            // The first entry is decided whatever it costs. Otherwise a page could end where it
            // began, and the client would never get further.
            if budget <= 0 {
                undecided = steps.map(\.entry).filter { $0 != entries.first }.min() ?? undecided
                steps.removeAll { $0.entry != entries.first }
            }
            if steps.isEmpty { return (found, undecided) }
            budget -= steps.count
            steps = try follow(steps, &found)
        }
    }

    /// Reads the events of some steps; returns the steps before them.
    private func follow(
        _ unsorted: [Step],
        _ found: inout [SequenceNumber: Found]
    ) throws(SyncError) -> [Step] {
        let steps = unsorted.sorted { $0.position < $1.position }
        var next: [Step] = []
        var index = 0
        try source.visit(steps.map(\.position)) { (event) throws(SyncError) in
            // Every position belongs to one record, so each event answers one step. Positions that
            // the log no longer has are skipped by `visit`.
            while steps[index].position < event.sequence {
                try miss(steps[index])
                index += 1
            }
            let step = steps[index]
            index += 1
            if event.isNote {
                try miss(step)
                return true
            }
            let stored = try event.readRecord()
            // The entry itself is what the delta shows or hides.
            if step.position != step.entry, stored.event.state == .live {
                let body = try stored.readBody()
                if try counts(body, endingAt: step.end) {
                    found[step.entry] = Found(end: step.end, recordType: body.recordType)
                    return true
                }
            }
            // A version that ended before `known` counts only for its creator. Without one, the
            // chain ends here.
            if let state = stored.event.previousState,
                step.position > known || creator != nil
            {
                next.append(
                    Step(
                        position: stored.event.previous,
                        entry: step.entry,
                        end: step.position,
                        state: state
                    )
                )
            }
            return true
        }
        for step in steps[index...] { try miss(step) }
        return next
    }

    private func counts(
        _ body: RecordBody,
        endingAt end: SequenceNumber
    ) throws(SyncError) -> Bool {
        if let access, try access.refusal(of: .read, on: body) != nil { return false }
        if end > known { return true }
        guard let creator, let device = body.created.device else { return false }
        return Creator(user: body.created.user, device: device) == creator
    }

    /// Rejects the token if it can no longer be determined if a version counts.
    ///
    /// Versions that ended before the client began do not count, because their creators are no
    /// longer known. A reader skips damaged events.
    private func miss(_ step: Step) throws(SyncError) {
        guard step.end > known, step.position <= source.compactedThrough else { return }
        if step.state == .live || step.position > known {
            throw SyncError(TokenDefect.belowHorizon)
        }
    }
}
