// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// What opening found after the last stop, and what it did about it.
package struct RecoveryReport: Hashable, Sendable {
    /// Whether the store is new.
    package var isNew = false
    /// Whether the last writer closed the store; if not, a new incarnation has begun.
    package var wasClean = true
    /// Bytes behind the last sound frame that were discarded: a write cut short before it was
    /// acknowledged.
    package var discardedByteCount: UInt64 = 0
    /// Where they were.
    package var discardedAt: (path: String, offset: UInt64)?

    package init() {}

    package static func == (lhs: RecoveryReport, rhs: RecoveryReport) -> Bool {
        lhs.isNew == rhs.isNew && lhs.wasClean == rhs.wasClean
            && lhs.discardedByteCount == rhs.discardedByteCount
            && lhs.discardedAt?.path == rhs.discardedAt?.path
            && lhs.discardedAt?.offset == rhs.discardedAt?.offset
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(wasClean)
        hasher.combine(discardedByteCount)
    }
}

/// A log that has been locked, checked and recovered: what a `SegmentLog` is made from.
struct OpenedLog: ~Copyable {
    var store: StoreID
    var folder: StoreFolder
    var files: LogFiles
    var manifest: ManifestFile
    var lockFile: any LogFile
    var active: ActiveSegment
    var lastSequence: SequenceNumber
    var lastTime: Int64
    var report: RecoveryReport
    /// Whether somebody holds an older manifest.
    var hasOlderReaders = false
}

/// The steps of opening a log for writing, in the order in which a crash between any two of them
/// leaves a store that the next opening understands.
struct LogOpening {
    let folder: StoreFolder
    let configuration: LogConfiguration
    let environment: LogEnvironment

    private var fileSystem: any FileSystem { environment.fileSystem }

    /// The same opening, of the folder that is at the path at this moment, whatever comes there later;
    /// makes it if that is asked for and nothing is there.
    func holdingFolder(creating: Bool) throws(LogError) -> LogOpening {
        let (isThere, isStore) = try LogError.wrapping { () throws(FileError) in
            (try fileSystem.exists(folder.path), try fileSystem.exists(folder.current))
        }
        if creating, !isStore { try folder.checkOutsideOfStores(fileSystem) }
        guard isThere || creating else { throw notAStore("Nothing is at this path") }
        var held = environment
        held.fileSystem = try LogError.wrapping { () throws(FileError) in
            if !isThere { try fileSystem.createDirectory(folder.path) }
            return try fileSystem.holding(folder.path)
        }
        return LogOpening(folder: folder, configuration: configuration, environment: held)
    }

