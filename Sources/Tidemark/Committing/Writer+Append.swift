// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// Appends a plan as ``Committer`` does, unless the plan makes a database exceed its
    /// quota.
    ///
    /// Costs nothing if no quota is set. Otherwise the first commit to a database after an open
    /// counts its records, and every commit reads the versions that it replaces. Unlimited changes,
    /// such as an import, are counted and not rejected.
    ///
    /// With `callerWaits`, the caller calls ``Committer/waitUntilDurable(_:)`` next.
    ///
    /// Throws `quotaExceeded`.
    func append(
        _ plan: inout CommitPlan,
        over picture: ViewPicture,
        isLimited: Bool = true,
        callerWaits: Bool = false
    ) async throws(SyncError) -> Committer.Placed? {
        let known = quotas.state.withLock { $0 }
        defer {
            // Quotas may have been set since, and databases counted that this commit is missing in.
            if quotas.state.withLock({ $0.generation }) != known.generation {
                usages.withLock { $0.forgetAll() }
            }
        }
        guard known.isSome else { return try committer.append(&plan, callerWaits: callerWaits) }
        let effect = try usageEffect(of: plan, over: picture, known)
        // The bytes are reserved before the append. Otherwise two commits that each fit could
        // exceed the quota together.
        var reservations: [UsageCounts.Reservation] = []
        do throws(SyncError) {
            for wanted in effect.growths {
                reservations.append(isLimited ? try await reserve(wanted, committer) : wanted)
            }
            guard let placed = try committer.append(&plan, callerWaits: callerWaits) else {
                release(reservations)
                return nil
            }
            // This runs after the append, outside the serialization point. A count may have read
            // the commit by then: `settle` skips positions up to the bound of the count.
            usages.withLock { usages in
                for reservation in reservations {
                    usages.settle(reservation, at: placed.last)
                }
                for database in effect.endings { usages.forget(database) }
            }
            for (database, blobs) in effect.named { quotas.unnamed.name(blobs, in: database) }
            return placed
        } catch {
            release(reservations)
            throw error
        }
    }
}
