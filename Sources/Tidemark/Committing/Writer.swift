// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// Decides and commits the changes to an open store.
///
/// It owns the log and the counts for quotas.
final class Writer: Sendable {
    /// The reader that supplies the facts for decisions.
    let reader: Reader
    let log: SegmentLog
    let committer: Committer
    let checkpointer: Checkpointer
    /// The bytes used by databases that have a quota.
    let usages = Lock(UsageCounts())
    /// The bytes that databases may use.
    let quotas: QuotaSettings

    init(
        _ reader: Reader,
        log: SegmentLog,
        committer: Committer,
        checkpointer: Checkpointer,
        quotas: QuotaSettings
    ) {
        self.reader = reader
        self.log = log
        self.committer = committer
        self.checkpointer = checkpointer
        self.quotas = quotas
    }
}

/// The writer of an open store, for parts that also serve a store that is open for reading.
struct WriteAccess: Sendable {
    /// `nil` in a store that is open for reading.
    let ifAny: Writer?

    init(_ writer: Writer?) {
        ifAny = writer
    }

    /// The writer; throws in a store that is open for reading.
    func callAsFunction() throws(SyncError) -> Writer {
        guard let ifAny else { throw .openForReading }
        return ifAny
    }
}

extension SyncError {
    /// A change of a store that is open for reading.
    static let openForReading = SyncError(
        .serviceUnavailable,
        "The store is open for reading only.",
        remedy: "Open the store for writing to change it."
    )
}
