// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
import TidemarkViews

/// The contents of a fork of a store, and how the fork was made.
public struct ForkReport: Hashable, Sendable {
    /// The last event that it has from the other store; zero if there is none.
    public internal(set) var lastSequence: SequenceNumber
    /// Segments of the log that it holds.
    public internal(set) var segmentCount: Int
    /// The number of segments whose files are linked to the other store's.
    public internal(set) var sharedSegmentCount: Int
    /// Bytes of the log that were copied.
    public internal(set) var copiedByteCount: UInt64
    /// Assets that it holds the bytes of.
    public internal(set) var assetCount: Int
    /// The number of assets whose files are linked to the other store's.
    public internal(set) var sharedAssetCount: Int
    /// Assets whose bytes had to be copied, and are damaged.
    public internal(set) var damage: [LogError]
    /// True if the fork has the zone views.
    ///
    /// Without them, its first open rebuilds them from its log.
    public internal(set) var hasViews: Bool
}

extension Store {
    /// Creates a writable store from another store: as it was at the end of the last commit at or
    /// before a position, or as it is now.
    ///
    /// If both stores are on one file system, the files of sealed segments and of assets are shared
    /// by links. These files never change, and each store removes only its own name for them. So a
    /// fork takes a moment whatever the store's size, and the stores do not affect each other
    /// afterwards. The other store may be open meanwhile, here or in another process.
    ///
    /// The fork is the same store in a new incarnation. Change tokens that the other store granted
    /// up to that point remain valid; later ones are expired. Tokens of the fork are invalid in the
    /// other store. Views are copied if they are at or before the point; otherwise the first open
    /// rebuilds them from the log. Query indexes are built by the first query.
    ///
    /// Throws `notAStore` if the folder already has a store, or if there is none to fork;
    /// `foreignFile` if it holds other files; `locked` while an erasure of the other store is
    /// pending; `pruned` if the position is below the history horizon; `corrupted` for damage that
    /// is met, `newerVersion`, `unreadable` or `full`. An interrupted fork leaves a folder that is
    /// not a store; fork into it again. Blocks on disk I/O. O(segments and assets), plus the copy
    /// of one segment and of the views.
    public static func fork(
        from path: String,
        to destination: String,
        through position: SequenceNumber? = nil
    ) throws(LogError) -> ForkReport {
        try fork(from: path, to: destination, through: position, environment: StoreEnvironment())
    }

    /// Forks a store with effects of the caller's.
    package static func fork(
        from path: String,
        to destination: String,
        through position: SequenceNumber?,
        environment: StoreEnvironment
    ) throws(LogError) -> ForkReport {
        try ErasureFiles(StoreFolder(path), environment).checkNothingIsPending()
        var environment = environment
        environment.log = try environment.log.permitting(asIn: StoreFolder(path))
        let views = ForkedViews(from: StoreFolder(path), to: StoreFolder(destination), environment)
        var hasViews = false
        if position == nil {
            // Read before the log, so that the log reaches at least as far.
            let reader = try LogReader(path, fileSystem: environment.log.fileSystem)
            try LogRestore.makeFolder(destination, for: reader.store, environment.log)
            hasViews = try views.copy(through: nil)
        }
        var log = try LogRestore(
            from: path,
            to: destination,
            through: position,
            by: .links,
            environment: environment.log,
            forgotten: ForgottenCommit(path: path, environment).make
        )
        // Again: from here on no erasure begins, because the log is being read.
        try ErasureFiles(StoreFolder(path), environment).checkNothingIsPending()
        // The copy ends with a commit at or before the position. Only now is that end known.
        if position != nil { hasViews = try views.copy(through: log.last) }
        try LongWork.run { () throws(LogError) in try log.copySegments() }
        // Only `finish` makes the folder a store. So a fork never refers to assets that are still
        // to be linked.
        let assets = try BlobCopy(
            from: StoreFolder(path),
            to: StoreFolder(destination),
            environment.log.fileSystem,
            by: .links
        )
        let figures = try log.finish()
        return ForkReport(
            lastSequence: figures.last,
            segmentCount: figures.segmentCount,
            sharedSegmentCount: figures.sharedSegmentCount,
            copiedByteCount: figures.copiedByteCount,
            assetCount: assets.count,
            sharedAssetCount: assets.sharedCount,
            damage: assets.damage,
            hasViews: hasViews
        )
    }
}

/// The zone views of a store on their way into a fork.
private struct ForkedViews {
    private let source: StoreFolder
    private let destination: StoreFolder
    private let environment: StoreEnvironment

    init(from source: StoreFolder, to destination: StoreFolder, _ environment: StoreEnvironment) {
        self.source = source
        self.destination = destination
        self.environment = environment
    }

    /// Copies the view index unless it is past a position; returns true if it was copied.
    ///
    /// A missing or unreadable index is not an error: the views can be rebuilt from the log.
    func copy(through position: SequenceNumber?) throws(LogError) -> Bool {
        let reader = try LogReader(source.path, fileSystem: environment.log.fileSystem)
        let access: ViewAccess = reader.isLive ? .readingLive : .readingStill
        if let position {
            let index = try? environment.openIndex(source.views, access, reader.store)
            guard let checkpoint = index?.checkpoint, checkpoint.sequence <= position else {
                return false
            }
        }
        try removeCopy()
        try LogError.wrapping { () throws(FileError) in
            try environment.log.fileSystem.createDirectory(destination.views)
        }
        let copied = try? environment.copyIndex(
            source.views,
            destination.views,
            access,
            reader.store
        )
        // A writer that started before the reader held its manifest may have changed pages
        // meanwhile, and an existing writer may have continued.
        let isSteady = try !reader.isLiveNow() || reader.isLive
        if isSteady, let copied, copied <= position ?? copied { return true }
        try removeCopy()
        return false
    }

    /// Removes any partial copy.
    private func removeCopy() throws(LogError) {
        do throws(ViewIndexError) {
            try environment.removeIndex(destination.views)
        } catch {
            // If the folder does not exist, nothing does.
            guard error.reason == .damaged else {
                let code: LogError.Code = error.reason == .full ? .full : .unreadable
                throw LogError(code, error.message)
            }
        }
    }
}
