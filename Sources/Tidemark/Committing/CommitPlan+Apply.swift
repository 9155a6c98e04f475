// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkRules
package import TidemarkViews

extension CommitPlan {
    /// Applies what the events do to a generation.
    package func apply(to generation: OverlayGeneration, at first: UInt64) {
        var next = 0
        for (index, effect) in effects.enumerated() {
            defer {
                if next < audiences.count, audiences[next].event == index {
                    generation.apply(audiences[next].slot, audiences[next].audience)
                    next += 1
                }
            }
            switch effect {
            case .record(let change):
                generation.apply(change)
            case .zoneCreated(let creation):
                generation.apply(creation, key: first + UInt64(index))
            case .zoneDeleted(let key, let reason):
                generation.applyDeletion(of: key, at: first + UInt64(index), reason: reason)
            case .tombstonesForgotten(let zone, let horizon):
                generation.applyHorizon(horizon, of: zone, at: first + UInt64(index))
            case .compactionBegun(let run):
                generation.apply(run, at: first + UInt64(index))
            case .nothing:
                generation.applyNothing(at: first + UInt64(index))
            }
        }
        for (_, change) in references { generation.apply(change) }
        if let request {
            let answered = AnsweredRequest(first: first, neverExpires: requestNeverExpires)
            generation.apply(request, answered)
        }
    }
}
