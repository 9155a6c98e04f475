// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkLog
public import TidemarkModel

/// All that happened to one record, newest first.
///
/// Each event of a record leads to the one before, so that reading costs what there is about the
/// record, not what the log holds. Deletions and what came after them are among it, and so are the
/// zones of the same name that were there before.
///
/// ```swift
/// for try await entry in try await store.history(of: id) {
///     if case .change(let change) = entry { print(change.origin.sequence, change.happening) }
/// }
/// ```
public struct RecordHistory: AsyncSequence, Sendable {
    /// An entry of a history.
    public enum Entry: Codable, Sendable {
        /// Something happened to the record.
        case change(PastChange)
        /// The history was pruned: the event at this position, to which later ones refer, and all
        /// earlier ones are no longer in the log.
        case pruned(through: SequenceNumber)
    }

    private let chains: RecordChains

    init(_ chains: RecordChains) {
        self.chains = chains
    }

    /// Begins with the newest entry.
    public func makeAsyncIterator() -> Iterator {
        Iterator(chains: chains)
    }

    /// Reads one entry at a time.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var chains: RecordChains

        /// The next older entry; `nil` after the oldest.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(SyncError) -> Entry? {
            try chains.next()
        }
    }
}

extension Store {
    /// Returns the history of the record with a name, newest first; see ``RecordHistory``.
    ///
    /// Finding the newest events takes a lookup in the zone views for each epoch of the zone and
    /// each share that it has or had. The history is fixed when this returns, and excludes later
    /// commits.
    ///
    /// Throws `zoneNotFound` if there never was such a zone, and `unknownItem` if there never was
    /// such a record. If compaction may have dropped all traces of such a record, it throws
    /// `invalidArguments` with ``SyncError/isHistoryPruned``.
    public func history(
        of record: RecordID,
        in database: DatabaseID = .standard
    ) async throws(SyncError) -> RecordHistory {
        RecordHistory(try RecordChains(of: record, in: database, try pastPicture()))
    }
}
