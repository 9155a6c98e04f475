// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Gathers the events of one stripe, then groups them by zone.
///
/// A stripe begins and ends between two commits.
struct StripeBuilder {
    /// An event whose payload is kept in `bytes`.
    private struct Gathered {
        var sequence: SequenceNumber
        var zone: ZoneKey
        /// An index into `commits`.
        var commit: Int
        var payload: Range<Int>
    }

    private struct GatheredCommit {
        var commit: LogCommit
        var envelope: Range<Int>
    }

    /// The first position that the stripe covers.
    let first: SequenceNumber
    /// The first position that it does not cover yet.
    private(set) var next: SequenceNumber
    private var events: [Gathered] = []
    private var commits: [GatheredCommit] = []
    private var bytes: [UInt8] = []

    init(first: SequenceNumber) {
        self.first = first
        next = first
    }

    /// Bytes of payloads and envelopes that were gathered.
    var byteCount: Int { bytes.count }

    /// Gathers an event that is not before `next`, or an event of the store itself in its place.
    mutating func append(_ event: LogEvent, payload replacement: [UInt8]? = nil) {
        if commits.last?.commit.first != event.commit.first {
            let start = bytes.count
            bytes.append(contentsOf: event.envelope)
            commits.append(GatheredCommit(commit: event.commit, envelope: start..<bytes.count))
        }
        let start = bytes.count
        bytes.append(contentsOf: replacement.map { $0[...] } ?? event.payload)
        events.append(
            Gathered(
                sequence: event.sequence,
                zone: replacement == nil ? event.zone : 0,
                commit: commits.count - 1,
                payload: start..<bytes.count
            )
        )
        next = event.sequence.next
    }

    /// Returns the position at which the stripe must end, if it would cover too many positions with
    /// one more.
    func lastPosition(before position: SequenceNumber) -> SequenceNumber? {
        let last = first.rawValue + UInt64(Layout.framePositionCount) - 1
        return position.rawValue > last ? SequenceNumber(rawValue: last) : nil
    }

    /// Covers empty positions up to a given one.
    mutating func cover(through last: SequenceNumber) {
        next = max(next, last.next)
    }

    /// True if grouping by zone can have a benefit: there are several zones, and more than one
    /// block of events.
    var isWorthwhile: Bool {
        guard let zone = events.first?.zone, events.contains(where: { $0.zone != zone }) else {
            return false
        }
        // With a single block, a reader decodes all events in either order.
        return byteCountBound(of: events.indices) > Layout.compactedBlockByteCount
    }

    /// Returns the gathered events as ordinary frames.
    func frames() -> [RawFrame] {
        var frames: [RawFrame] = []
        var builder = FrameBuilder(
            first: first,
            blockByteCount: Layout.compactedBlockByteCount
        )
        var previous: Int?
        for event in events {
            let isFirst = event.commit != previous
            // A frame of kind 1 holds whole commits, so it ends only where the next commit begins.
            if isFirst, builder.isFull {
                let next = builder.next
                frames.append(builder.frame())
                builder = FrameBuilder(
                    first: next,
                    blockByteCount: Layout.compactedBlockByteCount
                )
            }
            let commit = commits[event.commit]
            builder.append(
                LogEvent(
                    sequence: event.sequence,
                    zone: event.zone,
                    commit: commit.commit,
                    block: bytes,
                    payload: event.payload,
                    envelope: commit.envelope
                ),
                isFirst: isFirst
            )
            previous = event.commit
        }
        builder.appendGap(before: next)
        if !builder.isEmpty { frames.append(builder.frame()) }
        return frames
    }

    /// Returns the maximum size of an event in a block, after another one.
    private func byteCountBound(of index: Int, after previous: Int?) -> Int {
        let event = events[index]
        let isFollowing = previous.map { events[$0].commit == event.commit } ?? false
        let commit = isFollowing ? 0 : 64 + commits[event.commit].envelope.count
        // The head of the event takes at most 21 bytes, and a gap before it at most 6: its length
        // is within one frame, so its varint has at most 5 bytes.
        return event.payload.count + 27 + commit
    }

    private func byteCountBound(of indices: some Sequence<Int>) -> Int {
        var previous: Int?
        return indices.reduce(0) { sum, index in
            defer { previous = index }
            return sum + byteCountBound(of: index, after: previous)
        }
    }

    // MARK: Grouping

