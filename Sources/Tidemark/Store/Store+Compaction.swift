// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Store {
    /// Writes the finished part of the log anew, without what the policy allows to be forgotten.
    ///
    /// The store goes on as usual meanwhile. What is forgotten is written into the log first, so a
    /// compaction that is cut off at any moment has lost nothing else, and the next one goes on with
    /// it. Every change token that is not reported as expired is answered as before. A dry run changes
    /// nothing, and can be had of a store that is open for reading.
    ///
    /// While others write it does a third of what it could. A store that has finished a segment keeps
    /// room back, so that this also works when the disk is full; until it is over, commits that need
    /// room are refused then.
    ///
    /// Throws `zoneBusy` while another compaction of this store is under way, `quotaExceeded` if the
    /// disk has no room for one more segment all the same, and `internalError` for damage, before anything is
    /// dropped. O(bytes of the log).
    public func compact(
        _ policy: CompactionPolicy = CompactionPolicy(),
        isDryRun: Bool = false
    ) async throws(SyncError) -> CompactionReport {
        try await parts.upkeep.compact(policy, isDryRun: isDryRun)
    }

    /// The result of the last compaction that the store ran by itself since it was opened; `nil`
    /// before the first.
    ///
    /// See ``StoreOptions/backgroundCompaction``. A failed compaction has lost nothing, and is
    /// retried when the next segment is finished.
    public var lastCompaction: Result<CompactionReport, SyncError>? {
        get throws(SyncError) { try parts.upkeep.compactor?.outcome }
    }
}
