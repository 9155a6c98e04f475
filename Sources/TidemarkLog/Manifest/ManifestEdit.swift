// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One change of the manifest.
///
/// A frame of edits is applied as a whole or not at all.
package enum ManifestEdit: Hashable, Sendable {
    /// A segment begins to take events.
    case added(SegmentID, Incarnation)
    /// Compaction has written a segment, which replaces all segments up to a position or follows
    /// the others.
    case compacted(SegmentID, Incarnation, last: SequenceNumber)
    /// A segment takes no more events: its last position, and the end of its frames.
    case ended(SegmentID, last: SequenceNumber, framesEnd: UInt64)
    /// A segment has its footer, and its file has its final length.
    case sealed(SegmentID, fileByteCount: UInt64)
    /// A segment is no longer part of the log.
    case removed(SegmentID)
    /// New events belong to an incarnation, from a position on.
    case began(Incarnation, first: SequenceNumber)
    /// The writer closed the store: the last position, and the end of the active segment's frames.
    case closed(last: SequenceNumber, framesEnd: UInt64)

    /// The tags of edits.
    ///
    /// Raw values are on disk.
    private enum Tag {
        static let added: UInt8 = 1
        static let ended: UInt8 = 2
        static let sealed: UInt8 = 3
        static let removed: UInt8 = 4
        static let began: UInt8 = 5
        static let closed: UInt8 = 6
        static let compacted: UInt8 = 7
    }

    /// Every edit takes this many bytes: a tag, seven zeros and four words.
    static let byteCount = 40

    /// Appends the edit's bytes.
    func append(to bytes: inout [UInt8]) {
        func append(_ tag: UInt8, _ a: UInt64, _ b: UInt64 = 0, _ c: UInt64 = 0, _ d: UInt64 = 0) {
            bytes.append(integer: UInt64(tag))
            for word in [a, b, c, d] { bytes.append(integer: word) }
        }
        switch self {
        case .added(let id, let incarnation):
            append(Tag.added, id.first.rawValue, UInt64(id.generation), incarnation.rawValue)
        case .compacted(let id, let incarnation, let last):
            append(
                Tag.compacted,
                id.first.rawValue,
                UInt64(id.generation),
                incarnation.rawValue,
                last.rawValue
            )
        case .ended(let id, let last, let framesEnd):
            append(
                Tag.ended,
                id.first.rawValue,
                UInt64(id.generation),
                last.rawValue,
                framesEnd
            )
        case .sealed(let id, let fileByteCount):
            append(Tag.sealed, id.first.rawValue, UInt64(id.generation), fileByteCount)
        case .removed(let id):
            append(Tag.removed, id.first.rawValue, UInt64(id.generation))
        case .began(let incarnation, let first):
            append(Tag.began, incarnation.rawValue, first.rawValue)
        case .closed(let last, let framesEnd):
            append(Tag.closed, last.rawValue, framesEnd)
        }
    }

    /// Reads an edit; `nil` if this build does not know it.
    init?(decoding bytes: RawSpan, at offset: Int) {
        guard offset + Self.byteCount <= bytes.byteCount else { return nil }
        func word(_ index: Int) -> UInt64 { bytes.integer(at: offset + 8 * index) }
        var isInRange = true
        func position(_ index: Int) -> SequenceNumber {
            let position = word(index)
            // The position after a greater one might not exist.
            if position > Layout.lastPosition { isInRange = false }
            return SequenceNumber(rawValue: position)
        }
        func segment() -> SegmentID {
            // Positions begin at one.
            if word(1) == 0 { isInRange = false }
            return SegmentID(first: position(1), generation: UInt32(truncatingIfNeeded: word(2)))
        }
        switch word(0) {
        case UInt64(Tag.added):
            self = .added(segment(), Incarnation(rawValue: word(3)))
        case UInt64(Tag.compacted):
            self = .compacted(
                segment(),
                Incarnation(rawValue: word(3)),
                last: position(4)
            )
        case UInt64(Tag.ended):
            self = .ended(
                segment(),
                last: position(3),
                framesEnd: word(4)
            )
        case UInt64(Tag.sealed):
            self = .sealed(segment(), fileByteCount: word(3))
        case UInt64(Tag.removed):
            self = .removed(segment())
        case UInt64(Tag.began):
            self = .began(Incarnation(rawValue: word(1)), first: position(2))
        case UInt64(Tag.closed):
            self = .closed(last: position(1), framesEnd: word(2))
        default:
            return nil
        }
        guard isInRange else { return nil }
    }
}
