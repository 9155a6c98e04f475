// Tidemark
// SPDX-License-Identifier: Apache-2.0

@testable import TidemarkLog

extension SegmentLog {
    /// Appends a commit, and waits until it is on disk.
    func commit(_ draft: CommitDraft, beginsSegment: Bool = false) throws(LogError) {
        _ = try append(draft, beginsSegment: beginsSegment)
        try blockUntilDurable(lastSequence)
    }

    /// Rewrites the finished segments up to a position.
    func rewriteFinished(
        through last: SequenceNumber,
        fate: (LogEvent) -> EventFate
    ) throws(LogError) {
        for group in rewrites(of: try finishedSegments(through: last)) {
            _ = try rewrite(group, fate: fate)
        }
    }

    /// Rewrites the finished segments up to a position that are worth it, as a compaction does, and
    /// returns how many groups there were.
    @discardableResult
    func compact(
        through last: SequenceNumber,
        fate: (LogEvent) -> EventFate
    ) throws(LogError) -> Int {
        var loads = try finishedSegments(through: last)
        for index in loads.indices {
            let load = loads[index]
            try scan(from: load.id.first, through: load.last) { event in
                loads[index].count(event, fate(event))
                return true
            }
        }
        let groups = rewrites(of: loads)
        for group in groups { _ = try rewrite(group, fate: fate) }
        return groups.count
    }
}
