// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

/// The contents of a backup, and the amount copied to make it.
public struct BackupReport: Hashable, Codable, Sendable {
    /// The last event that it holds; zero if there is none.
    public internal(set) var lastSequence: SequenceNumber
    /// Segments of the log that it holds.
    public internal(set) var segmentCount: Int
    /// The number of segments that were copied now.
    public internal(set) var copiedSegmentCount: Int
    /// Bytes of those.
    public internal(set) var copiedByteCount: UInt64
    /// Assets that it holds the bytes of.
    public internal(set) var assetCount: Int
    /// The number of assets that were copied now.
    public internal(set) var copiedAssetCount: Int
    /// Assets whose bytes are damaged in the store and were not copied.
    public internal(set) var damage: [LogError]

    init(_ log: LogBackup.Figures, _ assets: BlobCopy) {
        lastSequence = log.last
        segmentCount = log.segmentCount
        copiedSegmentCount = log.copiedSegmentCount
        copiedByteCount = log.copiedByteCount
        assetCount = assets.count
        copiedAssetCount = assets.copiedCount
        damage = assets.damage
    }
}

extension Store {
    /// Creates a backup of a store, or updates an existing one.
    ///
    /// The store may be open, here or in another process, and is not interrupted. The backup holds
    /// everything that was durable when the backup began; commits of the last moment may be left to
    /// the next backup. Only missing files are copied: new segments, the active segment, and new
    /// assets. If a backup is interrupted at any moment, the one before it remains usable.
    ///
    /// A backup can be opened for reading like a store. It keeps assets that the store has
    /// collected.
    ///
    /// Throws `foreignFile` if the destination holds anything but a backup of this store that the
    /// store continues; `locked` while another backup writes to it, or while an erasure of the
    /// store is pending; `corrupted` if the store's log is damaged; `notAStore`, `newerVersion`,
    /// `unreadable` or `full`. Blocks on disk I/O. O(segments and assets), and O(bytes) of those
    /// that are copied.
    public static func backUp(
        at path: String,
        to destination: String
    ) throws(LogError) -> BackupReport {
        try backUp(at: path, to: destination, environment: StoreEnvironment())
    }

    /// Makes a backup with effects of the caller's.
    package static func backUp(
        at path: String,
        to destination: String,
        environment: StoreEnvironment
    ) throws(LogError) -> BackupReport {
        try ErasureFiles(StoreFolder(path), environment).checkNothingIsPending()
        // An existing backup keeps the permissions of its folder.
        let effects = try environment.log.permitting(
            asIn: StoreFolder(destination),
            StoreFolder(path)
        )
        var log = try LogBackup(from: path, to: destination, environment: effects)
        // Again: from here on no erasure begins, because the log is being read.
        try ErasureFiles(StoreFolder(path), environment).checkNothingIsPending()
        try LongWork.run { () throws(LogError) in try log.copySegments() }
        // After the log's end is known, and before the backup refers to them.
        let assets = try BlobCopy(
            from: StoreFolder(path),
            to: StoreFolder(destination),
            effects.fileSystem
        )
        return BackupReport(try log.finish(), assets)
    }
}
