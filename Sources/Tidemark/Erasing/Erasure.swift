// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// One erasure in one store: its findings, and the steps that remove them.
struct Erasure {
    let subject: ErasureSubject
    let files: ErasureFiles
    private let folder: StoreFolder
    private let environment: StoreEnvironment

    init(of subject: ErasureSubject, in folder: StoreFolder, _ environment: StoreEnvironment) {
        self.subject = subject
        self.folder = folder
        self.environment = environment
        files = ErasureFiles(folder, environment)
    }

    // MARK: Looking

    /// The findings of the passes over the log.
    private struct Findings {
        let redaction: Redaction
        /// Assets that no other record names.
        let lost: Set<HeldBlob>
        let receipt: ErasureReceipt
    }

    private func look(at source: any EventSource) throws(LogError) -> Findings {
        var traces = ErasureTraces(of: subject)
        try source.visit { (event) throws(EventFormatError) in try traces.add(event) }
        try traces.check()
        // Each pass needs the result of the one before. The first finds what is dropped, the second
        // which commits lose events, and the third counts the final forms.
        var redaction = Redaction(traces)
        var named = NamedBlobs()
        var lost: Set<HeldBlob> = []
        var kept: Set<HeldBlob> = []
        try source.visit { (event) throws(EventFormatError) in
            try redaction.add(event)
            let isLost = try redaction.drops(event)
            for asset in try named.assets(of: event) {
                if isLost { lost.insert(asset.blob) } else { kept.insert(asset.blob) }
            }
        }
        lost.subtract(kept)
        // Also bytes that no record names, such as an upload whose save never came.
        lost.formUnion(try files.blobs(of: traces))
        let final = redaction
        var receipt = ErasureReceipt()
        try source.visit { (event) throws(EventFormatError) in
            try count(event, final, in: &receipt)
        }
        receipt.zoneCount = traces.zoneCount
        receipt.expiredZoneCount = traces.raisedZones.count
        return Findings(redaction: final, lost: lost, receipt: receipt)
    }

    private func count(
        _ event: LogEvent,
        _ redaction: Redaction,
        in receipt: inout ErasureReceipt
    ) throws(EventFormatError) {
        receipt.eventCount += 1
        guard let form = try redaction.form(of: event) else {
            receipt.removedCount += 1
            return
        }
        if form.payload != event.payload || form.envelope != event.envelope {
            receipt.redactedCount += 1
        }
        if subject.user != nil, redaction.isNamed(in: form.payload.span.bytes) {
            receipt.mentionCount += 1
        }
    }

    /// Returns a receipt of the data that an erasure would remove.
    func estimate() throws(LogError) -> ErasureReceipt {
        let reader = try LogReader(folder.path, fileSystem: environment.log.fileSystem)
        let findings = try LongWork.run { () throws(LogError) in try look(at: reader) }
        var receipt = findings.receipt
        // A reader skips damage, and an estimate without the lost events would be too low.
        if let damage = reader.damage.first { throw damage }
        let journal = JournalReader(folder, of: reader.store, environment.log.fileSystem)
        receipt.journalCount = count(of: journal, findings.redaction)
        try files.count(findings.lost, in: &receipt)
        try files.countCaches(in: &receipt)
        try files.countSegments(reader.segmentLoads(), of: reader.store, in: &receipt)
        return receipt
    }

    private func count(of journal: JournalReader, _ redaction: Redaction) -> Int {
        var journal = journal
        var count = 0
        journal.read { _, _, bytes in if isUnwanted(bytes, redaction) { count += 1 } }
        return count
    }

    // MARK: Erasing