    /// Opens, or creates if that is asked for and nothing is there but the folder.
    func open(
        creating: Bool,
        asCopyOf original: StoreID? = nil
    ) throws(LogError) -> OpenedLog {
        try checkUnused(creating: creating, isCopy: original != nil)
        let lockFile = try lock()
        guard let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) else {
            // Creating removes what is there, so this must be so now that nobody else writes.
            try checkUnused(creating: creating, isCopy: original != nil)
            return try create(lockFile: lockFile, asCopyOf: original)
        }
        if let damage = loaded.damage { throw damage }
        return try recover(loaded, lockFile: lockFile)
    }

    private func notAStore(_ found: String) -> LogError {
        LogError(
            .notAStore,
            "\(found); expected a store's folder with a file CURRENT. Check the path, or create "
                + "the store by importing into it.",
            path: folder.path
        )
    }

    /// A folder without `CURRENT` is empty, or what a creation that was cut short has left; it
    /// must hold nothing else, and above all no commits.
    private func checkUnused(creating: Bool, isCopy: Bool) throws(LogError) {
        let names = try folder.names(fileSystem)
        if names.contains("CURRENT") { return }
        if names.contains("CURRENT.unfinished"), !isCopy { throw .unfinishedSalvage(folder) }
        do throws(LogError) {
            try folder.checkHoldsNoCommits(fileSystem)
        } catch {
            // Somebody else may have made it meanwhile.
            let isThere = try LogError.wrapping { () throws(FileError) in
                try fileSystem.exists(folder.current)
            }
            if isThere { return }
            throw error
        }
        var ours: Set<String> = ["LOCK", "CURRENT.tmp", "segments", "views"]
        if isCopy { ours.formUnion(["CURRENT.unfinished", "RESERVE", "assets"]) }
        let isOurs = names.allSatisfy {
            ours.contains($0) || StoreFolder.manifestNumber($0) != nil
        }
        guard isOurs else { throw notAStore("The folder holds other files") }
        guard creating else { throw notAStore("The folder is empty") }
    }

    /// Keeps every other writer out.
    ///
    /// A reader that looks whether the store is open holds the lock for an instant, so one refusal
    /// is not the last word.
    func lock() throws(LogError) -> any LogFile {
        let file = try LogError.wrapping { () throws(FileError) in try openLockFile() }
        let attemptCount = environment.writesInline ? 1 : 40
        for attempt in 1...attemptCount {
            if try LogError.wrapping({ () throws(FileError) in try file.lock(.exclusive) }) {
                return file
            }
            if attempt < attemptCount {
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(5))
            }
        }
        throw LogError(
            .locked,
            "Another process, or another opening in this one, has the store open for writing. "
                + "Close it there, or read it without opening it for writing.",
            path: folder.lock
        )
    }

    private func openLockFile() throws(FileError) -> any LogFile {
        do throws(FileError) {
            return try fileSystem.open(
                folder.lock,
                try fileSystem.exists(folder.lock) ? .readWrite : .create
            )
        } catch {
            // Somebody else may have made it meanwhile.
            guard try fileSystem.exists(folder.lock) else { throw error }
            return try fileSystem.open(folder.lock, .readWrite)
        }
    }

    // MARK: Creating

    private func create(
        lockFile: any LogFile,
        asCopyOf original: StoreID?
    ) throws(LogError) -> OpenedLog {
        try LogError.wrapping { () throws(FileError) in
            // Also if the folder was there: who made it may not have come as far as this.
            try fileSystem.syncDirectory(folder.parent)
            try fileSystem.createDirectory(folder.segments)
        }
        for name in try segmentFolderNames() {
            try LogError.wrapping { () throws(FileError) in
                try fileSystem.remove(folder.segments + "/" + name)
            }
        }
        let store =
            original ?? StoreID(low: environment.random(), high: environment.random())
        var manifest = Manifest(store: store)
        let incarnation = try begin(&manifest, first: SequenceNumber(rawValue: 1))
        let reader = try newSegment(
            SegmentID(first: SequenceNumber(rawValue: 1)),
            incarnation: incarnation,
            store: store,
            sample: DictionarySample(),
            room: Layout.smallestSegmentByteCount
        )
        try add(reader.id, incarnation, to: &manifest)
        let file = try write(manifest, number: 1)
        var report = RecoveryReport()
        report.isNew = true
        return OpenedLog(
            store: store,
            folder: folder,
            files: makeFiles(manifest, active: reader),
            manifest: file,
            lockFile: lockFile,
            active: ActiveSegment(
                reader: reader,
                offset: UInt64(reader.header.framesOffset),
                chain: reader.header.chain,
                lastTime: .min,
                lastReceived: .min
            ),
            lastSequence: .zero,
            lastTime: .min,
            report: report
        )
    }

    private func begin(
        _ manifest: inout Manifest,
        first: SequenceNumber
    ) throws(LogError) -> Incarnation {
        let incarnation = Incarnation(rawValue: environment.random() | 1)
        guard manifest.apply(.began(incarnation, first: first)) else {
            throw LogError(.corrupted, "The manifest's incarnations are out of order.")
        }
        return incarnation
    }

    private func add(
        _ id: SegmentID,
        _ incarnation: Incarnation,
        to manifest: inout Manifest
    ) throws(LogError) {
        guard manifest.apply(.added(id, incarnation)) else {
            throw LogError(
                .corrupted,
                "Segment \(id.fileName) does not follow the one before it in the manifest.",
                path: folder.segment(id)
            )
        }
    }

    private func newSegment(
        _ id: SegmentID,
        incarnation: Incarnation,
        store: StoreID,
        sample: DictionarySample,
        room: Int
    ) throws(LogError) -> SegmentReader {
        let spare = try SpareSegment.prepare(
            room: min(room, configuration.segmentByteCount),
            number: 0,
            store: store,
            in: folder,
            sample: sample,
            environment: environment
        )
        return try spare.becomeSegment(
            id,
            incarnation: incarnation,
            in: folder,
            environment: environment
        )
    }

    /// Starts a manifest file and makes it the one that counts.
    private func write(_ manifest: Manifest, number: UInt64) throws(LogError) -> ManifestFile {
        let file = try ManifestFile(
            creating: manifest,
            number: number,
            in: folder,
            environment: environment
        )
        try LoadedManifest.makeCurrent(number, in: folder, fileSystem: fileSystem)
        return file
    }

    private func makeFiles(
        _ manifest: Manifest,
        active: SegmentReader,
        walked: [SegmentID: SegmentReader] = [:]
    ) -> LogFiles {
        var segments = LogFiles.segments(of: manifest)
        for index in segments.indices { segments[index].reader = walked[segments[index].id] }
        segments[segments.count - 1].reader = active
        return LogFiles(
            store: manifest.store,
            folder: folder,
            fileSystem: fileSystem,
            segments: segments,
            cacheByteCount: configuration.cacheByteCount
        )
    }

    // MARK: Recovering

    private func recover(
        _ loaded: LoadedManifest,
        lockFile: any LogFile
    ) throws(LogError) -> OpenedLog {
        var manifest = loaded.manifest
        var previous = try checkFinished(manifest)
        let orphans = try orphans(of: manifest)
        var found = try walkActive(manifest)
        let last = found?.last ?? previous.last
        let lastTime = max(found?.lastTime ?? .min, previous.lastTime)
        var report = RecoveryReport()
        let isClean =
            if let found, let closing = manifest.closing {
                found.tail == .clean && found.end == closing.framesEnd && found.last == closing.last
            } else {
                false
            }
        manifest.closing = nil
        var begun: SegmentReader?
        if !isClean {
            report.wasClean = false
            if let found, case .torn(let byteCount) = found.tail {
                report.discardedByteCount = byteCount
                report.discardedAt = (found.reader.file.path, found.end)
            }
            // The new manifest will promise what was found.
            try found?.makeDurable()
            begun = try beginAgain(&manifest, after: last, found: found)
        }
        let file = try write(manifest, number: loaded.number + 1)
        try LogError.wrapping { () throws(FileError) in
            // A copy that was cut off right behind its end.
            if try fileSystem.exists(folder.copying) { try fileSystem.remove(folder.copying) }
        }
        // Not before: a process that was killed may have left a manifest that is read but not yet on
        // disk, and the one before it may need what this one does not.
        loaded.file.close()
        let hasOlderReaders = file.removeOlder(in: folder, fileSystem: fileSystem)
        try remove(orphans, sparing: manifest, isRead: hasOlderReaders)
        guard let reader = begun ?? found?.reader else {
            preconditionFailure("a log is opened with a segment that takes events")
        }
        var active = ActiveSegment(
            reader: reader,
            offset: begun == nil ? found?.end ?? 0 : UInt64(reader.header.framesOffset),
            chain: begun == nil ? found?.chain ?? 0 : reader.header.chain,
            lastTime: lastTime,
            lastReceived: max(found?.lastReceived ?? .min, previous.lastReceived),
            endsWithClosing: isClean
        )
        if begun != nil {
            // Durable with the first commit; without one, the next opening replaces the segment.
            try active.write(.recovery, next: last.next, payload: report.encoded())
        }
        if begun != nil, let found { previous.readers[found.reader.id] = found.reader }
        found = nil
        return OpenedLog(
            store: manifest.store,
            folder: folder,
            files: makeFiles(manifest, active: reader, walked: previous.readers),
            manifest: file,
            lockFile: lockFile,
            active: active,
            lastSequence: last,
            lastTime: lastTime,
            report: report,
            hasOlderReaders: hasOlderReaders
        )
    }

    /// Ends the segment that was being written, and begins a new incarnation in a new one.
    private func beginAgain(
        _ manifest: inout Manifest,
        after last: SequenceNumber,
        found: WalkedSegment?
    ) throws(LogError) -> SegmentReader {
        var generation: UInt32 = 0
        var sample = DictionarySample()
        if let found {
            let id = found.reader.id
            let isEmpty = found.last < id.first
            guard
                manifest.apply(.ended(id, last: found.last, framesEnd: found.end)),
                !isEmpty || manifest.apply(.removed(id))
            else { throw LogError(.corrupted, "The manifest's segments are out of order.") }
            if isEmpty { generation = id.generation + 1 }
            sample = try DictionarySample.taken(from: found.reader)
        }
        let incarnation = try begin(&manifest, first: last.next)
        let id = SegmentID(first: last.next, generation: generation)
        // Small: filling a large one with zeros would take longer than all the rest of opening.
        let reader = try newSegment(
            id,
            incarnation: incarnation,
            store: manifest.store,
            sample: sample,
            room: Layout.smallestSegmentByteCount
        )
        try add(id, incarnation, to: &manifest)
        return reader
    }

    /// Where the finished part of the log ends, by its manifest and its last segment.
    private struct Finished {
        var last = SequenceNumber.zero
        var lastTime = Int64.min
        var lastReceived = Int64.min
        /// The segments that had to be walked, so that nobody walks them again.
        var readers: [SegmentID: SegmentReader] = [:]
    }

    /// Checks that every finished segment is there, is ours, and is as long as it was, and reads
    /// what tells where the log ends.
    ///
    /// The footer of a sealed segment is checked when it is first read, each block whenever it is:
    /// reading all of them here would make opening take longer the longer the log is. A segment that
    /// was not sealed any more is walked.
    private func checkFinished(_ manifest: Manifest) throws(LogError) -> Finished {
        var finished = Finished()
        let lastIndex = manifest.segments.lastIndex { $0.last != nil }
        for (index, segment) in manifest.segments.enumerated() {
            guard let last = segment.last, let framesEnd = segment.framesEnd else { continue }
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: manifest.store,
                in: folder,
                fileSystem: fileSystem
            )
            try checkLength(of: file, segment, framesEnd: framesEnd)
            finished.last = last
            if segment.fileByteCount == nil {
                let walked = try WalkedSegment(
                    segment.id,
                    store: manifest.store,
                    in: folder,
                    fileSystem: fileSystem,
                    framesEnd: framesEnd
                )
                if case .corrupted(let error) = walked.tail { throw error }
                finished.lastTime = max(finished.lastTime, walked.lastTime)
                finished.lastReceived = max(finished.lastReceived, walked.lastReceived)
                finished.readers[segment.id] = walked.reader
            } else if index == lastIndex {
                let summary = try SegmentReader.footerSummary(of: file, header: header)
                try summary.check(last: last, framesEnd: framesEnd, path: file.path)
                finished.lastTime = max(finished.lastTime, summary.lastTime)
                finished.lastReceived = max(finished.lastReceived, summary.lastReceived)
            }
        }
        return finished
    }

    private func checkLength(
        of file: any LogFile,
        _ segment: Manifest.Segment,
        framesEnd: UInt64
    ) throws(LogError) {
        let byteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
        let expected = segment.fileByteCount ?? framesEnd
        guard byteCount == expected || (segment.fileByteCount == nil && byteCount > expected)
        else {
            throw LogError(
                .corrupted,
                "The manifest promises \(expected) bytes, the file has \(byteCount). Bring it "
                    + "back from a backup; `tidemark log salvage` copies what is left.",
                path: file.path,
                offset: min(byteCount, expected)
            )
        }
    }

    private func walkActive(_ manifest: Manifest) throws(LogError) -> WalkedSegment? {
        guard let active = manifest.active else { return nil }
        let walked = try WalkedSegment(
            active.id,
            store: manifest.store,
            in: folder,
            fileSystem: fileSystem,
            mode: .readWrite,
            promised: manifest.closing?.framesEnd
        )
        if case .corrupted(let error) = walked.tail { throw error }
        return walked
    }

    // MARK: Tidying

    private func segmentFolderNames() throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(folder.segments) ? try fileSystem.list(folder.segments) : []
        }
    }

    /// What a crash left behind: prepared segments, a segment that got its name but not its line in
    /// the manifest, and segments that compaction was about to remove.
    ///
    /// One behind the manifest's last is empty; one with commits there means that the manifest is
    /// not the one it should be. But behind a backup, whose manifest has no segment that takes events,
    /// it is of the next backup, which was cut off.
    private func orphans(of manifest: Manifest) throws(LogError) -> [String] {
        let known = Set(manifest.segments.map(\.id))
        var orphans: [String] = []
        for name in try segmentFolderNames() {
            if let id = SegmentID(fileName: name) {
                if known.contains(id) { continue }
                if manifest.active != nil, try folder.holdsCommits(id, fileSystem),
                    manifest.segments.last.map({ id > $0.id }) ?? true
                {
                    throw LogError(
                        .corrupted,
                        "The segment holds commits, and the manifest does not know it. The "
                            + "manifest is an old one, or the file is from elsewhere; `tidemark "
                            + "log salvage` copies what both hold.",
                        path: folder.segment(id)
                    )
                }
            } else if !StoreFolder.isSpare(name) {
                continue
            }
            orphans.append(name)
        }
        return orphans
    }

    /// Removes orphans, but those whose name a new segment has taken, and segments that somebody may
    /// still read who found the store as it was before compaction replaced them.
    private func remove(
        _ orphans: [String],
        sparing manifest: Manifest,
        isRead: Bool
    ) throws(LogError) {
        let known = Set(manifest.segments.map(\.id.fileName))
        for name in orphans
        where !known.contains(name) && (!isRead || StoreFolder.isSpare(name)) {
            let path = folder.segments + "/" + name
            try LogError.wrapping { () throws(FileError) in
                if try fileSystem.exists(path) { try fileSystem.remove(path) }
            }
        }
    }
}

extension RecoveryReport {
    /// The payload of a recovery frame: bytes discarded, and the offset they began at.
    func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(integer: discardedByteCount)
        bytes.append(integer: discardedAt?.offset ?? 0)
        return bytes
    }
}

extension LogFiles {
    /// The segments that a manifest names, none of them opened.
    static func segments(of manifest: Manifest) -> [Segment] {
        manifest.segments.map {
            Segment(
                id: $0.id,
                last: $0.last,
                framesEnd: $0.framesEnd,
                isSealed: $0.fileByteCount != nil
            )
        }
    }
}
