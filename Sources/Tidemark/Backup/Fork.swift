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
    /// Those of them whose files are the other store's, under another name.
    public internal(set) var sharedSegmentCount: Int
    /// Bytes of the log that were copied.
    public internal(set) var copiedByteCount: UInt64
    /// Assets that it holds the bytes of.
    public internal(set) var assetCount: Int
    /// Those of them whose files are the other store's.
    public internal(set) var sharedAssetCount: Int
    /// Assets whose bytes had to be copied, and are damaged.
    public internal(set) var damage: [LogError]
    /// True if the fork has the zone views.
    ///
    /// Without them, its first open rebuilds them from its log.
    public internal(set) var hasViews: Bool
}

extension Store {
    /// Makes a store that can be written from any moment of another one: as it was at the end of the
    /// last commit at or before a position, or as it is now.
    ///
    /// The files of sealed segments and of assets are shared, by links, where both stores are on one
    /// file system: they never change, and each store removes its own name for them. So it takes a
    /// moment whatever the store's size, and the two do nothing to each other from then on. The other
    /// store may be open meanwhile, here or in another process.
    ///
    /// It is the same store in a new incarnation: change tokens that the other one granted up to that
    /// point are answered as before, those from beyond it are expired, and those of the fork mean
    /// nothing to the other. Views are copied if they stand at or before the point; otherwise the
    /// first opening makes them from the log. Query indexes are made with the first query.
    ///
    /// Throws `notAStore` if there is a store in the folder already, or none to fork; `foreignFile` if
    /// it holds other files; `locked` while an erasure of the other store waits for its end; `pruned`
    /// if the position is below the history horizon; `corrupted` for damage that is met,
    /// `newerVersion`, `unreadable` or `full`. One that is cut off leaves a folder that is no store,
    /// and can be made again there. Blocks while the disk works. O(segments and assets), one segment
    /// that is copied, and the views.
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
            // Before the log: then the log goes at least as far.
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
        if position != nil { hasViews = try views.copy(through: log.last) }
        try LongWork.run { () throws(LogError) in try log.copySegments() }
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

    init(
        from source: StoreFolder,
        to destination: StoreFolder,
        _ environment: StoreEnvironment
    ) {
        self.source = source
        self.destination = destination
        self.environment = environment
    }

    /// Copies the view index, unless it stands behind a position; says whether it did.
    ///
    /// Views that cannot be had are no failure: they can be made from the log.
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
        // A writer that came before the reader held its manifest may have changed pages meanwhile,
        // and one that was there may have gone on.
        let isSteady = try !reader.isLiveNow() || reader.isLive
        if isSteady, let copied, copied <= position ?? copied { return true }
        try removeCopy()
        return false
    }

    /// Removes what is there of a copy.
    private func removeCopy() throws(LogError) {
        do throws(ViewIndexError) {
            try environment.removeIndex(destination.views)
        } catch {
            // Where the folder is not there, nothing is.
            guard error.reason == .damaged else {
                let code: LogError.Code = error.reason == .full ? .full : .unreadable
                throw LogError(code, error.message)
            }
        }
    }
}
