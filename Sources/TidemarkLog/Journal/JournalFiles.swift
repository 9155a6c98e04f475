// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The segments of a journal as its writer has them: the one that takes entries, and when the oldest go.
struct JournalFiles: Sendable {
    /// What became of some entries.
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
        /// Where the next entry goes.
        var end: UInt64
    }

    private let folder: StoreFolder
    private let store: StoreID
    private let incarnation: Incarnation
    private let configuration: JournalConfiguration
    private let environment: LogEnvironment
    private var active: Active?
    /// Entries that could not be written since the last one that could.
    private var lostCount: UInt32 = 0

    private var fileSystem: any FileSystem { environment.fileSystem }
    /// A segment ends at this length, or when it covers this long.
    private var segmentByteCount: UInt64 {
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

    /// Writes entries behind the others; those that cannot be written are lost.
    mutating func write(_ bytes: inout [UInt8]) -> Outcome {
        let count = JournalEntries.count(in: bytes)
        do throws(FileError) {
            var active = try activeSegment()
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
            return Outcome(writtenCount: count.entries)
        } catch {
            // The place is written again by what comes next.
            lostCount &+= UInt32(truncatingIfNeeded: count.entries) &+ count.lost
            return Outcome(lostCount: count.entries, failure: error)
        }
    }

    /// Syncs and closes what is open.
    mutating func end() {
        guard let active else { return }
        self.active = nil
        // If this fails, nobody was promised anything.
        try? active.file.sync()
        try? fileSystem.syncDirectory(folder.journal)
        try? fileSystem.syncDirectory(folder.path)
    }

    /// The segment that takes entries: the newest, unless it is full or old; then a new one.
    private mutating func activeSegment() throws(FileError) -> Active {
        if active == nil { active = try reopened() }
        if let active {
            if active.end < segmentByteCount, age(of: active.created) < segmentLifetime {
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
        try removeOld(before: begun)
        return begun
    }

    /// The newest segment, cut behind its last sound entry; `nil` if there is none to go on with.
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
        if walk.end < Int(clamping: try file.byteCount()) {
            try file.truncate(to: UInt64(walk.end))
        }
        return Active(
            number: number,
            file: file,
            salt: header.salt,
            created: header.created,
            // Entries begin at multiples of eight, also where the last one's padding was cut off.
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
        // Behind a segment that is too old as a whole, or does not fit, none is kept.
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

    /// How long ago a time was that a file says, which may be any number.
    private func age(of created: Int64) -> Int64 {
        let (age, isBeyond) = environment.now().subtractingReportingOverflow(created)
        return isBeyond ? (created < 0 ? .max : .min) : age
    }

    /// When a segment was begun; `nil` where its header does not say so.
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

    /// Rewrites the segments that hold entries which are not wanted, or damage; returns how many entries
    /// were removed.
    mutating func rewrite(
        without isUnwanted: (RawSpan) -> Bool
    ) throws(FileError) -> Int {
        end()
        guard try fileSystem.exists(folder.journal) else { return 0 }
        // A removal that was cut off leaves one.
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
            // Nobody can tell what is in it.
            try fileSystem.remove(path)
            return 0
        }
        var kept: [UInt8] = []
        var removedCount = 0
        let walk = JournalEntries.walk(span, salt: old.salt) { entry in
            let content = span.extracting(entry.content)
            if isUnwanted(content) {
                removedCount += 1
            } else {
                let content = content.withUnsafeBytes { [UInt8]($0) }
                JournalEntries.append(content, at: entry.time, lost: entry.lostCount, to: &kept)
            }
            return true
        }
        if removedCount == 0, walk.damage.isEmpty, walk.end == bytes.count { return 0 }
        let header = header(created: old.created)
        let start = UInt64(Layout.fileHeaderByteCount)
        JournalEntries.seal(&kept, salt: header.salt, offset: start, lost: 0)
        let next = path + ".tmp"
        let file = try fileSystem.open(next, .create)
        defer { file.close() }
        do throws(FileError) {
            try file.write((header.encoded() + kept).span.bytes, at: 0)
            try file.sync()
            try fileSystem.rename(next, to: path)
        } catch {
            // Give the space back at once; the first failure is the one to tell.
            try? fileSystem.remove(next)
            throw error
        }
        return removedCount
    }
}
