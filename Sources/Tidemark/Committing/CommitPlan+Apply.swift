// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkRules
package import TidemarkViews

extension CommitPlan {
    /// Applies the effects of the events to a generation.
    package func apply(to generation: OverlayGeneration, at first: SequenceNumber) {
        // `audiences` is in event order, so one pass over the effects meets each entry at its
        // event.
        var next = 0
        for (index, event) in events.enumerated() {
            // After the effect of the event itself, which is the order in which a fold of the log
            // applies them.
            defer {
                if next < audiences.count, audiences[next].event == index {
                    generation.apply(audiences[next].slot, audiences[next].audience)
                    next += 1
                }
            }
            switch event.effect {
            case .record(let change):
                generation.apply(change)
            case .zoneCreated(let creation):
                generation.apply(creation, key: ZoneKey(createdAt: first + index))
            case .zoneDeleted(let key, let reason):
                generation.applyDeletion(of: key, at: first + index, reason: reason)
            case .tombstonesForgotten(let zone, let horizon):
                generation.applyHorizon(horizon, of: zone, at: first + index)
            case .compactionBegun(let run):
                generation.apply(run, at: first + index)
            case .nothing:
                generation.applyNothing(at: first + index)
            }
        }
        // Outside the loop: references need no order among the events, because the caller holds the
        // overlay's lock and no picture shows a part of the commit.
        for (_, change) in references { generation.apply(change) }
        if let request {
            let answered = AnsweredRequest(first: first, neverExpires: requestNeverExpires)
            generation.apply(request, answered)
        }
    }
}
