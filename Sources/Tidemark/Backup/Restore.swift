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
    /// Makes a store from a backup, as it was at the end of the last commit at or before a position,
    /// or at the backup's end.
    ///
    /// It is the same store in a new incarnation. Change tokens from up to that point are answered as
    /// before; those from beyond it are expired, so that a device which has seen more fetches
    /// everything anew. A backup stays as it is. Any store can be restored from, not only a backup.
    ///
    /// Throws `notAStore` if the new store's folder is not free, or if the other is no store;
    /// `locked` while an erasure of the other waits for its end; `pruned` if the position is below the
    /// backup's history horizon; `corrupted` for damage, `newerVersion`, `unreadable` or `full`. One
    /// that is cut off leaves a folder that is no store, and can be made again there, or a whole store.
    /// Blocks while the disk works. O(bytes).
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
        try LongWork.run { () throws(LogError) in try log.copySegments() }
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
