// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A log made from another one, such as a backup: the same store in a new incarnation, up to where
/// the other ends or to a point before.
///
/// In three steps, as a ``LogBackup``: nothing is a store before the last one. What every older
/// incarnation has handed out stays good up to the cut, and beyond it is expired.
package struct LogRestore {
    /// Says what compactions have forgotten of what comes up to a position, as the commit that the new
    /// log goes on with, of a time not before the given one; or throws `pruned` if what the store held
    /// at that position is not there any more.
    package typealias Forgotten =
        (_ last: SequenceNumber, _ time: Int64) throws(LogError) -> CommitDraft

    private var copy: LogBackup
    private let destination: StoreFolder
    private let environment: LogEnvironment
    /// What is written down behind the copied events.
    private let opening: CommitDraft?

    /// The last position that the new log has from the old one.
    package var last: SequenceNumber { copy.figures.last }

    /// Looks at a log and at a folder for the new one, which must hold nothing, or what an attempt has
    /// left that was cut off.
    ///
    /// Takes whole commits: of one that goes beyond `position`, nothing. If the log has been compacted
    /// and does not go into the new one as a whole, `forgotten` is asked: what was dropped is written
    /// down where the compaction began, and that may come after `position`. Throws what that throws;
    /// `notAStore` if there is a store already, `foreignFile` if the folder is not free; or what is
    /// wrong with the log.
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
        // Also if it comes before: a run that was cut off may have dropped something further back.
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

    /// Makes the folder of a new log from a store's, or throws what making that log would throw about
    /// the folder: for those who put something there before the log comes.
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

    /// The end of the last commit that does not go beyond a position, and a time that is not before
    /// that commit's.
    private static func commitEnd(
        atOrBefore position: SequenceNumber,
        in reader: LogReader
    ) throws(LogError) -> (last: SequenceNumber, time: Int64) {
        let end = min(position, reader.durableSequence)
        var result = (last: end, time: Int64.min)
        guard end > .zero, end < reader.durableSequence else { return result }
        // Where compaction has dropped the event, a later one may be of the same commit.
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

    /// The manifest without what comes after a position, and the segment that the position is in, if
    /// it ends later.
    private static func manifest(
        of reader: LogReader,
        through last: SequenceNumber
    ) -> (Manifest, cut: Manifest.Segment?) {
        var manifest = reader.finishedManifest
        let segment = manifest.segments.first { $0.id.first <= last && ($0.last ?? .zero) > last }
        manifest.segments.removeAll { ($0.last ?? .zero) > last }
        // A later incarnation has handed out tokens of earlier positions too, and those stay good.
        for index in manifest.line.entries.indices {
            let first = manifest.line.entries[index].first
            manifest.line.entries[index].first = min(first, last.next)
        }
        return (manifest, segment)
    }

    /// Brings the segments; what may be thrown is what ``LogBackup/copySegments()`` may throw.
    package mutating func copySegments() throws(LogError) {
        try copy.copySegments()
        if let opening { try copy.append(opening) }
    }

    /// Makes a store of what was brought, and begins its new incarnation.
    package func finish() throws(LogError) -> LogBackup.Figures {
        let figures = try copy.finish()
        // If this does not come about, the next opening does it: no segment takes events.
        let (log, _) = try SegmentLog.open(
            destination.path,
            creating: false,
            configuration: LogConfiguration(),
            environment: environment,
            onDurable: { _ in }
        )
        try log.close()
        return figures
    }
}
