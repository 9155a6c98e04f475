// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkViews

extension Reader {
    /// The number of changes that are passed to a projection at a time; one more commit may be
    /// added.
    private static let changeLimit = 1_000

    /// See ``Store/advance(_:)``.
    @discardableResult
    func advance(_ projection: some Projection) async throws -> ProjectionMark {
        var mark = try await projection.mark()
        if let held = mark, let reason = try reasonToReset(held) {
            try await projection.reset(reason)
            mark = nil
        }
        let end = try picture(.visible).bound
        var position = mark?.position ?? .zero
        var forgotten = mark?.forgotten
        while position < end {
            try Task.checkCancellation()
            let (read, held) = (position, forgotten)
            let database = projection.databaseID
            let page = try await blockingWork.run { () throws(SyncError) in
                try self.projectedCommits(of: database, after: read, held, through: end)
            }
            // A compaction has forgotten deletions that were still ahead.
            guard let page else {
                try await projection.reset(.pruned)
                (mark, position, forgotten) = (nil, .zero, nil)
                continue
            }
            let next = self.mark(at: page.last, page.forgotten)
            try await projection.take(page.commits, through: next)
            (mark, position, forgotten) = (next, page.last, page.forgotten)
        }
        if let mark { return mark }
        return self.mark(at: position, try self.forgotten(by: try picture(.visible)))
    }

    private func mark(at position: SequenceNumber, _ forgotten: Forgotten) -> ProjectionMark {
        ProjectionMark(
            position: position,
            forgotten: forgotten,
            store: id,
            incarnation: source.line.incarnation(of: position)
        )
    }

    /// Returns the reason why a projection with a mark cannot resume; `nil` if it can.
    private func reasonToReset(_ mark: ProjectionMark) throws(SyncError) -> ProjectionReset? {
        guard mark.store == id.description, mark.position <= source.durableSequence,
            source.line.contains(mark.position, of: mark.incarnation)
        else { return .otherHistory }
        let forgotten = try forgotten(by: try picture(.visible))
        return isPruned(mark.position, mark.forgotten, by: forgotten) ? .pruned : nil
    }

    private func forgotten(by picture: ViewPicture) throws(SyncError) -> Forgotten {
        try SyncError.wrapping { () throws(ViewIndexError) in
            guard let run = try picture.compaction() else { return Forgotten() }
            return Forgotten(history: run.history, tombstones: run.tombstones)
        }
    }

    /// Tells whether events after a position may have been dropped since those up to it were read.
    ///
    /// A projection that began to read after the compaction has seen all that it left, and so continues
    /// below its horizon.
    private func isPruned(
        _ position: SequenceNumber,
        _ held: Forgotten,
        by forgotten: Forgotten
    ) -> Bool { position < forgotten.history && held != forgotten }

    /// Returns the next commits, and the position up to which they are complete; `nil` if some may
    /// have been dropped since the last page.
    private func projectedCommits(
        of database: DatabaseID?,
        after position: SequenceNumber,
        _ held: Forgotten?,
        through end: SequenceNumber
    ) throws(SyncError) -> ProjectedPage? {
        // While it is held, the log keeps the events that it shows.
        let picture = try picture(.visible)
        defer { withExtendedLifetime(picture) {} }
        let forgotten = try forgotten(by: picture)
        // Checked while the picture is held: no compaction drops events between this and the
        // reading.
        if let held, isPruned(position, held, by: forgotten) { return nil }
        var commits: [ProjectedCommit] = []
        var changeCount = 0
        var last: SequenceNumber?
        try visitLines(from: position.next, through: end) { commit, line in
            // All lines of a commit are passed together.
            if changeCount >= Self.changeLimit, commit.last != last { return false }
            last = commit.last
            var line = line
            let isWanted = database.map { $0 == line.database } ?? true
            line.changes.removeAll { !isWanted || $0.zone.isSystem }
            changeCount += 1 + line.changes.count
            if !line.changes.isEmpty {
                commits.append(ProjectedCommit(position: commit.last, line: line))
            }
            return true
        }
        // Events after the last line change no record.
        return ProjectedPage(
            commits: commits,
            last: changeCount >= Self.changeLimit ? last ?? end : end,
            forgotten: forgotten
        )
    }
}

/// Some commits, the position up to which they are complete, and the horizons when they were read.
private struct ProjectedPage: Sendable {
    var commits: [ProjectedCommit]
    var last: SequenceNumber
    var forgotten: Forgotten
}
