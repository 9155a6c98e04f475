// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// Appended commits that are not durable yet, so that a decision can read their records without
/// waiting for the disk.
///
/// The bytes are shared with the log's own queue.
package struct PendingCommits: Sendable {
    /// One commit.
    package struct Commit: Sendable {
        /// The position of the commit's first event.
        package var first: SequenceNumber
        /// All payloads, one after another.
        package var payloads: [UInt8]
        /// The end of each event's payload in `payloads`, and the event's zone.
        package var events: [CommitDraft.Event]
        /// The envelope's bytes.
        package var envelope: [UInt8]
        /// The time by this machine's clock.
        package var received: Int64

        package init(
            first: SequenceNumber,
            payloads: [UInt8],
            events: [CommitDraft.Event],
            envelope: [UInt8],
            received: Int64
        ) {
            self.first = first
            self.payloads = payloads
            self.events = events
            self.envelope = envelope
            self.received = received
        }

        /// Returns the payload of the event at an index of the commit.
        package func payload(at index: Int) -> ArraySlice<UInt8> {
            payloads[(index == 0 ? 0 : events[index - 1].payloadEnd)..<events[index].payloadEnd]
        }
    }

    private var commits: [Commit] = []
    /// The number of `commits` that are durable and stay until moving the others is worthwhile.
    private var droppedCount = 0

    package init() {}

    /// Adds the newest commit.
    package mutating func append(_ commit: Commit) {
        commits.append(commit)
    }

    /// Removes the commits that end at or before a position.
    ///
    /// Amortized O(1) per commit.
    package mutating func drop(through sequence: SequenceNumber) {
        while droppedCount < commits.count {
            // Read member by member: a commit that is held in a variable is retained three times.
            let last = commits[droppedCount].first + (commits[droppedCount].events.count - 1)
            guard last <= sequence else { break }
            // The bytes are released at once. The array itself is moved only when half of it is
            // dropped.
            commits[droppedCount] = Commit(
                first: 0,
                payloads: [],
                events: [],
                envelope: [],
                received: 0
            )
            droppedCount += 1
        }
        if droppedCount * 2 >= commits.count {
            commits.removeFirst(droppedCount)
            droppedCount = 0
        }
    }

    /// Returns the commit that holds a position, and the event's index in it.
    ///
    /// O(log commits).
    package func find(_ sequence: SequenceNumber) -> (commit: Commit, index: Int)? {
        var low = droppedCount
        var high = commits.count
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].first <= sequence { low = middle + 1 } else { high = middle }
        }
        // The position is before every pending commit: the log has it.
        guard low > droppedCount else { return nil }
        let commit = commits[low - 1]
        let index = Int(sequence - commit.first)
        return index < commit.events.count ? (commit, index) : nil
    }
}
