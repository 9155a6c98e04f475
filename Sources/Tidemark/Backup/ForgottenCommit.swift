// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The history that a store's compactions have dropped, for a copy that ends before the events that
/// record it.
///
/// The copy continues with a commit whose content equals that of a commit that begins a compaction
/// (Docs/formats/events.md). So the copy's log states what is missing, and the copy rejects the
/// change tokens that the store would reject.
struct ForgottenCommit {
    private let path: String
    private let environment: StoreEnvironment

    /// About the store in a folder.
    init(path: String, _ environment: StoreEnvironment) {
        self.path = path
        self.environment = environment
    }

    /// Makes the commit for a copy of all events up to a position.
    ///
    /// Throws `pruned` if the position is below the history horizon, and the errors of opening the
    /// store for reading.
    func make(after last: SequenceNumber, time: Int64) throws(LogError) -> CommitDraft {
        let store = try Store.open(at: path, access: .reading, environment: environment)
        defer { try? store.close() }
        let run: CompactionRun
        let plan: CommitPlan
        do {
            let views = try store.parts.reader.views
            let picture = try views.picture(.visible)
            run =
                try picture.compaction() ?? CompactionRun(history: 0, tombstones: 0, requests: 0)
            plan = try self.plan(run, after: last, time: time, in: picture, views.hash)
        } catch {
            throw LogError(.unreadable, "\(error)", path: path)
        }
        guard run.history <= last else {
            throw LogError(
                .pruned,
                "History pruned: compaction has dropped what the store held as of event \(last). The "
                    + "oldest point that is still exact is event \(run.history).",
                path: path
            )
        }
        return plan.draft
    }

    private func plan(
        _ run: CompactionRun,
        after last: SequenceNumber,
        time: Int64,
        in picture: ViewPicture,
        _ hash: StoreHash
    ) throws(ViewIndexError) -> CommitPlan {
        let now = environment.log.now()
        // Times never go back, so the commit is not older than the last one of the copy.
        var plan = CommitPlan(time: max(time, now), received: now, bound: picture.bound, hash: hash)
        let all = try picture.zones()
        // The copy has no events of zones that were created later.
        let zones = all.filter { $0.key.creation <= last && $0.tombstoneHorizon > 0 }
        // An erasure raises a horizon to its own position, which may come later.
        let next = last.next
        // The copy ends at `last`, so its horizons are capped there.
        plan.compact(
            run.capped(at: last),
            horizons: zones.map { ($0.key, min($0.tombstoneHorizon, next)) }
        )
        let marks = all.filter { $0.identity.isErasureMark && $0.key.creation > last }
            .map(\.identity.database)
        plan.draft.appendErasure(
            Set(marks).sorted { $0.description < $1.description },
            raising: [],
            at: next + plan.eventCount
        )
        plan.draft.envelope = CommitEnvelope().bytes
        return plan
    }
}
