// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Where the events of one decoded block lie.
///
/// Walking to an event touches memory for each one before it, and each of those waits for the one
/// before: in a block that has left the processor's cache that is slower than decoding it. Who wants
/// few events of a block looks here first.
struct BlockMap: Sendable {
    /// One event.
    struct Place: Sendable {
        /// Counted from the block's first.
        var position: UInt32
        /// Where the event before it ends: entries of commits and gaps may come between.
        var offset: UInt32
        /// The index of the first event of its commit that is in the block.
        var commit: UInt32
    }

    /// In the order of the block.
    private(set) var places: [Place] = []

    /// Bytes that it takes.
    var byteCount: Int { places.count * MemoryLayout<Place>.stride }

    /// Adds the next event.
    mutating func append(_ place: Place) { places.append(place) }

    /// The index of the first event at or after a position; `nil` if the block has none.
    ///
    /// One look where the block has no gaps before it, otherwise O(log events).
    func index(atOrAfter position: Int) -> Int? {
        // Gaps only bring an event closer to the start.
        if position < places.count, places[position].position == position { return position }
        var low = 0
        var high = places.count
        while low < high {
            let middle = (low + high) / 2
            if places[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low < places.count ? low : nil
    }

    /// Where a walk that comes to an event next is: the offset, and the position that it expects.
    func start(of index: Int) -> (offset: Int, position: Int) {
        let place = places[index]
        return (Int(place.offset), index > 0 ? Int(places[index - 1].position) + 1 : 0)
    }
}
