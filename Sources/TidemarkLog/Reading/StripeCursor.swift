// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Walks the events of several blocks whose positions overlap, in the order of positions.
///
/// Memory holds the blocks. Each event takes O(log blocks), or O(1) if the next one is in the same
/// block.
struct StripeCursor {
    /// The reaction to a malformed block: throws, or returns to continue without the rest of the
    /// block.
    typealias Meeting = (BlockEntry, BlockCursor.Malformed) throws(LogError) -> Void

    private var cursors: [BlockCursor]
    /// The positions of the cursors.
    private var positions: [UInt64]
    /// The indexes of cursors that have not ended: a heap with the least position first.
    private var heap: [Int] = []
    private var hasBegun = false

    /// Creates a cursor before the first event at or after a position.
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

    /// The index of the block that holds the current event.
    var block: Int { heap[0] }

    /// The current event.
    var event: LogEvent { cursors[heap[0]].event }

    /// Moves to the next event; `false` at the end of all blocks.
    mutating func advance(meet: Meeting) throws(LogError) -> Bool {
        guard let index = heap.first else { return false }
        guard hasBegun else {
            // The heap's first element is at the first event since the initializer.
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
            // The rest of the block is lost. The other blocks are merged without it.
            try meet(cursors[index].entry, error)
            return false
        }
    }

    /// Moves an element of the heap down to its place.
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
