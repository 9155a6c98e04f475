// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The raw bytes of one block and the positions it covers.
final class DecodedBlock: Sendable {
    let bytes: [UInt8]
    let entry: BlockEntry

    init(bytes: [UInt8], entry: BlockEntry) {
        self.bytes = bytes
        self.entry = entry
    }
}

/// Walks the events of one decoded block.
struct BlockCursor {
    /// The block's entry.
    let entry: BlockEntry
    private let block: [UInt8]
    private var offset = 0
    private var position: UInt64
    private var commit: LogCommit?
    private var envelope = 0..<0

    /// The payload of a block is not what the format allows, although its checksum is right:
    /// a defect of the writer, or of memory.
    struct Malformed: Error {
        var offset: Int
    }

    init(_ block: DecodedBlock) {
        entry = block.entry
        self.block = block.bytes
        position = block.entry.first.rawValue
    }

    /// The next event at or after a position, or `nil` at the end of the block.
    ///
    /// Events before that are stepped over, which costs a tenth of making them.
    mutating func next(
        from target: SequenceNumber = .zero
    ) throws(Malformed) -> LogEvent? {
        // The one reference to the block that the event will hold.
        let block = block
        let bytes = block.span.bytes
        while offset < bytes.byteCount {
            let start = offset
            let tag = bytes.byte(at: offset)
            offset += 1
            switch tag {
            case EntryTag.event:
                guard let commit, let zone = bytes.variableInteger(at: &offset),
                    let payload = bytes.countedBytes(at: &offset)
                else { throw Malformed(offset: start) }
                position += 1
                if position <= target.rawValue { continue }
                return LogEvent(
                    sequence: SequenceNumber(rawValue: position - 1),
                    zone: zone,
                    commit: commit,
                    block: block,
                    payload: payload,
                    envelope: envelope
                )
            case EntryTag.commit:
                try readCommit(in: bytes, start: start)
            case EntryTag.gap:
                guard let gapCount = bytes.variableInteger(at: &offset),
                    gapCount <= UInt64(UInt32.max)
                else { throw Malformed(offset: start) }
                position += gapCount
            default:
                throw Malformed(offset: start)
            }
        }
        guard position == entry.first.rawValue + UInt64(entry.positionCount) else {
            throw Malformed(offset: offset)
        }
        return nil
    }

    private mutating func readCommit(in bytes: RawSpan, start: Int) throws(Malformed) {
        guard let eventCount = bytes.variableInteger(at: &offset),
            let eventIndex = bytes.variableInteger(at: &offset),
            eventCount <= UInt64(UInt32.max), eventIndex < eventCount, eventIndex < position,
            let time = bytes.variableInteger(at: &offset),
            let received = bytes.variableInteger(at: &offset),
            let envelope = bytes.countedBytes(at: &offset)
        else { throw Malformed(offset: start) }
        self.envelope = envelope
        commit = LogCommit(
            first: SequenceNumber(rawValue: position - eventIndex),
            eventCount: Int(eventCount),
            time: unzigzag(time),
            received: unzigzag(time) &+ unzigzag(received)
        )
    }
}

extension RawSpan {
    /// Finds bytes behind their count and moves past them; `nil` if they are cut off.
    @inline(__always)
    fileprivate func countedBytes(at offset: inout Int) -> Range<Int>? {
        guard let count = variableInteger(at: &offset), count <= UInt64(byteCount - offset) else {
            return nil
        }
        let start = offset
        offset += Int(count)
        return start..<offset
    }
}
