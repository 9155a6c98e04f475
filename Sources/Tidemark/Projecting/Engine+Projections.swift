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
            let start = position.next
            let (commits, last) = try await blockingWork.run { () throws(SyncError) in
                try self.projectedCommits(from: start, through: end)
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
        let picture = try picture(.visible)
        do throws(ViewIndexError) {
            let horizon = try picture.compaction()?.history ?? 0
            return mark.position.rawValue < horizon ? .pruned : nil
        } catch {
            throw SyncError(error)
        }
    }

    /// The next commits, and the position up to which these are all.
    private func projectedCommits(
        from first: SequenceNumber,
        through end: SequenceNumber
    ) throws(SyncError) -> (commits: [ProjectedCommit], last: SequenceNumber) {
        var commits: [ProjectedCommit] = []
        var changeCount = 0
        var last: SequenceNumber?
        try visitLines(from: first, through: end) { commit, line in
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