    /// Returns the stripe as a frame in which zones with at least this many raw bytes have their
    /// own blocks.
    ///
    /// O(events × log events).
    consuming func frame(
        ownBlockByteCount: Int = Layout.ownBlockByteCount
    ) -> RawFrame {
        var layout = StripeLayout(eventCount: events.count)
        for group in blockGroups(ownBlockByteCount) { write(group, to: &layout) }
        // The maps come first in the frame, but can only be made after the blocks.
        let maps = maps(of: layout)
        return RawFrame(
            kind: .stripe,
            first: first,
            positionCount: Int(next.rawValue - first.rawValue),
            commitCount: commits.count,
            lastTime: commits.reduce(.min) { max($0, $1.commit.time) },
            lastReceived: commits.reduce(.min) { max($0, $1.commit.received) },
            blocks: maps.blocks + layout.blocks
        )
    }

    /// Returns the groups of events that have their own blocks, each in position order: one zone,
    /// or several small zones.
    private func blockGroups(_ ownBlockByteCount: Int) -> [[Int]] {
        // `sorted` is not stable by contract, so the index decides between events of one zone: the
        // blocks of a zone must be in position order.
        let order = events.indices.sorted { left, right in
            let zones = (events[left].zone, events[right].zone)
            return zones.0 == zones.1 ? left < right : zones.0 < zones.1
        }
        var groups: [[Int]] = []
        var shared: [Int] = []
        var sharedByteCount = 0
        var start = 0
        while start < order.count {
            let zone = events[order[start]].zone
            let end = order[start...].firstIndex { events[$0].zone != zone } ?? order.count
            let byteCount = byteCountBound(of: order[start..<end])
            if byteCount >= ownBlockByteCount {
                groups.append(Array(order[start..<end]))
            } else {
                if sharedByteCount + byteCount > Layout.compactedBlockByteCount {
                    // Sorted back into position order, which every block has. `shared` has one zone
                    // after another.
                    groups.append(shared.sorted())
                    shared = []
                    sharedByteCount = 0
                }
                shared += order[start..<end]
                sharedByteCount += byteCount
            }
            start = end
        }
        if !shared.isEmpty { groups.append(shared.sorted()) }
        return groups
    }

    private func write(_ group: [Int], to layout: inout StripeLayout) {
        layout.endBlock()
        var previous: Int?
        for index in group {
            let event = events[index]
            // A new block repeats the commit's entry, since each block must be readable alone.
            if layout.lacksRoom(for: byteCountBound(of: index, after: previous)) {
                layout.endBlock()
                previous = nil
            }
            let isFollowing = previous.map { events[$0].commit == event.commit } ?? false
            layout.begin(index, at: event.sequence)
            if !isFollowing {
                let commit = commits[event.commit]
                let eventIndex = event.sequence.rawValue - commit.commit.first.rawValue
                layout.open.append(
                    commit: commit.commit,
                    bytes[commit.envelope],
                    eventIndex: Int(eventIndex)
                )
            }
            layout.open.append(
                eventOf: event.zone,
                bytes.span.bytes.extracting(event.payload)
            )
            previous = index
        }
    }

    private func maps(of layout: StripeLayout) -> StripeMapWriter {
        var maps = StripeMapWriter(first: first)
        // A row ends where the next event is in another block. Positions without events thereby
        // belong to the row of the event before them.
        for index in events.indices.dropFirst()
        where layout.owners[index] != layout.owners[index - 1] {
            maps.append(before: events[index].sequence, block: layout.owners[index - 1])
        }
        if let last = layout.owners.last { maps.append(before: next, block: last) }
        return maps
    }
}

/// The blocks of a stripe as they are filled.
private struct StripeLayout {
    private(set) var blocks: [RawFrame.Block] = []
    /// The block of each event.
    private(set) var owners: [Int]
    private var isOpen = false

    init(eventCount: Int) {
        owners = [Int](repeating: 0, count: eventCount)
    }

    /// The bytes of the last block.
    var open: [UInt8] {
        get { blocks[blocks.count - 1].raw }
        _modify { yield &blocks[blocks.count - 1].raw }
    }

    mutating func endBlock() { isOpen = false }

    /// Returns true if the open block is not empty and has no room for more bytes.
    func lacksRoom(for byteCount: Int) -> Bool {
        isOpen && open.count + byteCount > Layout.compactedBlockByteCount
    }

    /// Moves to an event's position, in a new block if none is open.
    mutating func begin(_ index: Int, at sequence: SequenceNumber) {
        if !isOpen { blocks.append(RawFrame.Block(first: sequence)) }
        isOpen = true
        let block = blocks.count - 1
        owners[index] = block
        let next = blocks[block].first.rawValue + UInt64(blocks[block].positionCount)
        // Before the commit's entry, from whose position a reader computes the commit's first
        // position.
        if sequence.rawValue > next { open.append(gap: sequence.rawValue - next) }
        blocks[block].positionCount = Int(sequence.rawValue - blocks[block].first.rawValue) + 1
    }
}
