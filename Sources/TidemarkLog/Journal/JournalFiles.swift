// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The segments of a journal from the writer's side: the one that takes entries, and the removal of
/// the oldest.
struct JournalFiles: Sendable {
    /// The result of writing entries.
    struct Outcome {
        var writtenCount = 0
        var lostCount = 0
        var failure: FileError?
    }

    /// The segment that takes entries.
    private struct Active {
        var number: UInt64
        var file: any LogFile
        var salt: UInt64
        var created: Int64
        /// The offset of the next entry.
        var end: UInt64
    }

    private let folder: StoreFolder
    private let store: StoreID
    private let incarnation: Incarnation
    private let configuration: JournalConfiguration
    private let environment: LogEnvironment
    private var active: Active?
    /// The number of entries that could not be written since the last one that was.
    private var lostCount: UInt32 = 0
    /// The failed removal of an old segment, until entries are written.
    private var removalError: FileError?

    private var fileSystem: any FileSystem { environment.fileSystem }
    /// The length, and the period of time, at which a segment ends.
    private var segmentByteCount: UInt64 {
        // An eighth, so that removing the oldest segment removes little (`Docs/formats/journal.md`,
        // "Files").
        UInt64(min(max(configuration.byteCount / 8, 4096), Layout.journalSegmentByteCount))
    }
    private var segmentLifetime: Int64 { max(configuration.lifetime / 8, 1) }

    init(
        _ folder: StoreFolder,
        _ store: StoreID,
        _ incarnation: Incarnation,
        _ configuration: JournalConfiguration,
        _ environment: LogEnvironment
    ) {
        self.folder = folder
        self.store = store
        self.incarnation = incarnation
        self.configuration = configuration
        self.environment = environment
    }

    /// Appends entries; entries that cannot be written are lost.
    mutating func write(_ bytes: inout [UInt8]) -> Outcome {
        let count = JournalEntries.count(in: bytes)
        do throws(FileError) {
            var active = try activeSegment()
            // The first entry that is written says how many were lost before it.
            JournalEntries.seal(
                &bytes,
                salt: active.salt,
                offset: active.end,
                lost: lostCount
            )
            try active.file.write(bytes.span.bytes, at: active.end)
            active.end += UInt64(bytes.count)
            self.active = active
            lostCount = 0
            defer { removalError = nil }
            return Outcome(writtenCount: count.entries, failure: removalError)
        } catch {
            // A shorter write at this place would leave the rest of this one behind it.
            discardPart()
            lostCount &+= UInt32(truncatingIfNeeded: count.entries) &+ count.lost
            return Outcome(lostCount: count.entries, failure: error)
        }
    }

    /// Removes what a failed write has left behind the last entry.
    private mutating func discardPart() {
        guard let active else { return }
        do throws(FileError) {
            try active.file.truncate(to: active.end)
        } catch {
            // The next write opens the segment again, and truncates it then or fails too.
            self.active = nil
        }
    }

    /// Closes the open segment until the next entry.
    mutating func park() {
        active = nil
    }

    /// Syncs and closes the open segment.
    mutating func end() {
        guard let active else { return }
        self.active = nil
        // A failure is harmless: no caller was promised durability.
        try? active.file.sync()
        try? fileSystem.syncDirectory(folder.journal)
        try? fileSystem.syncDirectory(folder.path)
    }

    /// Returns the segment that takes entries: the newest, or a new one if the newest is full or
    /// old.
    private mutating func activeSegment() throws(FileError) -> Active {
        if active == nil { active = try reopened() }
        if let active {
            // A segment that a wrong clock began far in the future would never become old.
            if active.end < segmentByteCount,
                age(of: active.created).magnitude < segmentLifetime.magnitude
            {
                return active
            }
        }
        let number =
            if let active { active.number } else {
                try JournalReader.numbers(in: folder, fileSystem).last ?? 0
            }
        end()
        let begun = try begin(number + 1)
        active = begun
        removalError = nil
        do throws(FileError) {
            try removeOld(before: begun)
        } catch {
            // The entries are written all the same. The next new segment tries the removal again.
            removalError = error
        }
        return begun
    }

    /// Returns the newest segment, truncated after its last sound entry; `nil` if there is none to
    /// continue.
    private func reopened() throws(FileError) -> Active? {
        guard let number = try JournalReader.numbers(in: folder, fileSystem).last else {
            return nil
        }
        let path = folder.journalSegment(number)
        let bytes = try fileSystem.contents(of: path)
        guard
            let header = try? FileHeader(decoding: bytes.span.bytes, expecting: .journal),
            header.store == store
        else { return nil }
        let walk = JournalEntries.walk(bytes.span.bytes, salt: header.salt) { _ in true }
        let file = try fileSystem.open(path, .readWrite)
        // The torn tail must not stay behind new entries, where a reader would report it as damage.
        if walk.end < Int(clamping: try file.byteCount()) {
            try file.truncate(to: UInt64(walk.end))
        }
        return Active(
            number: number,
            file: file,
            salt: header.salt,
            created: header.created,
            // Entries begin at multiples of eight, even if the last one's padding was cut off.
            end: UInt64(Layout.aligned(walk.end))
        )
    }

