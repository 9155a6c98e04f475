// Tidemark
// SPDX-License-Identifier: Apache-2.0

@testable import TidemarkLog

/// What must hold of a store after a crash, whatever the crash took.
enum CrashPromise {
    /// Opens what a crash left, and says how it breaks the promise, if it does.
    ///
    /// If it is to go on, the opened store is appended to, closed, and opened again.
    static func violation(
        on image: any FileSystem,
        after history: History,
        goingOn: Bool = true,
        seed: UInt64 = 77
    ) -> String? {
        do throws(LogError) {
            if goingOn, let wrong = try violationToReader(of: image, after: history) {
                return wrong
            }
            let (log, report) = try CrashWorkload.open(
                image,
                seed: seed,
                creating: !history.isCreated
            )
            let found = try log.written()
            if let wrong = violation(found, in: log, after: history) { return wrong }
            if let wrong = violation(of: log.line, report, last: found.count, history) {
                return wrong
            }
            if history.isClosed, !report.wasClean { return "the store had been closed" }
            let told = try discarded(in: log)
            for entry in history.discarded where !told.contains(entry) {
                return "the log does not tell of \(entry)"
            }
            guard goingOn else { return nil }
            return try goOn(log, from: found, seed: seed)
        } catch {
            return "\(error.code): \(error.message) [\(error.path ?? "-"), \(error.offset ?? 0)]"
        }
    }

    /// Who only reads meets the same: whole commits, all that were acknowledged, and no damage.
    private static func violationToReader(
        of image: any FileSystem,
        after history: History
    ) throws(LogError) -> String? {
        guard history.isCreated else { return nil }
        let reader = try LogReader(CrashWorkload.path, fileSystem: image)
        let found = try reader.written()
        let isRight =
            found.count >= history.acknowledged && history.commitEnds.contains(found.count)
            && found == Array(history.events.prefix(found.count)) && reader.damage == []
        return isRight ? nil : "a reader finds \(found.count) events and \(reader.damage)"
    }

    /// All that was acknowledged, in order, and of the rest only whole commits, as a prefix.
    private static func violation(
        _ found: [WrittenEvent],
        in log: SegmentLog,
        after history: History
    ) -> String? {
        if found.count < history.acknowledged {
            return "\(history.acknowledged) events were acknowledged, \(found.count) are there"
        }
        if !history.commitEnds.contains(found.count) {
            return "\(found.count) events are no whole number of commits"
        }
        if found != Array(history.events.prefix(found.count)) {
            return "the events are not those that were appended"
        }
        let last = SequenceNumber(rawValue: UInt64(found.count))
        if log.lastSequence != last || log.durableSequence != last {
            return "the log ends with \(log.lastSequence), its events with \(last)"
        }
        if log.lastTime != found.last?.time ?? .min { return "the last time is \(log.lastTime)" }
        return nil
    }

    /// Positions that were promised stay valid, and no later one can be taken for an old one.
    private static func violation(
        of line: IncarnationLine,
        _ report: RecoveryReport,
        last: Int,
        _ history: History
    ) -> String? {
        for (incarnation, sequence) in history.tokens
        where !line.contains(sequence, of: incarnation) {
            return "\(sequence) of incarnation \(incarnation) is not of the line any more"
        }
        let next = SequenceNumber(rawValue: UInt64(last) + 1)
        if !report.wasClean, history.tokens.keys.contains(where: { line.contains(next, of: $0) }) {
            return "an unclean stop began no new incarnation"
        }
        return nil
    }

    /// What the log's recovery frames tell.
    private static func discarded(in log: SegmentLog) throws(LogError) -> Set<History.Discarded> {
        var found: Set<History.Discarded> = []
        for segment in log.manifest.manifest.segments {
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: log.store,
                in: log.folder,
                fileSystem: log.environment.fileSystem
            )
            var scan = try FrameScan(file, header: header, limit: segment.framesEnd)
            guard case .frame(let frame) = try scan.step(), frame.header.kind == .recovery,
                let block = frame.blocks.first
            else { continue }
            let payload = try scan.stored(block)
            found.insert(
                History.Discarded(
                    byteCount: payload.span.bytes.integer(at: 0),
                    offset: payload.span.bytes.integer(at: 8)
                )
            )
        }
        return found
    }

    /// Appending works, and a second opening agrees.
    private static func goOn(
        _ log: SegmentLog,
        from found: [WrittenEvent],
        seed: UInt64
    ) throws(LogError) -> String? {
        var drafts = DraftSource(seed: seed)
        var draft = drafts.draft()
        draft.time = max(draft.time, log.lastTime)
        let first = try log.append(draft)
        try log.blockUntilDurable(log.lastSequence)
        try log.close()
        let (again, report) = try CrashWorkload.open(
            log.environment.fileSystem,
            seed: seed &+ 1,
            creating: false
        )
        if !report.wasClean { return "a clean close was not found" }
        if again.line != log.line { return "a clean opening changed the incarnations" }
        if try again.written() != found + draft.written(first: first.rawValue) {
            return "the second opening does not agree with the first"
        }
        return nil
    }
}
