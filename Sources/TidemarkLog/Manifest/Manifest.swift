// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Which segments are the log, how long each finished one is, and the store's incarnations: the
/// fold of a manifest file's edits.
package struct Manifest: Hashable, Sendable {
    /// What is known of one segment.
    package struct Segment: Hashable, Sendable {
        package var id: SegmentID
        package var incarnation: Incarnation
        /// Whether compaction wrote it: it may lack events that its positions had.
        package var isCompacted = false
        /// The last position it covers; `nil` while it takes events.
        package var last: SequenceNumber?
        /// Where its frames end; `nil` while it takes events.
        package var framesEnd: UInt64?
        /// The length of the file with its footer; `nil` before it has one.
        package var fileByteCount: UInt64?
    }

    package var store: StoreID
    package var line: IncarnationLine
    /// In the order of the log; the last one may still take events.
    package var segments: [Segment] = []
    /// Set by a clean close: the last position and where the active segment's frames end.
    package var closing: Closing?

    /// What a clean close leaves behind.
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

    /// The last position that the log is known to have had: that of a clean close, or else of the last
    /// segment that has ended.
    var lastKnown: SequenceNumber {
        let ended = segments.last.map { $0.last ?? $0.id.first.previous } ?? .zero
        return max(ended, closing?.last ?? .zero)
    }

    /// Applies an edit; `false` if it does not fit what is there.
    package mutating func apply(_ edit: ManifestEdit) -> Bool {
        switch edit {
        case .added(let id, let incarnation):
            guard active == nil, segments.last.map({ $0.last?.next == id.first }) ?? true else {
                return false
            }
            segments.append(Segment(id: id, incarnation: incarnation))
        case .compacted(let id, let incarnation, let last):
            return replace(with: id, incarnation, last: last)
        case .ended(let id, let last, let framesEnd):
            guard let index = segments.lastIndex(where: { $0.id == id }),
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
            guard line.entries.last.map({ $0.first <= first }) ?? true else { return false }
            line.entries.append(.init(incarnation: incarnation, first: first))
        case .closed(let last, let framesEnd):
            closing = Closing(last: last, framesEnd: framesEnd)
        }
        return true
    }

    /// Puts a compacted segment where it belongs; `false` if it does not begin and end where the
    /// segments that it replaces do.
    private mutating func replace(
        with id: SegmentID,
        _ incarnation: Incarnation,
        last: SequenceNumber
    ) -> Bool {
        var segment = Segment(id: id, incarnation: incarnation)
        segment.isCompacted = true
        segment.last = last
        guard last >= id.first else { return false }
        guard let start = segments.firstIndex(where: { $0.id.first >= id.first }) else {
            guard active == nil, segments.last.map({ $0.last?.next == id.first }) ?? true else {
                return false
            }
            segments.append(segment)
            return true
        }
        guard segments[start].id.first == id.first,
            let end = segments[start...].firstIndex(where: { $0.last == last })
        else { return false }
        segments.replaceSubrange(start...end, with: [segment])
        return true
    }

    /// The edits that make this state out of nothing: what a new manifest file begins with.
    ///
    /// A clean close is not among them, since it is over once a writer has opened the store.
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
