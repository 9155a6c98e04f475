// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A log made from another one, such as a backup: the same store in a new incarnation, up to the
/// end of the source or an earlier point.
///
/// A restore has the same three steps as a ``LogBackup``; the folder is not a store before the last
/// one. Change tokens of every older incarnation stay valid up to the cut, and are expired beyond
/// it.
package struct LogRestore {
    /// Returns the commit that records which events up to a position compaction has dropped.
    ///
    /// The new log continues with this commit, whose time is not before the given one. Throws
    /// `pruned` if the store's state at that position no longer exists.
    package typealias Forgotten =
        (_ last: SequenceNumber, _ time: Int64) throws(LogError) -> CommitDraft

    private var copy: LogBackup
    private let destination: StoreFolder
    private let environment: LogEnvironment
    /// The commit that follows the copied events.
    private let opening: CommitDraft?

    /// The last position that the new log takes from the old one.
    package var last: SequenceNumber { copy.figures.last }

    /// Examines a log and the folder for the new one, which must be empty or hold the remains of an
    /// interrupted attempt.
    ///
    /// Only whole commits are copied: a commit that extends beyond `position` is left out. If the
    /// log has been compacted and is not copied as a whole, `forgotten` is called; the dropped
    /// events are recorded where the compaction began, which may be after `position`. Throws the
    /// errors of `forgotten`; `notAStore` if a store exists already; `foreignFile` if the folder is
    /// not free; or the error for damage in the log.
    package init(
        from source: String,
        to destination: String,
        through position: SequenceNumber? = nil,
        by means: LogBackup.Means = .copies,
        environment: LogEnvironment,
        forgotten: Forgotten
    ) throws(LogError) {
        self.destination = StoreFolder(destination)
        self.environment = environment
        let reader = try LogReader(source, fileSystem: environment.fileSystem)
        try Self.check(free: destination, for: reader.store, environment)
        try reader.settle()
        if let damage = reader.damage.first { throw damage }
        let end = try Self.commitEnd(atOrBefore: position ?? reader.durableSequence, in: reader)
        // Also for an earlier position: an interrupted run may have dropped an event further back.
        let isComplete =
            end.last == reader.durableSequence || reader.compactedThrough == .zero
            || end.last == .zero
        opening = isComplete ? nil : try forgotten(end.last, end.time)
        let (manifest, cutSegment) = Self.manifest(of: reader, through: end.last)
        copy = try LogBackup(
            of: reader,
            manifest,
            cutting: cutSegment,
            by: means,
            through: end.last,
            to: self.destination,
            environment: environment
        )
    }

    /// Creates the folder of a new log, or throws the error that creating the log would throw about
    /// the folder.
    ///
    /// For callers that write files there before the log is created.
    package static func makeFolder(
        _ path: String,
        for store: StoreID,
        _ environment: LogEnvironment
    ) throws(LogError) {
        try check(free: path, for: store, environment)
        try LogBackup.prepare(StoreFolder(path), for: store, environment.fileSystem)
    }

    private static func check(
        free path: String,
        for store: StoreID?,
        _ environment: LogEnvironment
    ) throws(LogError) {
        let folder = StoreFolder(path)
        try folder.checkOutsideOfStores(environment.fileSystem)
        try folder.checkFree(forCopyOf: store, environment.fileSystem)
    }

    /// Returns the end of the last commit that does not extend beyond a position, and a time not
    /// before that commit's.
    private static func commitEnd(
        atOrBefore position: SequenceNumber,
        in reader: LogReader
    ) throws(LogError) -> (last: SequenceNumber, time: Int64) {
        let end = min(position, reader.durableSequence)
        var result = (last: end, time: Int64.min)
        // The durable end is always the end of a commit.
        guard end > .zero, end < reader.durableSequence else { return result }
        // If compaction has dropped the event, a later one may belong to the same commit.
        try reader.scan(from: end, through: reader.durableSequence) { event in
            result.time = event.commit.time
            if event.commit.first <= end, event.commit.last > end {
                result.last = event.commit.first.previous
            }
            return false
        }
        if let damage = reader.damage.first { throw damage }
        return result
    }

    /// Returns the manifest without everything after a position, and the segment that contains the
    /// position, if it ends later.
    private static func manifest(
        of reader: LogReader,
        through last: SequenceNumber
    ) -> (Manifest, cut: Manifest.Segment?) {
        var manifest = reader.finishedManifest
        let segment = manifest.segments.first { $0.id.first <= last && ($0.last ?? .zero) > last }
        manifest.segments.removeAll { ($0.last ?? .zero) > last }
        // A later incarnation has also issued tokens of earlier positions, and those stay valid.
        for index in manifest.line.entries.indices {
            let first = manifest.line.entries[index].first
            manifest.line.entries[index].first = min(first, last.next)
        }
        return (manifest, segment)
    }

    /// Copies the segments; throws the errors of ``LogBackup/copySegments()``.
    package mutating func copySegments() throws(LogError) {
        try copy.copySegments()
        if let opening { try copy.append(opening) }
    }

    /// Turns the copied files into a store and begins its new incarnation.
    package func finish() throws(LogError) -> LogBackup.Figures {
        let figures = try copy.finish()
        // The copy is complete, also if a full disk has no space for this. Then the next open for
        // writing does it, because no segment takes events. An error would make the caller try
        // again, in a folder that has a store.
        try? beginIncarnation()
        return figures
    }

    private func beginIncarnation() throws(LogError) {
        let (log, _) = try SegmentLog.open(
            destination.path,
            creating: false,
            configuration: LogConfiguration(),
            environment: environment,
            onDurable: { _ in }
        )
        try log.close()
    }
}
