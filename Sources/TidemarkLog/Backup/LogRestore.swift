// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A log made from a backup, or from another store: the same store in a new incarnation, up to
/// where the backup ends or to a point before.
///
/// In three steps, as a ``LogBackup``: nothing is a store before the last one. What every older
/// incarnation has handed out stays good up to the cut, and beyond it is expired.
package struct LogRestore {
    private var copy: LogBackup
    private let destination: StoreFolder
    private let environment: LogEnvironment

    /// Looks at a backup and at a folder for the new store, which must be empty if it is there.
    ///
    /// Takes whole commits: of one that goes beyond `position`, nothing. Throws `pruned` if the
    /// log has been compacted after that position, since what was dropped then is not written down
    /// before; `notAStore` if the folder is not free; or what is wrong with the backup.
    package init(
        from source: String,
        to destination: String,
        through position: SequenceNumber? = nil,
        environment: LogEnvironment
    ) throws(LogError) {
        let fileSystem = environment.fileSystem
        let folder = StoreFolder(destination)
        self.destination = folder
        self.environment = environment
        let reader = try LogReader(source, fileSystem: fileSystem)
        if let damage = reader.damage.first { throw damage }
        let isFree = try LogError.wrapping { () throws(FileError) -> Bool in
            guard try fileSystem.exists(folder.path) else { return true }
            return try fileSystem.list(folder.path).isEmpty
        }
        guard isFree else {
            throw LogError(
                .notAStore,
                "Something is here already. Give a path where nothing is yet.",
                path: destination
            )
        }
        let last = try Self.commitEnd(atOrBefore: position ?? reader.durableSequence, in: reader)
        guard
            last == reader.durableSequence || reader.compactedThrough == .zero
                || last > reader.compactedThrough
        else {
            throw LogError(
                .pruned,
                "The store was compacted after event \(last), which cannot be undone: the earliest "
                    + "point to go back to is the compaction itself, event "
                    + "\(reader.compactedThrough.next). An older backup may go back further.",
                path: source
            )
        }
        let (manifest, cutSegment) = Self.manifest(of: reader, through: last)
        copy = try LogBackup(
            of: reader,
            manifest,
            cutting: cutSegment,
            through: last,
            to: folder,
            environment: environment
        )
    }

    /// The end of the last commit that does not go beyond a position.
    private static func commitEnd(
        atOrBefore position: SequenceNumber,
        in reader: LogReader
    ) throws(LogError) -> SequenceNumber {
        var last = min(position, reader.durableSequence)
        guard last > .zero, last < reader.durableSequence else { return last }
        let end = last
        try reader.read([end]) { event in
            let next = event.commit.first.rawValue + UInt64(event.commit.eventCount)
            if next > end.rawValue + 1 {
                last = SequenceNumber(rawValue: event.commit.first.rawValue - 1)
            }
            return true
        }
        if let damage = reader.damage.first { throw damage }
        return last
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

    /// Copies the segments; what may be thrown is what ``LogBackup/copySegments()`` may throw.
    package mutating func copySegments() throws(LogError) {
        try copy.copySegments()
    }

    /// Makes a store of what was copied, and begins its new incarnation.
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
