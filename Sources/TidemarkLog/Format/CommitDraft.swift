// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One commit on its way into the log: events that become true together.
///
/// The log reads nothing of it but its lengths. Payloads lie one after another in one array, so
/// that a commit of any number of events costs four allocations.
package struct CommitDraft: Sendable {
    /// The claimed time in milliseconds since 1970, never before that of the commit before it.
    package var time: Int64
    /// Our own clock's reading in milliseconds since 1970.
    package var received: Int64
    /// The user, device and request of the commit: opaque to the log, stored once per block.
    package var envelope: [UInt8]
    /// All payloads, one after another.
    package private(set) var payloads: [UInt8] = []
    /// The end of each event's payload in `payloads`, and the event's zone.
    package private(set) var events: [Event] = []

    /// The part of a commit that the events are, in a copy that lacks the others; `nil` for the
    /// whole commit.
    var part: Part?

    /// The place of a draft's events in their original commit.
    struct Part: Sendable {
        /// The number of events in the original commit.
        var eventCount: Int
        /// The index of the draft's first event in the original commit.
        var firstIndex: Int
        /// Runs of positions that are now empty, each before the event at an index of the draft.
        var gaps: [(before: Int, count: UInt32)] = []
    }

    /// One event of a draft.
    package struct Event: Sendable {
        /// The zone's key; `ownSequence` for the event that creates its zone.
        package var zone: ZoneKey
        /// The end of the payload, exclusive.
        package var payloadEnd: Int

        /// Returns the zone's key, once the event has a position.
        func zone(at position: SequenceNumber) -> ZoneKey {
            zone == CommitDraft.ownSequence ? ZoneKey(createdAt: position) : zone
        }
    }

    /// The frame that another thread has begun to compress; `nil` if none has, or the draft has
    /// changed in another way than by growing.
    private var early: Early?

    private struct Early: Sendable {
        let frame: EarlyFrame
        /// The number of events that the draft will probably have.
        let eventCount: Int
        /// The number of events that are in the frame.
        var gatheredCount = 0
    }

    /// Stands for "the key of this event's zone is this event's own sequence number".
    package static let ownSequence = ZoneKey(rawValue: .max)

    /// Starts a draft without events.
    package init(time: Int64, received: Int64, envelope: [UInt8]) {
        self.time = time
        self.received = received
        self.envelope = envelope
    }

    /// Makes room for events, so that the draft is not moved while it grows.
    package mutating func reserveCapacity(eventCount: Int, byteCount: Int) {
        events.reserveCapacity(eventCount)
        payloads.reserveCapacity(byteCount)
    }

    /// Adds one event, whose payload the closure appends to the end of the array.
    ///
    /// A zone created in the same commit is named by its sequence number, which the caller knows
    /// only relative to the commit's first.
    package mutating func append(zone: ZoneKey, payload: (inout [UInt8]) -> Void) {
        // The key depends on the position, which is not known yet.
        if zone == Self.ownSequence { dropEarlyFrame() }
        payload(&payloads)
        // The end alone: a payload begins where the one before it ends.
        events.append(Event(zone: zone, payloadEnd: payloads.count))
    }

    /// Gives the events of a zone whose key was not known before the serialization point their
    /// zone's key.
    ///
    /// O(events).
    package mutating func replaceZone(_ placeholder: ZoneKey, with zone: ZoneKey) {
        dropEarlyFrame()
        for index in events.indices where events[index].zone == placeholder {
            events[index].zone = zone
        }
    }

    /// Changes bytes of the payloads in place, such as a time that had to be raised.
    package mutating func patchPayloads(_ body: (inout MutableRawSpan) -> Void) {
        dropEarlyFrame()
        var span = payloads.mutableSpan
        var bytes = span.mutableBytes
        body(&bytes)
    }

    /// Lets another thread compress the draft while it grows to a number of events.
    ///
    /// The draft already has the time and the envelope that it will probably have in the end. If
    /// it ends otherwise, it is compressed again.
    package mutating func begin(_ frame: EarlyFrame, eventCount: Int) {
        early = Early(frame: frame, eventCount: eventCount)
    }

    /// Hands the blocks that are complete to the other thread, if there is one.
    package mutating func compressCompleteBlocks() {
        guard let early else { return }
        let start = early.gatheredCount
        if let count = early.frame.gather(self, from: start, eventCount: early.eventCount) {
            self.early?.gatheredCount = count
        } else {
            self.early = nil
        }
    }

    /// Removes all events.
    package mutating func removeEvents() {
        dropEarlyFrame()
        payloads.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
    }

    private mutating func dropEarlyFrame() {
        leaveEarlyFrame()
        early = nil
    }

    /// Ends the work on the early frame, which is not used.
    func leaveEarlyFrame() { early?.frame.abandon() }

    /// Returns the frame that the draft begins at a position, if another thread compresses it;
    /// only called once.
    func earlyFrame(at first: SequenceNumber) -> FrameBuilder? {
        guard let early else { return nil }
        return early.frame.builder(of: self, from: early.gatheredCount, at: first)
    }
}
