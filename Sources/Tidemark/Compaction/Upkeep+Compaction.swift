// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Upkeep {
    /// See ``Store/compact(_:isDryRun:)``; no faster than so many bytes in a second, if that is
    /// given.
    func compact(
        _ policy: CompactionPolicy,
        bytesPerSecond: Int? = nil,
        isDryRun: Bool = false
    ) async throws(SyncError) -> CompactionReport {
        if isDryRun {
            return try await reader.blockingWork.run { () throws(SyncError) in
                let last = self.reader.source.durableSequence
                let marks = try self.marks(policy, through: last, bytesPerSecond)
                let plan = try self.plan(marks, in: try self.reader.picture(.appended))
                return try self.dryRun(marks, plan, bytesPerSecond)
            }
        }
        let log = try writer().log
        guard compacting.withLock({ $0.begin() }) else {
            throw SyncError(.zoneBusy, "A compaction of this store is under way.")
        }
        defer { compacting.withLock { $0.end() } }
        let work = reader.observer?.begins(.compaction)
        do throws(SyncError) {
            let report = try await runUsingReserve(policy, bytesPerSecond, log)
            reader.observer?.notes(.compacted(report))
            work?.ends(nil)
            return report
        } catch {
            work?.ends(error)
            throw error
        }
    }

    /// Compacts once; with the room that is kept back, if there is no other.
    private func runUsingReserve(
        _ policy: CompactionPolicy,
        _ bytesPerSecond: Int?,
        _ log: SegmentLog
    ) async throws(SyncError) -> CompactionReport {
        do throws(SyncError) {
            return try await run(policy, bytesPerSecond)
        } catch {
            guard error.code == .quotaExceeded, try useReserve(of: log) else { throw error }
        }
        defer { log.restoreReserve() }
        return try await run(policy, bytesPerSecond)
    }

    private func useReserve(of log: SegmentLog) throws(SyncError) -> Bool {
        try SyncError.wrapping { () throws(LogError) in try log.useReserve() }
    }

    /// Compacts once, including the rest of an earlier interrupted run.
    private func run(
        _ policy: CompactionPolicy,
        _ bytesPerSecond: Int?
    ) async throws(SyncError) -> CompactionReport {
        let writer = try writer()
        // Followers of the log read everything before the horizons once more, and then never again.
        let start = reader.source.durableSequence
        try await notifications.notifier().settle(through: start, notifications)
        // The horizons stay at or below `start`. After a crash, a follower continues from the
        // position that it kept, and would not find the events that were dropped behind it.
        let marks = try await reader.blockingWork.run { () throws(SyncError) in
            try self.marks(policy, through: start, bytesPerSecond)
        }
        let begun = try await begin(marks, writer)
        try await writer.checkpointer.advance(reader.views, through: begun.last)
        // Query indexes read the log from their own position. They must pass the dropped events
        // while those still exist.
        try await queries.indexes?.advance(through: begun.last)
        try await waitForReaders()
        var report = try await reader.blockingWork.run { () throws(SyncError) in
            try self.rewrite(marks, begun.plan, through: begun.first, bytesPerSecond)
        }
        report.assetByteCount = try await collectAfterCompaction()
            .reduce(0) { $0 + $1.byteCount }
        return report
    }

    // MARK: Deciding

    /// The horizons of zones that a compaction raises, and how far those of all others are.
    private struct Plan: Sendable {
        var raised: [(zone: ZoneStanding, horizon: SequenceNumber)] = []
        var horizons: [ZoneKey: SequenceNumber] = [:]

        func fates(_ marks: HistoryMarks) -> EventFates {
            EventFates(marks, horizons: horizons, raised: Set(raised.map(\.zone.key)))
        }
    }

    private func marks(
        _ policy: CompactionPolicy,
        through last: SequenceNumber,
        _ bytesPerSecond: Int?
    ) throws(SyncError) -> HistoryMarks {
        let picture = try reader.picture(.visible)
        let before: CompactionRun? = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.compaction()
        }
        // Ages are measured by the clock. If it was set far ahead, recent data would count as old,
        // so the clock is checked first.
        let time = reader.now()
        try writer.ifAny?.committer.clock.check(time)
        let question = HistoryMarks.Question(
            policy: policy,
            before: before ?? CompactionRun(history: 0, tombstones: 0, requests: 0),
            now: time,
            requestLifetime: reader.options.requestLifetime
        )
        var marks = HistoryMarks(question)
        try SyncError.wrapping { () throws(LogError) in
            try visit(from: 1, through: last, bytesPerSecond) {
                (event) throws(EventFormatError) in try marks.add(event)
            }
        }
        marks.finish()
        return marks
    }

    /// Visits events of the log, as fast as it may, until the store is closed.
    private func visit(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ bytesPerSecond: Int?,
        _ body: (LogEvent) throws(EventFormatError) -> Void
    ) throws(LogError) {
        var pace = pace(bytesPerSecond)
        var failure: LogError?
        try reader.source.scan(from: first, through: last) { event in
            do throws(EventFormatError) {
                try body(event)
            } catch {
                failure = LogError(.newerVersion, error.message)
                return false
            }
            guard pace.count(event) else { return true }
            do throws(LogError) {
                try checkIsOpen()
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    private func pace(_ bytesPerSecond: Int?) -> CompactionPace {
        let log = reader.blockingWork.runsInline ? nil : writer.ifAny?.log
        return CompactionPace(
            bytesPerSecond: bytesPerSecond,
            isBusy: { log?.isWriting ?? false },
            isEnding: { [self] in compacting.withLock { $0.isOver } }
        )
    }

    private func checkIsOpen() throws(LogError) {
        try compacting.withLock { (state) throws(LogError) in try state.check() }
    }

    private func plan(_ marks: HistoryMarks, in picture: ViewPicture) throws(SyncError) -> Plan {
        var plan = Plan()
        try SyncError.wrapping { () throws(ViewIndexError) in
            for zone in try picture.zones() where zone.tombstoneHorizon > 0 {
                plan.horizons[zone.key] = zone.tombstoneHorizon
            }
            for (key, horizon) in marks.horizons().sorted(by: { $0.key < $1.key }) {
                let zone = try picture.zone(key)
                if horizon <= zone.tombstoneHorizon { continue }
                // A name in a slot other than its hash is found by way of the names before it, even
                // deleted ones: they have to stay.
                if zone.end == nil, zone.isProbed { continue }
                plan.raised.append((zone, horizon))
                plan.horizons[key] = horizon
            }
        }
        return plan
    }

    /// Records the dropped history as the first commit of a new segment, so that all earlier events
    /// are in finished segments.
    private func begin(
        _ marks: HistoryMarks,
        _ writer: Writer
    ) async throws(SyncError) -> (first: SequenceNumber, last: SequenceNumber, plan: Plan) {
        while true {
            try await writer.committer.waitForRoom()
            let picture = try reader.picture(.appended)
            let plan = try plan(marks, in: picture)
            var commit = CommitPlan(
                time: reader.now(),
                received: reader.now(),
                bound: picture.bound,
                hash: reader.views.hash
            )
            commit.compact(marks.run, horizons: plan.raised.map { ($0.zone.key, $0.horizon) })
            commit.draft.envelope = CommitEnvelope().bytes
            // Only compactions raise horizons, and only one runs. But a zone could have gained a
            // probed name since the picture, and its tombstones must stay.
            commit.restsOnHashedSlots = true
            guard let placed = try writer.committer.append(&commit, beginsSegment: true) else {
                continue
            }
            try await writer.committer.waitUntilDurable(placed.last)
            return (placed.first, placed.last, plan)
        }
    }

    /// Waits until no picture in use shows dropped history.
    private func waitForReaders() async throws(SyncError) {
        // Pictures of the new era have the horizons, because the commit was appended before. Older
        // pictures may still read events that are about to be removed.
        let era = reader.views.pins.beginEra()
        while reader.views.pins.isAnyLeft(before: era) {
            try SyncError.wrapping { () throws(LogError) in try checkIsOpen() }
            await reader.blockingWork.pause(milliseconds: 5)
        }
    }

    // MARK: Rewriting

    /// Returns the fate of the finished segments, and of the active segment.
    private func dryRun(
        _ marks: HistoryMarks,
        _ plan: Plan,
        _ bytesPerSecond: Int?
    ) throws(SyncError) -> CompactionReport {
        let segments = reader.source.segmentLoads()
        var fates = plan.fates(marks)
        return try SyncError.wrapping { () throws(LogError) in
            let loads = try loads(of: segments, &fates, bytesPerSecond)
            if let damage = reader.source.damage.first { throw damage }
            let groups = SegmentLoad.rewrites(
                of: loads,
                segmentByteCount: reader.options.segmentByteCount
            )
            return report(marks, plan, fates, groups, of: loads)
        }
    }

    private func rewrite(
        _ marks: HistoryMarks,
        _ plan: Plan,
        through first: SequenceNumber,
        _ bytesPerSecond: Int?
    ) throws(SyncError) -> CompactionReport {
        let log = try writer().log
        var pace = pace(bytesPerSecond)
        var fates = plan.fates(marks)
        return try SyncError.wrapping { () throws(LogError) in
            let last = first.previous
            let finished = try log.finishedSegments(through: last)
            let loads = try loads(of: finished, &fates, bytesPerSecond)
            let groups = log.rewrites(of: loads)
            var report = report(marks, plan, fates, groups, of: loads)
            report.newByteCount = report.oldByteCount
            for group in groups {
                let rewrite = try log.rewrite(
                    group,
                    fate: { event in
                        _ = pace.count(event)
                        return fates.fate(of: event)
                    },
                    didWrite: { () throws(LogError) in try self.checkIsOpen() }
                )
                report.newByteCount -= rewrite.oldByteCount
                report.newByteCount += rewrite.newByteCount
            }
            // Another process that reads the store keeps the replaced files; then they cannot be
            // removed yet.
            report.isRead = try !log.removeReplacedSegments()
            return report
        }
    }

    /// Decides about every event of some segments.
    private func loads(
        of segments: [SegmentLoad],
        _ fates: inout EventFates,
        _ bytesPerSecond: Int?
    ) throws(LogError) -> [SegmentLoad] {
        var loads = segments
        for index in loads.indices {
            let load = loads[index]
            try visit(from: load.id.first, through: load.last, bytesPerSecond) {
                (event) throws(EventFormatError) in
                loads[index].count(event, try fates.add(event))
            }
        }
        return loads
    }

    private func report(
        _ marks: HistoryMarks,
        _ plan: Plan,
        _ fates: EventFates,
        _ groups: [[SegmentLoad]],
        of loads: [SegmentLoad]
    ) -> CompactionReport {
        var report = CompactionReport()
        report.historyHorizon = marks.run.history
        report.historyTime = marks.historyTime
        report.oldByteCount = loads.reduce(0) { $0 + $1.byteCount }
        report.newByteCount = report.oldByteCount
        report.requestCount = fates.requestCount
        for load in groups.joined() {
            report.segmentCount += 1
            report.eventCount += load.eventCount
            report.droppedCount += load.changedCount
            report.newByteCount -= load.byteCount
            report.newByteCount += load.expectedByteCount
        }
        report.expiries = plan.raised.map { zone, horizon in
            let identity = zone.identity
            // The text after NUL is the secret that opens the share.
            let name = identity.zoneName.string.utf8.prefix { $0 != 0 }
            return CompactionReport.TokenExpiry(
                zoneName: String(decoding: name, as: UTF8.self),
                isOfShare: identity.isAudience,
                database: identity.database,
                position: horizon
            )
        }
        return report
    }
}

/// The state of the store's compactions: running, ended, or stopped for good.
struct Compacting: Sendable {
    private var isUnderWay = false
    /// True if a compaction ran since the store was opened, and none is running.
    private(set) var hasRun = false
    /// True if the store is being closed.
    private(set) var isOver = false

    mutating func begin() -> Bool {
        if isUnderWay || isOver { return false }
        isUnderWay = true
        hasRun = false
        return true
    }

    mutating func end() {
        isUnderWay = false
        hasRun = true
    }

    /// Ends a running compaction at its next check, because the store is being closed.
    mutating func close() { isOver = true }

    func check() throws(LogError) {
        guard isOver else { return }
        throw LogError(.readOnly, "The store was closed while it was compacted; compact it again.")
    }
}

extension SyncError {
    /// Returns the error for a request for a position below the history horizon.
    static func historyPruned(_ position: SequenceNumber, _ horizon: SequenceNumber) -> SyncError {
        SyncError(
            .invalidArguments,
            "History pruned: compaction has dropped what the store held as of event \(position). "
                + "The oldest point that is still exact is event \(horizon).",
            isHistoryPruned: true,
            remedy: "Read as of event \(horizon) or a later one."
        )
    }

    /// There may have been a record that compaction has left no trace of.
    package static func historyPruned(
        of record: RecordID,
        _ position: SequenceNumber
    ) -> SyncError {
        SyncError(
            .invalidArguments,
            "History pruned: no trace of the record \(record) is left. If there was one, it was gone "
                + "by event \(position), and compaction has forgotten it.",
            isHistoryPruned: true,
            remedy: "Compact with a longer --keep-history to keep more from now on."
        )
    }
}
