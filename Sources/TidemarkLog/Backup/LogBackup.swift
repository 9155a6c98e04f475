// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A copy of a log in another folder, brought up to date.
///
/// A backup has three steps: ``init(from:to:environment:)``, ``copySegments()`` and ``finish()``.
/// Between them, the caller copies the store's files outside of the log. Until the last step has
/// switched to the new manifest, the folder is the previous backup. A file that the old manifest
/// names is replaced only by a file that holds the same frames and more.
///
/// No segment of a backup takes events. Opening the backup, or a copy of it, for writing therefore
/// begins a new incarnation.
package struct LogBackup {
    /// The contents of a backup, and the amount that was copied for it.
    package struct Figures: Hashable, Sendable {
        /// The last position in the backup.
        package var last = SequenceNumber.zero
        /// The number of segments in the backup.
        package var segmentCount = 0
        /// The number of those segments that were copied.
        package var copiedSegmentCount = 0
        /// The size of the copied segments, in bytes.
        package var copiedByteCount: UInt64 = 0
        /// The number of segments that share one file with the source.
        package var sharedSegmentCount = 0
    }

    /// The method for adding sealed segments to a copy.
    package enum Means: Sendable {
        /// Each segment is read in full and checked before it is copied.
        case copies
        /// The copy gets a second name for the same file if the file system supports hard links;
        /// otherwise the file is copied. A sealed segment never changes.
        case links
    }

    package private(set) var figures = Figures()
    private let source: StoreFolder
    private let destination: StoreFolder
    private let environment: LogEnvironment
    /// Keeps the segments of the source from being removed.
    private let reader: LogReader
    private let lockFile: any LogFile
    /// The manifest of the finished backup.
    private var manifest: Manifest
    /// The source segment that contains the end of the copy; only its beginning is copied.
    private let cutSegment: Manifest.Segment?
    private let previous: LoadedManifest?
    private let means: Means

    private var fileSystem: any FileSystem { environment.fileSystem }

    /// Examines a store, open or not, and the folder for its backup; creates the folder if it is
    /// missing.
    ///
    /// The backup includes everything that is durable at this moment. Throws `notAStore`,
    /// `corrupted` or another error if something is wrong with the source; `locked` while another
    /// process writes to the destination; and `foreignFile` if the destination is not a backup of
    /// this store that this one can continue.
    package init(
        from source: String,
        to destination: String,
        environment: LogEnvironment
    ) throws(LogError) {
        let reader = try LogReader(source, fileSystem: environment.fileSystem)
        if reader.compactedThrough > .zero { try reader.settle() }
        if let damage = reader.damage.first { throw damage }
        try self.init(
            of: reader,
            reader.finishedManifest,
            through: reader.durableSequence,
            to: StoreFolder(destination),
            environment: environment
        )
    }

    /// Prepares a copy of a part of a log that a reader has open.
    init(
        of reader: LogReader,
        _ manifest: Manifest,
        cutting cutSegment: Manifest.Segment? = nil,
        by means: Means = .copies,
        through last: SequenceNumber,
        to folder: StoreFolder,
        environment: LogEnvironment
    ) throws(LogError) {
        self.reader = reader
        self.manifest = manifest
        self.cutSegment = cutSegment
        self.means = means
        self.environment = environment
        source = reader.folder
        destination = folder
        figures.last = last
        figures.segmentCount = manifest.segments.count + (cutSegment == nil ? 0 : 1)
        try Self.prepare(folder, for: reader.store, environment.fileSystem)
        lockFile = try LogOpening(
            folder: folder,
            configuration: LogConfiguration(),
            environment: environment
        )
        .lock()
        previous = try LoadedManifest.load(from: folder, fileSystem: environment.fileSystem)
        if let previous { try check(previous) }
    }

    /// Creates the folder, or checks that an existing folder is empty, holds a store, or holds the
    /// remains of an interrupted first backup of this store.
    static func prepare(
        _ folder: StoreFolder,
        for store: StoreID,
        _ fileSystem: any FileSystem
    ) throws(LogError) {
        try folder.checkOutsideOfStores(fileSystem)
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.createDirectory(folder.path)
        }
        let names = try folder.names(fileSystem)
        if names.contains("CURRENT") { return }
        let ours: Set<String> = ["LOCK", "COPYING", "CURRENT.tmp", "segments", "assets", "views"]
        let isOurs = names.allSatisfy {
            ours.contains($0) || StoreFolder.manifestNumber($0) != nil
        }
        guard isOurs else {
            throw LogError(
                .foreignFile,
                "The folder holds other files. Give a path that does not exist yet, or a backup of "
                    + "this store.",
                path: folder.path
            )
        }
        guard names.contains("COPYING") else {
            // The copy would overwrite commits that may exist nowhere else.
            try folder.checkHoldsNoCommits(fileSystem)
            return try LogError.wrapping { () throws(FileError) in
                try fileSystem.open(folder.copying, .create).sync()
                // Before anything else is made here: without this name, the next attempt refuses the
                // folder.
                try fileSystem.syncDirectory(folder.path)
            }
        }
        guard names.contains("segments") else { return }
        let segments = try LogError.wrapping { () throws(FileError) in
            try fileSystem.list(folder.segments)
        }
        for id in segments.compactMap(SegmentID.init(fileName:)) {
            _ = try SegmentReader.open(id, store: store, in: folder, fileSystem: fileSystem)
        }
    }

    /// Checks that the existing store is a backup of this one, and holds nothing that this store
    /// lacks.
    private func check(_ previous: LoadedManifest) throws(LogError) {
        func refusal(_ found: String) -> LogError {
            LogError(
                .foreignFile,
                "\(found). Give a path that does not exist yet, or a backup of this store.",
                path: destination.path
            )
        }
        if let damage = previous.damage { throw damage }
        let old = previous.manifest
        guard old.store == manifest.store else {
            throw refusal(
                "The folder holds store \(old.store), which is not this one, \(manifest.store)"
            )
        }
        guard old.active == nil else {
            throw refusal(
                "The folder holds a store that has been opened for writing, not a backup"
            )
        }
        let last = old.segments.last?.last ?? .zero
        let line = manifest.line.entries
        // A later incarnation that begins at or before `last` has discarded events that the backup
        // still holds.
        let isContinued =
            last <= figures.last && line.starts(with: old.line.entries)
            && line.dropFirst(old.line.entries.count).allSatisfy { $0.first > last }
        guard isContinued else {
            throw refusal(
                "The backup goes up to event \(last) of a history that this store does not "
                    + "continue: the store was restored or has lost events since"
            )
        }
    }

    // MARK: Copying

    /// Copies the segments that the backup does not have yet; each one is read in full and checked
    /// first.
    ///
    /// Throws `corrupted` for damage in the source, `full` or `unreadable`.
    package mutating func copySegments() throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.createDirectory(destination.segments)
        }
        for (index, segment) in manifest.segments.enumerated() {
            try LongWork.step(index, of: manifest.segments.count)
            guard let framesEnd = segment.framesEnd else { continue }
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: manifest.store,
                in: source,
                fileSystem: reader.fileSystem
            )
            if segment.fileByteCount != nil {
                let summary = try SegmentReader.footerSummary(of: file, header: header)
                try summary.check(
                    last: segment.last ?? .zero,
                    framesEnd: framesEnd,
                    path: file.path
                )
                if means == .copies, isThere(segment, summary.eventHash) { continue }
                // Its directory and postings too, without which a writer does not open the copy.
                _ = try SegmentReader.footer(of: file, header: header)
                if means == .links, try link(file, as: segment) {
                    figures.sharedSegmentCount += 1
                    continue
                }
            }
            let byteCount = segment.fileByteCount ?? framesEnd
            try Self.check(file, header, framesEnd: framesEnd, byteCount: byteCount)
            // An unsealed file keeps its allocated length, which shows that it has not been cut.
            let length = segment.fileByteCount ?? max(framesEnd, header.allocatedByteCount)
            try copy(file, byteCount, to: destination.segment(segment.id), length: length)
            figures.copiedSegmentCount += 1
            figures.copiedByteCount += byteCount
        }
        if let cutSegment { try copyBeginning(of: cutSegment) }
    }

    /// Copies a segment's frames up to the end of the copy.
    ///
    /// The frame that contains the end is rewritten with only the commits before the end.
    private mutating func copyBeginning(of segment: Manifest.Segment) throws(LogError) {
        let (file, header) = try SegmentReader.open(
            segment.id,
            store: manifest.store,
            in: source,
            fileSystem: reader.fileSystem
        )
        let cut = try frame(after: figures.last, of: file, header, segment)
        let rest = try beginning(of: cut, of: file, header)
        let framesEnd = cut.offset + UInt64(rest.count)
        try copy(
            file,
            cut.offset,
            and: rest,
            to: destination.segment(segment.id),
            length: max(framesEnd, header.allocatedByteCount)
        )
        var ended = segment
        ended.last = figures.last
        ended.framesEnd = framesEnd
        ended.fileByteCount = nil
        manifest.segments.append(ended)
        figures.copiedSegmentCount += 1
        figures.copiedByteCount += framesEnd
    }

    /// Returns the first frame of a segment with positions after a given one; the frames before it
    /// are sound.
    private func frame(
        after last: SequenceNumber,
        of file: any LogFile,
        _ header: FileHeader,
        _ segment: Manifest.Segment
    ) throws(LogError) -> FrameScan.Frame {
        var scan = try FrameScan(file, header: header, limit: segment.framesEnd)
        while true {
            switch try scan.step() {
            case .frame(let frame):
                if frame.header.positionCount > 0, frame.header.last > last { return frame }
            case .stop(let stop):
                if case .corrupted(let error) =
                    try scan.tail(after: stop, promised: segment.framesEnd)
                {
                    throw error
                }
                throw LogError(
                    .corrupted,
                    "Expected frames with events behind \(last), found their end here. `tidemark log "
                        + "salvage` copies what is sound.",
                    path: file.path,
                    offset: scan.offset
                )
            }
        }
    }

    /// Returns the bytes of a frame that keeps only the commits up to the end of the copy; empty if
    /// there are none.
    private func beginning(
        of frame: FrameScan.Frame,
        of file: any LogFile,
        _ header: FileHeader
    ) throws(LogError) -> [UInt8] {
        let last = figures.last
        if last < frame.header.first { return [] }
        var builder = FrameBuilder(first: frame.header.first)
        var commit = SequenceNumber.zero
        try reader.scan(from: frame.header.first, through: last) { event in
            builder.append(event, isFirst: event.commit.first != commit)
            commit = event.commit.first
            return true
        }
        if let damage = reader.damage.first { throw damage }
        if last >= builder.next {
            builder.appendGap(UInt32(last.rawValue - builder.next.rawValue + 1))
        }
        // The copy has the same frames before this one, so the chain word of the original is right.
        let place = FramePlace(
            salt: header.salt,
            offset: frame.offset,
            syncedOffset: 0,
            chain: frame.header.chain
        )
        let dictionary = try SegmentReader.dictionary(of: file, header: header)
        let compressor = FrameCompressor(dictionary: dictionary)
        return builder.frame().encoded(at: place, compressor: compressor).bytes
    }

    /// Gives a sealed segment's file a second name in the copy; returns `false` if that is
    /// impossible.
    private func link(
        _ file: any LogFile,
        as segment: Manifest.Segment
    ) throws(LogError) -> Bool {
        let path = destination.segment(segment.id)
        return try LogError.wrapping { () throws(FileError) in
            guard try file.byteCount() == segment.fileByteCount else { return false }
            // The remains of an interrupted attempt.
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            return try fileSystem.linkIfPossible(file.path, to: path)
        }
    }

    /// Adds a segment with one commit after all others, under a new incarnation.
    mutating func append(_ draft: CommitDraft) throws(LogError) {
        let incarnation = Incarnation(rawValue: environment.random() | 1)
        let id = SegmentID(first: figures.last.next)
        var output = try CompactedSegment(
            id,
            incarnation: incarnation,
            store: manifest.store,
            sample: DictionarySample(),
            at: destination.spare(0),
            environment: environment
        )
        let last = figures.last + draft.events.count
        output.append(draft)
        let place = try output.finish(through: last)
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.rename(destination.spare(0), to: destination.segment(id))
        }
        let fits =
            manifest.apply(.began(incarnation, first: id.first))
            && manifest.apply(.added(id, incarnation))
            && manifest.apply(.ended(id, last: last, framesEnd: place.framesEnd))
            && manifest.apply(.sealed(id, fileByteCount: place.fileByteCount))
        guard fits else { throw LogError.segmentsOutOfOrder }
        figures.segmentCount += 1
    }

    /// Returns true if the backup already has a sealed segment.
    private func isThere(_ segment: Manifest.Segment, _ eventHash: EventHash) -> Bool {
        let found = Result { () throws(LogError) -> Bool in
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: manifest.store,
                in: destination,
                fileSystem: fileSystem
            )
            let byteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
            guard byteCount == segment.fileByteCount else { return false }
            return try SegmentReader.footerSummary(of: file, header: header).eventHash == eventHash
        }
        // A missing or damaged segment is copied again.
        return (try? found.get()) ?? false
    }

    /// Checks every frame of a segment, so that damage is never copied into a backup.
    private static func check(
        _ file: any LogFile,
        _ header: FileHeader,
        framesEnd: UInt64,
        byteCount: UInt64
    ) throws(LogError) {
        let found = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
        guard found >= byteCount else {
            throw LogError(
                .corrupted,
                "The manifest promises \(byteCount) bytes, but the file has \(found). Restore it "
                    + "from a backup; `tidemark log salvage` copies what is left.",
                path: file.path,
                offset: found
            )
        }
        _ = try SegmentReader.dictionary(of: file, header: header)
        var scan = try FrameScan(file, header: header, limit: framesEnd)
        while true {
            guard case .stop(let stop) = try scan.step() else { continue }
            if case .corrupted(let error) = try scan.tail(after: stop, promised: framesEnd) {
                throw error
            }
            return
        }
    }

    /// Copies the beginning of a file and appends bytes to it, under a temporary name; then syncs
    /// the copy and renames it into place.
    private func copy(
        _ file: any LogFile,
        _ byteCount: UInt64,
        and rest: [UInt8] = [],
        to path: String,
        length: UInt64
    ) throws(LogError) {
        let temporary = destination.spare(0)
        let copy = try LogError.wrapping { () throws(FileError) -> any LogFile in
            if try fileSystem.exists(temporary) { try fileSystem.remove(temporary) }
            return try fileSystem.open(temporary, .create)
        }
        do throws(LogError) {
            try Self.copy(file, byteCount, to: copy)
            try LogError.wrapping { () throws(FileError) in
                if !rest.isEmpty { try copy.write(rest.span.bytes, at: byteCount) }
                let written = byteCount + UInt64(rest.count)
                if length > written { try copy.truncate(to: length) }
                try copy.sync()
                copy.close()
                try fileSystem.rename(temporary, to: path)
            }
        } catch {
            // Free the space at once; report only the first failure.
            try? fileSystem.remove(temporary)
            throw error
        }
    }

    /// Copies the beginning of a file that has just been checked.
    private static func copy(
        _ file: any LogFile,
        _ byteCount: UInt64,
        to copy: any LogFile
    ) throws(LogError) {
        let pieceByteCount: UInt64 = 1 << 20
        var offset: UInt64 = 0
        while offset < byteCount {
            let count = Int(min(pieceByteCount, byteCount - offset))
            let piece = try file.bytes(at: offset, byteCount: count)
            guard piece.count == count else {
                throw LogError(
                    .corrupted,
                    "Expected \(byteCount) bytes to copy, but the file was cut to "
                        + "\(offset + UInt64(piece.count)) bytes after it was checked. `tidemark log "
                        + "salvage` copies what is left.",
                    path: file.path,
                    offset: offset + UInt64(piece.count)
                )
            }
            try LogError.wrapping { () throws(FileError) in
                try copy.write(piece.span.bytes, at: offset)
            }
            offset += UInt64(count)
        }
    }

    // MARK: Finishing

    /// Makes the copied segments durable, then the backup, and removes segments that are no longer
    /// needed, unless a reader has the previous backup open.
    package func finish() throws(LogError) -> Figures {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.syncDirectory(destination.segments)
            try fileSystem.syncDirectory(destination.path)
            try fileSystem.syncDirectory(destination.parent)
        }
        let number = (previous?.number ?? 0) + 1
        let file = try ManifestFile(
            creating: manifest,
            number: number,
            in: destination,
            environment: environment
        )
        do throws(LogError) {
            try LoadedManifest.makeCurrent(number, in: destination, fileSystem: fileSystem)
            try LogError.wrapping { () throws(FileError) in
                if try fileSystem.exists(destination.copying) {
                    try fileSystem.remove(destination.copying)
                }
            }
        } catch {
            // A first copy that failed must not look complete to the next attempt.
            if previous == nil { try? fileSystem.remove(destination.current) }
            throw error
        }
        previous?.file.close()
        if previous == nil {
            // The remains of an earlier attempt. The first open for writing removes them too.
            try? removeUnused()
        } else if !file.removeOlder(in: destination, fileSystem: fileSystem) {
            try LogError.wrapping { () throws(FileError) in try removeUnused() }
        }
        lockFile.close()
        return figures
    }

    private func removeUnused() throws(FileError) {
        let known = Set(manifest.segments.map(\.id.fileName))
        for name in try fileSystem.list(destination.segments) where !known.contains(name) {
            guard SegmentID(fileName: name) != nil || StoreFolder.isSpare(name) else { continue }
            try fileSystem.remove(destination.segments + "/" + name)
        }
        try fileSystem.syncDirectory(destination.segments)
    }
}
