// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// The contents of a restored store.
public struct RestoreReport: Hashable, Sendable {
    /// Its last event; zero if there is none.
    public internal(set) var lastSequence: SequenceNumber
    /// Assets whose bytes were copied.
    public internal(set) var assetCount: Int
    /// Assets whose bytes are damaged in the backup and were not copied.
    public internal(set) var damage: [LogError]
}

extension Store {
    /// Creates a store from a backup, as it was at the end of the last commit at or before a
    /// position, or at the backup's end.
    ///
    /// The result is the same store in a new incarnation. Change tokens up to that point remain
    /// valid. Later ones are expired, so that a device that has seen more fetches everything again.
    /// The backup is not changed. Any store can serve as the source, not only a backup.
    ///
    /// Throws `notAStore` if the new store's folder is not free, or if the source is not a store;
    /// `locked` while an erasure of the source is pending; `pruned` if the position is below the
    /// backup's history horizon; `corrupted` for damage, `newerVersion`, `unreadable` or `full`. An
    /// interrupted restore leaves either a whole store, or a folder that is not a store and can be
    /// restored into again. Blocks on disk I/O. O(bytes).
    public static func restore(
        from backup: String,
        to path: String,
        through position: SequenceNumber? = nil
    ) throws(LogError) -> RestoreReport {
        try restore(from: backup, to: path, through: position, environment: StoreEnvironment())
    }

    /// Restores with effects of the caller's.
    package static func restore(
        from backup: String,
        to path: String,
        through position: SequenceNumber?,
        environment: StoreEnvironment
    ) throws(LogError) -> RestoreReport {
        try ErasureFiles(StoreFolder(backup), environment).checkNothingIsPending()
        let effects = try environment.log.permitting(asIn: StoreFolder(backup))
        var log = try LogRestore(
            from: backup,
            to: path,
            through: position,
            environment: effects,
            forgotten: ForgottenCommit(path: backup, environment).make
        )
        // Again: from here on no erasure begins, because the log is being read.
        try ErasureFiles(StoreFolder(backup), environment).checkNothingIsPending()
        try LongWork.run { () throws(LogError) in try log.copySegments() }
        // Only `finish` makes the folder a store. So a store never refers to assets that are still
        // to be copied.
        let assets = try BlobCopy(
            from: StoreFolder(backup),
            to: StoreFolder(path),
            effects.fileSystem
        )
        let figures = try log.finish()
        return RestoreReport(
            lastSequence: figures.last,
            assetCount: assets.count,
            damage: assets.damage
        )
    }
}
