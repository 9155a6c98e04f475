// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The places of the events in one decoded block.
///
/// Walking to an event reads memory for each event before it, and each read depends on the previous
/// one. In a block outside the processor's cache, that is slower than decoding the block. A reader
/// of few events uses the map instead.
struct BlockMap: Sendable {
    /// One event.
    struct Place: Sendable {
        /// Counted from the block's first.
        var position: UInt32
        /// The end of the previous event; entries of commits and gaps may follow before this event.
        var offset: UInt32
        /// The index of the first event of its commit in the block.
        var commit: UInt32
    }

    /// In the order of the block.
    private(set) var places: [Place] = []

    /// Starts without events, and with room for some.
    init(capacity: Int = 0) { places.reserveCapacity(capacity) }

    /// Bytes that it takes.
    var byteCount: Int { places.count * MemoryLayout<Place>.stride }

    /// Adds the next event.
    mutating func append(_ place: Place) { places.append(place) }

    /// Returns the index of the first event at or after a position; `nil` if the block has none.
    ///
    /// O(1) if the block has no gaps before the position, otherwise O(log events).
    func index(atOrAfter position: Int) -> Int? {
        // Gaps only bring an event closer to the start.
        if position < places.count, places[position].position == position { return position }
        let index = places.endOfPrefix { $0.position < position }
        return index < places.count ? index : nil
    }

    /// Returns the state of a walk that reaches an event next: the offset, and the expected
    /// position.
    func start(of index: Int) -> (offset: Int, position: Int) {
        let place = places[index]
        return (Int(place.offset), index > 0 ? Int(places[index - 1].position) + 1 : 0)
    }
}
