// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A copy of a log in another folder, brought up to date.
///
/// In three steps, with room between them for what belongs to a store beside its log:
/// ``init(from:to:environment:)``, ``copySegments()``, ``finish()``. Until the last one has switched
/// to the new manifest, the folder is the backup that it was before: nothing that the old manifest
/// names is changed but by a file that holds the same frames and more.
///
/// No segment of a backup takes events. So whoever opens it, or a copy of it, for writing begins a
/// new incarnation.
package struct LogBackup {
    /// What a backup holds, and what had to be copied for it.
    package struct Figures: Hashable, Sendable {
        /// The last position that it holds.
        package var last = SequenceNumber.zero
        /// Segments that it holds.
        package var segmentCount = 0
        /// Those of them that were copied.
        package var copiedSegmentCount = 0
        /// Bytes of those.
        package var copiedByteCount: UInt64 = 0
        /// Those that are one file with the source's.
        package var sharedSegmentCount = 0
    }

    /// How sealed segments come into a copy.
    package enum Means: Sendable {
        /// Each is read whole and checked first.
        case copies
        /// By another name for the same file where the file system can do that, or else copied: such
        /// a file never changes.
        case links
    }

    package private(set) var figures = Figures()
    private let source: StoreFolder
    private let destination: StoreFolder
    private let environment: LogEnvironment
    /// Keeps the segments of the source from being removed.
    private let reader: LogReader
    private let lockFile: any LogFile
    /// What the backup will hold.
    private var manifest: Manifest
    /// A segment of the source of which it will hold only the beginning, up to the end of the copy.
    private let cutSegment: Manifest.Segment?
    private let previous: LoadedManifest?
    private let means: Means

    private var fileSystem: any FileSystem { environment.fileSystem }

    /// Looks at a store, open or not, and at a folder for its backup, which is made if it is not
    /// there.
    ///
    /// Takes in what is durable at this moment. Throws `notAStore`, `corrupted` or another error for
    /// what is wrong with the source; `locked` while another process writes to the destination; and
    /// `foreignFile` if that is no backup of this store that it continues.
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

    /// The same for a part of a log that somebody reads.
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

    /// Makes the folder, or sees to it that it is empty or holds a store or what a first backup of
    /// this one has left that was cut off.
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
                "The folder holds other files. Give a path where nothing is yet, or a backup of "
                    + "this store.",
                path: folder.path
            )
        }
        guard names.contains("COPYING") else {
            // The copy would be written over commits that may be nowhere else.
            try folder.checkHoldsNoCommits(fileSystem)
            return try LogError.wrapping { () throws(FileError) in
                try fileSystem.open(folder.copying, .create).sync()
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

    /// Checks that what is there is a backup of this store, and of nothing that the store does not
    /// hold itself.
    private func check(_ previous: LoadedManifest) throws(LogError) {
        func refusal(_ found: String) -> LogError {
            LogError(
                .foreignFile,
                "\(found). Give a path where nothing is yet, or a backup of this store.",
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

    /// Brings the segments that the copy does not have yet; those that are copied are read whole and
    /// checked before.
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
                switch means {
                case .copies:
                    if isThere(segment, summary.eventHash) { continue }
                case .links:
                    if try link(file, as: segment) {
                        figures.sharedSegmentCount += 1
                        continue
                    }
                }
            }
            let byteCount = segment.fileByteCount ?? framesEnd
            try Self.check(file, header, framesEnd: framesEnd, byteCount: byteCount)
            // A file without a footer is as long as it was made, which is how others tell that it
            // has not been cut.
            let length = segment.fileByteCount ?? max(framesEnd, header.allocatedByteCount)
            try LogError.wrapping { () throws(FileError) in
                try copy(file, byteCount, to: destination.segment(segment.id), length: length)
            }
            figures.copiedSegmentCount += 1
            figures.copiedByteCount += byteCount
        }
        if let cutSegment { try copyBeginning(of: cutSegment) }
    }

    /// Copies a segment's frames up to the end of the copy: the one that the end lies in is written
    /// anew, with the commits before it.
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
        try LogError.wrapping { () throws(FileError) in
            try copy(
                file,
                cut.offset,
                and: rest,
                to: destination.segment(segment.id),
                length: max(framesEnd, header.allocatedByteCount)
            )
        }
        var ended = segment
        ended.last = figures.last
        ended.framesEnd = framesEnd
        ended.fileByteCount = nil
        manifest.segments.append(ended)
        figures.copiedSegmentCount += 1
        figures.copiedByteCount += framesEnd
    }

    /// The first frame of a segment that has positions behind one; those before it are sound.
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

    /// The bytes of a frame in the place of another that has only its commits up to the end of the
    /// copy; none if there are no such.
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
        let place = FramePlace(
            salt: header.salt,
            offset: frame.offset,
            syncedOffset: 0,
            chain: frame.header.chain
        )
        let dictionary = try SegmentReader.dictionary(of: file, header: header)
        return builder.encoded(at: place, compressor: FrameCompressor(dictionary: dictionary)).bytes
    }

    /// Gives a sealed segment's file a second name, in the copy; `false` if that cannot be done.
    private func link(
        _ file: any LogFile,
        as segment: Manifest.Segment
    ) throws(LogError) -> Bool {
        let path = destination.segment(segment.id)
        return try LogError.wrapping { () throws(FileError) in
            guard try file.byteCount() == segment.fileByteCount else { return false }
            // What an attempt has left that was cut off.
            if try fileSystem.exists(path) { try fileSystem.remove(path) }
            return try fileSystem.linkIfPossible(file.path, to: path)
        }
    }

    /// Adds a segment with one commit behind all others, under an incarnation of its own.
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
        guard fits else { throw LogError(.corrupted, "The manifest's segments are out of order.") }
        figures.segmentCount += 1
    }

    /// Whether the backup has a sealed segment already.
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
        // What is missing or damaged is copied again.
        return (try? found.get()) ?? false
    }

    /// Walks the frames of a segment to their end: what is damaged must not become a backup.
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
                "The manifest promises \(byteCount) bytes, the file has \(found). `tidemark log "
                    + "salvage` copies what is left.",
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

    /// Copies the beginning of a file, and puts some bytes behind it, under a name of its own; syncs
    /// it, and puts it in its place.
    private func copy(
        _ file: any LogFile,
        _ byteCount: UInt64,
        and rest: [UInt8] = [],
        to path: String,
        length: UInt64
    ) throws(FileError) {
        let pieceByteCount: UInt64 = 1 << 20
        let temporary = destination.spare(0)
        if try fileSystem.exists(temporary) { try fileSystem.remove(temporary) }
        let copy = try fileSystem.open(temporary, .create)
        do throws(FileError) {
            var offset: UInt64 = 0
            while offset < byteCount {
                let count = Int(min(pieceByteCount, byteCount - offset))
                var piece = [UInt8](repeating: 0, count: count)
                var span = piece.mutableSpan
                var bytes = span.mutableBytes
                _ = try file.read(into: &bytes, at: offset)
                try copy.write(piece.span.bytes, at: offset)
                offset += UInt64(count)
            }
            if !rest.isEmpty { try copy.write(rest.span.bytes, at: byteCount) }
            let written = byteCount + UInt64(rest.count)
            if length > written { try copy.truncate(to: length) }
            try copy.sync()
            copy.close()
            try fileSystem.rename(temporary, to: path)
        } catch {
            // Give the space back at once; the first failure is the one to tell.
            try? fileSystem.remove(temporary)
            throw error
        }
    }

    // MARK: Finishing

    /// Makes the copied segments durable and then the backup, and removes segments that it needs no
    /// longer, unless somebody reads the backup as it was.
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
        try LoadedManifest.makeCurrent(number, in: destination, fileSystem: fileSystem)
        try LogError.wrapping { () throws(FileError) in
            if try fileSystem.exists(destination.copying) {
                try fileSystem.remove(destination.copying)
            }
        }
        previous?.file.close()
        if !file.removeOlder(in: destination, fileSystem: fileSystem) {
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
