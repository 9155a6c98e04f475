// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Walks one map of a stripe: rows that give, in position order, the block of the next positions.
struct StripeMapCursor {
    private let bytes: [UInt8]
    private let last: UInt64
    private var offset = 0
    /// The positions of the row that the cursor is at.
    private(set) var first: UInt64
    private(set) var end: UInt64
    /// The block of the row that the cursor is at, counted from the stripe's first.
    private(set) var block = 0

    /// A cursor before the first row of a decoded map.
    init(_ map: DecodedBlock) {
        bytes = map.bytes
        first = map.entry.first.rawValue
        end = first
        last = map.entry.last.rawValue
    }

    /// Moves to the next row; `false` at the end of the map, or where it is malformed.
    mutating func advance() -> Bool {
        var place = offset
        guard let count = bytes.span.bytes.variableInteger(at: &place),
            let block = bytes.span.bytes.variableInteger(at: &place),
            // Written as differences, because a sum with a damaged count could overflow.
            count > 0, end <= last, count - 1 <= last - end, block <= UInt64(UInt32.max)
        else { return false }
        offset = place
        first = end
        end += count
        self.block = Int(block)
        return true
    }

    /// Moves to the row of a position, which is not before the current row; `false` if the map has
    /// none.
    mutating func advance(to sequence: SequenceNumber) -> Bool {
        while end <= sequence.rawValue {
            guard advance() else { return false }
        }
        return true
    }
}

/// The maps of one stripe, as they are written.
struct StripeMapWriter {
    private(set) var blocks: [RawFrame.Block] = []
    /// The first position that has no row yet.
    private var next: SequenceNumber

    init(first: SequenceNumber) {
        next = first
    }

    /// Adds a row: the positions before a given one are in a block.
    mutating func append(before end: SequenceNumber, block: Int) {
        if blocks.last.map({ $0.raw.count >= Layout.mapByteCount }) ?? true {
            blocks.append(RawFrame.Block(first: next, isMap: true))
        }
        let count = end.rawValue - next.rawValue
        blocks[blocks.count - 1].raw.append(variableInteger: count)
        blocks[blocks.count - 1].raw.append(variableInteger: UInt64(block))
        blocks[blocks.count - 1].positionCount += Int(count)
        next = end
    }
}
