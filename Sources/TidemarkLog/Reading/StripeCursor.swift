// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Walks the events of several blocks whose positions overlap, in the order of positions.
///
/// What is in memory for it is the blocks; an event costs O(log blocks), or O(1) if the next one is
/// in the same block.
struct StripeCursor {
    /// What to do about a block that is malformed inside: throw, or return to go on without the rest
    /// of it.
    typealias Meeting = (BlockEntry, BlockCursor.Malformed) throws(LogError) -> Void

    private var cursors: [BlockCursor]
    /// The positions that the cursors are at.
    private var positions: [UInt64]
    /// Indexes of cursors that have not ended: a heap, the least position first.
    private var heap: [Int] = []
    private var hasBegun = false

    /// A cursor before the first event at or after a position.
    init(
        _ blocks: [DecodedBlock],
        from first: SequenceNumber = .zero,
        meet: Meeting
    ) throws(LogError) {
        cursors = blocks.map { BlockCursor($0) }
        positions = [UInt64](repeating: 0, count: blocks.count)
        for index in cursors.indices where try move(index, to: first, meet) { heap.append(index) }
        for place in (0..<heap.count / 2).reversed() { settle(from: place) }
    }

    /// Which of the blocks has the event that the cursor is at.
    var block: Int { heap[0] }

    /// The event that the cursor is at.
    var event: LogEvent { cursors[heap[0]].event }

    /// Moves to the next event; `false` at the end of all blocks.
    mutating func advance(meet: Meeting) throws(LogError) -> Bool {
        guard let index = heap.first else { return false }
        guard hasBegun else {
            hasBegun = true
            return true
        }
        if try !move(index, meet) {
            heap[0] = heap[heap.count - 1]
            heap.removeLast()
        }
        settle(from: 0)
        return !heap.isEmpty
    }

    private mutating func move(
        _ index: Int,
        to first: SequenceNumber = .zero,
        _ meet: Meeting
    ) throws(LogError) -> Bool {
        do throws(BlockCursor.Malformed) {
            guard try cursors[index].advance(to: first) else { return false }
            positions[index] = cursors[index].sequence.rawValue
            return true
        } catch {
            try meet(cursors[index].entry, error)
            return false
        }
    }

    /// Moves what is at a place of the heap down to where it belongs.
    private mutating func settle(from start: Int) {
        var place = start
        while true {
            var least = 2 * place + 1
            guard least < heap.count else { return }
            if least + 1 < heap.count, positions[heap[least + 1]] < positions[heap[least]] {
                least += 1
            }
            if positions[heap[place]] < positions[heap[least]] { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