    /// Erases, in an order in which a stop at any moment leaves the store as it was or is made good by
    /// the next opening.
    func run(on log: SegmentLog) throws(LogError) -> ErasureReceipt {
        // Before anything is changed: a reader keeps the old segments, and the data in them would
        // stay on disk.
        guard try !log.isRead() else { throw Self.isRead(folder) }
        let findings = try LongWork.run { () throws(LogError) in try look(at: log) }
        var receipt = findings.receipt
        // A second log needs all the room there is.
        let hasReserve = try log.useReserve()
        defer { if hasReserve { log.restoreReserve() } }
        // The marks precede the removal: they expire tokens that could not be answered correctly
        // after it. If a later step fails, tokens have expired without need, and no data is lost.
        let first = try appendMarks(findings.redaction.traces, to: log)
        let written = try LongWork.run { () throws(LogError) in
            try log.writeAnew(through: first.previous) {
                (event) throws(LogError) in
                try LogError.reading { () throws(EventFormatError) in
                    try findings.redaction.form(of: event)
                }
            }
        }
        // From here on the erasure cannot be cancelled: a decided step is completed.
        do throws(LogError) {
            // Again: writing takes minutes, in which another process may have begun to read.
            guard try !log.isRead() else { throw Self.isRead(folder) }
            try files.begin(subject)
        } catch {
            log.discard(written)
            throw error
        }
        // The log's data about assets and the subject is still read here, so the log is the last to
        // be rewritten.
        receipt.journalCount = try removeFromJournal(of: log, findings.redaction)
        try files.count(findings.lost, in: &receipt)
        // Assets before the log: if the machine stops here, the next open finds ERASING, and the
        // old log still names the assets to remove.
        try files.remove(findings.lost)
        try files.countSegments(written.flatMap(\.group), of: log.store, in: &receipt)
        receipt.newByteCount = written.reduce(0) { $0 + $1.byteCount }
        // One edit of the manifest. Before it the log is the old one, after it the new one.
        try log.replaceAll(with: written)
        // After this error ERASING is still there. The next open for writing repeats the erasure.
        guard try log.removeReplacedSegments() else { throw Self.isRead(folder) }
        // Views and query indexes hold hashes, names and bodies. They are caches, so they are
        // removed as a whole.
        try files.countCaches(in: &receipt)
        try files.removeCaches()
        try files.end()
        return receipt
    }

    /// Records the removal in the log, as the first commit of its own segment; returns its
    /// position.
    private func appendMarks(
        _ traces: ErasureTraces,
        to log: SegmentLog
    ) throws(LogError) -> SequenceNumber {
        let now = environment.log.now()
        var draft = CommitDraft(
            time: max(now, log.lastTime),
            received: now,
            envelope: CommitEnvelope(timeWasRaised: log.lastTime > now).bytes
        )
        // One mark for each database in which tokens can no longer be answered, in a fixed order
        // (events.md, "Erasures").
        var marks: Set<DatabaseID> = traces.participants
        if let database = subject.zone?.database, !traces.zones.isEmpty { marks.insert(database) }
        let sorted = [DatabaseID.ofStore] + marks.sorted { $0.description < $1.description }
        draft.appendErasure(sorted, raising: traces.raisedZones, at: log.lastSequence.next)
        let eventCount = draft.events.count
        // A dictionary is a sample of an earlier segment, so it could contain the data that is
        // erased.
        let first = try log.append(draft, beginsSegment: true, withoutDictionary: true)
        try log.blockUntilDurable(first + (eventCount - 1))
        return first
    }

    private func removeFromJournal(
        of log: SegmentLog,
        _ redaction: Redaction
    ) throws(LogError) -> Int {
        let journal = Journal(
            folder,
            of: log.store,
            log.line.current,
            JournalConfiguration(),
            environment.log
        )
        return try LogError.wrapping { () throws(FileError) in
            try journal.removeEntries { isUnwanted($0, redaction) }
        }
    }

    /// Returns true if an entry of the journal is to be removed.
    ///
    /// It may return true for an unrelated entry, but never false for a related one.
    private func isUnwanted(_ bytes: RawSpan, _ redaction: Redaction) -> Bool {
        // The journal may lose entries at any time, so an entry that cannot be read is removed
        // rather than kept.
        guard let content = try? JournalEntry.Content(bytes) else { return true }
        if let zone = subject.zone {
            return content.concerns(zone)
                || content.isAbout(zone.database) && redaction.isNamed(in: bytes)
        }
        return redaction.traces.users.contains { content.concerns($0) }
            || redaction.isNamed(in: bytes)
    }

    /// The error while a reader keeps the files of the store.
    static func isRead(_ folder: StoreFolder) -> LogError {
        LogError(
            .locked,
            "Another process, or a call that follows the log, reads the store, and would keep the "
                + "files that the erasure removes. End it, then erase again.",
            path: folder.path
        )
    }
}

extension EventSource {
    /// Visits all events.
    fileprivate func visit(_ body: (LogEvent) throws(EventFormatError) -> Void) throws(LogError) {
        var failure: LogError?
        try scan(from: 1, through: durableSequence) { event in
            do throws(EventFormatError) {
                try body(event)
                return true
            } catch {
                // An event that cannot be read may be about the subject. So the erasure stops
                // instead of skipping it.
                failure = LogError(.newerVersion, error.message)
                return false
            }
        }
        if let failure { throw failure }
    }
}

extension LogError {
    /// Reads events, and converts errors of unreadable events into errors of the log.
    fileprivate static func reading<Result>(
        _ body: () throws(EventFormatError) -> Result
    ) throws(LogError) -> Result {
        do throws(EventFormatError) {
            return try body()
        } catch {
            throw LogError(.newerVersion, error.message)
        }
    }
}