    private func begin(_ number: UInt64) throws(FileError) -> Active {
        if try !fileSystem.exists(folder.journal) {
            try fileSystem.createDirectory(folder.journal)
        }
        let path = folder.journalSegment(number)
        let file = try fileSystem.open(path, .create)
        let header = header(created: environment.now())
        do throws(FileError) {
            try file.write(header.encoded().span.bytes, at: 0)
        } catch {
            try? fileSystem.remove(path)
            throw error
        }
        return Active(
            number: number,
            file: file,
            salt: header.salt,
            created: header.created,
            end: UInt64(Layout.fileHeaderByteCount)
        )
    }

    private func header(created: Int64) -> FileHeader {
        FileHeader(
            kind: .journal,
            store: store,
            incarnation: incarnation,
            first: .zero,
            created: created,
            salt: environment.random()
        )
    }

    /// Removes the oldest segments, by size and by age.
    private func removeOld(before active: Active) throws(FileError) {
        let numbers = try JournalReader.numbers(in: folder, fileSystem).filter {
            $0 < active.number
        }
        var byteCount = UInt64(configuration.byteCount)
        byteCount -= min(byteCount, segmentByteCount)
        // After a segment that is entirely too old or does not fit, no older one is kept.
        var isOver = false
        var nextCreated = active.created
        for number in numbers.reversed() {
            let path = folder.journalSegment(number)
            let length = try fileSystem.status(of: path)?.byteCount ?? 0
            isOver =
                isOver || length > byteCount
                || age(of: nextCreated) >= configuration.lifetime
            if isOver {
                try fileSystem.remove(path)
            } else {
                byteCount -= length
                nextCreated = try created(path) ?? nextCreated
            }
        }
    }

    /// Returns the age of a time stored in a file, which may be any number.
    private func age(of created: Int64) -> Int64 {
        let (age, isBeyond) = environment.now().subtractingReportingOverflow(created)
        return isBeyond ? (created < 0 ? .max : .min) : age
    }

    /// Returns the creation time of a segment; `nil` if its header does not contain it.
    private func created(_ path: String) throws(FileError) -> Int64? {
        let file = try fileSystem.open(path, .read)
        defer { file.close() }
        var bytes = [UInt8](repeating: 0, count: Layout.fileHeaderByteCount)
        var mutable = bytes.mutableSpan
        var span = mutable.mutableBytes
        _ = try file.read(into: &span, at: 0)
        return (try? FileHeader(decoding: bytes.span.bytes, expecting: .journal))?.created
    }

    // MARK: Removing

    /// Rewrites the segments that hold unwanted entries or damage; returns the number of removed
    /// entries.
    mutating func rewrite(
        without isUnwanted: (RawSpan) -> Bool
    ) throws(FileError) -> Int {
        end()
        guard try fileSystem.exists(folder.journal) else { return 0 }
        // An interrupted removal leaves one.
        for name in try fileSystem.list(folder.journal) where name.hasSuffix(".tmp") {
            try fileSystem.remove(folder.journal + "/" + name)
        }
        let numbers = try JournalReader.numbers(in: folder, fileSystem)
        var count = 0
        for number in numbers { count += try rewrite(number, isUnwanted) }
        try fileSystem.syncDirectory(folder.journal)
        return count
    }

    private func rewrite(
        _ number: UInt64,
        _ isUnwanted: (RawSpan) -> Bool
    ) throws(FileError) -> Int {
        let path = folder.journalSegment(number)
        let bytes = try fileSystem.contents(of: path)
        let span = bytes.span.bytes
        guard let old = try? FileHeader(decoding: span, expecting: .journal), old.store == store
        else {
            // The content of this segment is unknown.
            try fileSystem.remove(path)
            return 0
        }
        var kept: [UInt8] = []
        var removedCount = 0
        var keptCount = 0
        let walk = JournalEntries.walk(span, salt: old.salt) { entry in
            let content = span.extracting(entry.content)
            if isUnwanted(content) {
                removedCount += 1
            } else {
                keptCount += 1
                let content = content.withUnsafeBytes { [UInt8]($0) }
                JournalEntries.append(content, at: entry.time, lost: entry.lostCount, to: &kept)
            }
            return true
        }
        // Damage and a torn tail may contain the content to remove, so they are dropped as well.
        if removedCount == 0, walk.damage.isEmpty, walk.end == bytes.count { return 0 }
        // The age of a segment decides when it is removed, so the rewritten one keeps its time.
        let header = header(created: old.created)
        let start = UInt64(Layout.fileHeaderByteCount)
        JournalEntries.seal(&kept, salt: header.salt, offset: start, lost: 0)
        let next = path + ".tmp"
        do throws(FileError) {
            let file = try fileSystem.open(next, .create)
            defer { file.close() }
            // Under another name, synced, then renamed: after a crash, the segment is the old one
            // or the new one.
            try file.write((header.encoded() + kept).span.bytes, at: 0)
            try file.sync()
            try fileSystem.rename(next, to: path)
        } catch {
            // Free the space at once; report only the first failure.
            try? fileSystem.remove(next)
            guard error.isOutOfSpace else { throw error }
            // An erasure that was begun must not stop for want of space: entries may be lost at any time.
            try fileSystem.remove(path)
            return removedCount + keptCount
        }
        return removedCount
    }
}
