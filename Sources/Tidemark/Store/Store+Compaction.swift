// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Store {
    /// Rewrites the finished part of the log without the history that the policy allows to drop.
    ///
    /// The store remains in use. The compaction first records in the log which history it drops. So
    /// if it is interrupted, nothing else is lost, and the next compaction continues it. Every
    /// change token that is not reported as expired remains valid. A dry run changes nothing, and
    /// works in a store that is open for reading.
    ///
    /// While there are other writes, it runs at a third of its speed. A store with a finished
    /// segment reserves disk space, so that compaction also works on a full disk; until it ends,
    /// commits that need space are rejected in that case.
    ///
    /// Throws `zoneBusy` while another compaction of this store is running, `quotaExceeded` if the
    /// disk still has no space for one more segment, and `internalError` for damage, before
    /// anything is dropped. O(bytes of the log).
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
