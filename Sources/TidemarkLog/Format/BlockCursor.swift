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
    let block: DecodedBlock
    private var offset = 0
    private var position: UInt64
    private var commit: LogCommit?

    /// The payload of a block is not what the format allows, although its checksum is right:
    /// a defect of the writer, or of memory.
    struct Malformed: Error {
        var offset: Int
    }

    init(_ block: DecodedBlock) {
        self.block = block
        position = block.entry.first.rawValue
    }

    /// The next event at or after a position, or `nil` at the end of the block.
    ///
    /// Events before that are stepped over, which costs a tenth of making them.
    mutating func next(
        from target: SequenceNumber = .zero
    ) throws(Malformed) -> LogEvent? {
        let raw = block.bytes
        let bytes = raw.span.bytes
        while offset < bytes.byteCount {
            let start = offset
            let tag = bytes.byte(at: offset)
            offset += 1
            switch tag {
            case EntryTag.event:
                if position >= target.rawValue { return try event(in: bytes, start: start) }
                try stepOver(in: bytes, start: start)
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
        guard position == block.entry.first.rawValue + UInt64(block.entry.positionCount) else {
            throw Malformed(offset: offset)
        }
        return nil
    }

    private mutating func stepOver(in bytes: RawSpan, start: Int) throws(Malformed) {
        guard commit != nil, bytes.variableInteger(at: &offset) != nil,
            let byteCount = bytes.variableInteger(at: &offset),
            byteCount <= UInt64(bytes.byteCount - offset)
        else { throw Malformed(offset: start) }
        offset += Int(byteCount)
        position += 1
    }

    private mutating func event(
        in bytes: RawSpan,
        start: Int
    ) throws(Malformed) -> LogEvent {
        guard let commit,
            let zone = bytes.variableInteger(at: &offset),
            let byteCount = bytes.variableInteger(at: &offset),
            byteCount <= UInt64(bytes.byteCount - offset)
        else { throw Malformed(offset: start) }
        let payload = offset..<offset + Int(byteCount)
        offset = payload.upperBound
        defer { position += 1 }
        return LogEvent(
            sequence: SequenceNumber(rawValue: position),
            zone: zone,
            commit: commit,
            payload: block.bytes[payload]
        )
    }

    private mutating func readCommit(in bytes: RawSpan, start: Int) throws(Malformed) {
        guard let eventCount = bytes.variableInteger(at: &offset),
            let eventIndex = bytes.variableInteger(at: &offset),
            eventCount <= UInt64(UInt32.max), eventIndex < eventCount, eventIndex < position,
            let time = bytes.variableInteger(at: &offset),
            let received = bytes.variableInteger(at: &offset),
            let byteCount = bytes.variableInteger(at: &offset),
            byteCount <= UInt64(bytes.byteCount - offset)
        else { throw Malformed(offset: start) }
        let envelope = offset..<offset + Int(byteCount)
        offset = envelope.upperBound
        commit = LogCommit(
            first: SequenceNumber(rawValue: position - eventIndex),
            eventCount: Int(eventCount),
            time: unzigzag(time),
            received: unzigzag(time) &+ unzigzag(received),
            envelope: block.bytes[envelope]
        )
    }
}
