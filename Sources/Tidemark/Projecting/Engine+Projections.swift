// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

/// What is told when the log has become longer.
enum Arrival: Hashable, Sendable {
    case commit
}

extension Engine {
    /// Changes that are handed to a projection in one go; one more commit may come on top.
    private static let changeLimit = 1_000

    /// Tells when the log has become longer; `nil` where it cannot.
    var arrivals: Bulletin<Arrival>? { writing?.arrivals }

    /// See ``Store/advance(_:)``.
    @discardableResult
    func advance(_ projection: some Projection) async throws -> ProjectionMark {
        var mark = try await projection.mark()
        if let held = mark, let reason = try reasonToReset(held) {
            try await projection.reset(reason)
            mark = nil
        }
        let end = SequenceNumber(rawValue: try picture(.visible).bound)
        var position = mark?.position ?? .zero
        while position < end {
            try Task.checkCancellation()
            let read = position
            let page = try await blockingWork.run { () throws(SyncError) in
                try self.projectedCommits(after: read, through: end)
            }
            // A compaction has forgotten deletions that were still ahead.
            guard let (commits, last) = page else {
                try await projection.reset(.pruned)
                (mark, position) = (nil, .zero)
                continue
            }
            let next = self.mark(at: last)
            try await projection.take(commits, through: next)
            mark = next
            position = last
        }
        return mark ?? self.mark(at: position)
    }

    private func mark(at position: SequenceNumber) -> ProjectionMark {
        ProjectionMark(
            position: position,
            store: id,
            incarnation: source.line.incarnation(of: position)
        )
    }

    /// Why a projection with a mark cannot go on; `nil` if it can.
    private func reasonToReset(_ mark: ProjectionMark) throws(SyncError) -> ProjectionReset? {
        guard mark.store == id.description, mark.position <= source.durableSequence,
            source.line.contains(mark.position, of: mark.incarnation)
        else { return .otherHistory }
        return try isPruned(mark.position, as: try picture(.visible)) ? .pruned : nil
    }

    /// Whether events after a position may have been dropped.
    private func isPruned(
        _ position: SequenceNumber,
        as picture: ViewPicture
    ) throws(SyncError) -> Bool {
        do throws(ViewIndexError) {
            return position.rawValue < (try picture.compaction()?.history ?? 0)
        } catch {
            throw SyncError(error)
        }
    }

    /// The next commits, and the position up to which these are all; `nil` if some may have been dropped
    /// since those before were handed out.
    private func projectedCommits(
        after position: SequenceNumber,
        through end: SequenceNumber
    ) throws(SyncError) -> (commits: [ProjectedCommit], last: SequenceNumber)? {
        // As long as somebody holds it, what it shows stays in the log.
        let picture = try picture(.visible)
        defer { withExtendedLifetime(picture) {} }
        if position > .zero, try isPruned(position, as: picture) { return nil }
        var commits: [ProjectedCommit] = []
        var changeCount = 0
        var last: SequenceNumber?
        try visitLines(from: position.next, through: end) { commit, line in
            // All lines of a commit come in one go.
            if changeCount >= Self.changeLimit, commit.last != last { return false }
            last = commit.last
            var line = line
            line.changes.removeAll { $0.zone.isSystem }
            changeCount += 1 + line.changes.count
            if !line.changes.isEmpty {
                commits.append(ProjectedCommit(position: commit.last, line: line))
            }
            return true
        }
        // Events after the last line change no record.
        return (commits, changeCount >= Self.changeLimit ? last ?? end : end)
    }
}
