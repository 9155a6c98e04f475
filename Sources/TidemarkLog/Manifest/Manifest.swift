// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The segments of the log, the length of each finished one, and the store's incarnations: the
/// result of applying a manifest file's edits.
package struct Manifest: Hashable, Sendable {
    /// The manifest's information about one segment.
    package struct Segment: Hashable, Sendable {
        package var id: SegmentID
        package var incarnation: Incarnation
        /// True if compaction wrote the segment, which may then lack events of its positions.
        package var isCompacted = false
        /// The last position of the segment; `nil` while it takes events.
        package var last: SequenceNumber?
        /// The end of the segment's frames; `nil` while it takes events.
        package var framesEnd: UInt64?
        /// The length of the file with its footer; `nil` before it has a footer.
        package var fileByteCount: UInt64?
    }

    package var store: StoreID
    package var line: IncarnationLine
    /// The segments in log order; only the last one may take events.
    package var segments: [Segment] = []
    /// Set by a clean close: the last position and the end of the active segment's frames.
    package var closing: Closing?

    /// The state that a clean close records.
    package struct Closing: Hashable, Sendable {
        package var last: SequenceNumber
        package var framesEnd: UInt64
    }

    /// The segment that takes events, if there is one.
    package var active: Segment? { segments.last.flatMap { $0.last == nil ? $0 : nil } }

    /// The last position of a segment that compaction has written; zero if there is none.
    package var compactedThrough: SequenceNumber {
        segments.last { $0.isCompacted }?.last ?? .zero
    }

    /// The last known position of the log: from a clean close, or else from the last finished
    /// segment.
    var lastKnown: SequenceNumber {
        let ended = segments.last.map { $0.last ?? $0.id.first.previous } ?? .zero
        return max(ended, closing?.last ?? .zero)
    }

    /// Applies an edit; returns `false` if the edit does not match the current state.
    package mutating func apply(_ edit: ManifestEdit) -> Bool {
        switch edit {
        case .added(let id, let incarnation):
            // Positions are consecutive over segments. A lookup by position and the walk of the log
            // rely on that.
            guard active == nil, segments.last.map({ $0.last?.next == id.first }) ?? true else {
                return false
            }
            segments.append(Segment(id: id, incarnation: incarnation))
        case .compacted(let id, let incarnation, let last):
            return replace(with: id, incarnation, last: last)
        case .ended(let id, let last, let framesEnd):
            guard let index = segments.lastIndex(where: { $0.id == id }),
                // An empty segment ends directly before its first position.
                last.rawValue + 1 >= id.first.rawValue
            else { return false }
            segments[index].last = last
            segments[index].framesEnd = framesEnd
        case .sealed(let id, let fileByteCount):
            guard let index = segments.lastIndex(where: { $0.id == id }),
                segments[index].last != nil
            else { return false }
            segments[index].fileByteCount = fileByteCount
        case .removed(let id):
            guard let index = segments.firstIndex(where: { $0.id == id }) else { return false }
            segments.remove(at: index)
        case .began(let incarnation, let first):
            // Several incarnations begin at the same position if nothing was committed between
            // them.
            guard line.entries.last.map({ $0.first <= first }) ?? true else { return false }
            line.entries.append(.init(incarnation: incarnation, first: first))
        case .closed(let last, let framesEnd):
            closing = Closing(last: last, framesEnd: framesEnd)
        }
        return true
    }

    /// Inserts a compacted segment; returns `false` if its range does not match the segments that
    /// it replaces.
    private mutating func replace(
        with id: SegmentID,
        _ incarnation: Incarnation,
        last: SequenceNumber
    ) -> Bool {
        var segment = Segment(id: id, incarnation: incarnation)
        segment.isCompacted = true
        segment.last = last
        // A compacted segment always covers positions, because the segments that it replaces do.
        guard last >= id.first else { return false }
        // A snapshot lists a compacted segment without the segments that it replaced.
        guard let start = segments.firstIndex(where: { $0.id.first >= id.first }) else {
            guard active == nil, segments.last.map({ $0.last?.next == id.first }) ?? true else {
                return false
            }
            segments.append(segment)
            return true
        }
        // A range that cuts a segment would lose the rest of it.
        guard segments[start].id.first == id.first,
            let end = segments[start...].firstIndex(where: { $0.last == last })
        else { return false }
        segments.replaceSubrange(start...end, with: [segment])
        return true
    }

    /// The edits that create this state from nothing, with which a new manifest file begins.
    ///
    /// A clean close is not included, because it is no longer valid once a writer has opened the
    /// store.
    package var snapshot: [ManifestEdit] {
        var edits = line.entries.map { ManifestEdit.began($0.incarnation, first: $0.first) }
        for segment in segments {
            if segment.isCompacted, let last = segment.last {
                edits.append(.compacted(segment.id, segment.incarnation, last: last))
            } else {
                edits.append(.added(segment.id, segment.incarnation))
            }
            if let last = segment.last, let framesEnd = segment.framesEnd {
                edits.append(.ended(segment.id, last: last, framesEnd: framesEnd))
            }
            if let fileByteCount = segment.fileByteCount {
                edits.append(.sealed(segment.id, fileByteCount: fileByteCount))
            }
        }
        return edits
    }

    /// A store without segments or incarnations.
    package init(store: StoreID) {
        self.store = store
        line = IncarnationLine(entries: [])
    }
}
