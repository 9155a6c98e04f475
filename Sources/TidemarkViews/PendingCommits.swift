// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// Commits that were appended and are not durable yet, so that a decision can look at their records
/// without waiting for the disk.
///
/// The bytes are shared with the log's own queue.
package struct PendingCommits: Sendable {
    /// One commit.
    package struct Commit: Sendable {
        /// Position of its first event.
        package var first: SequenceNumber
        /// All payloads, one after another.
        package var payloads: [UInt8]
        /// Where each event's payload ends, and the zone it belongs to.
        package var events: [CommitDraft.Event]
        /// The envelope's bytes.
        package var envelope: [UInt8]
        /// Our own clock's reading.
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

        /// The payload of the event at an index of the commit.
        package func payload(at index: Int) -> ArraySlice<UInt8> {
            payloads[(index == 0 ? 0 : events[index - 1].payloadEnd)..<events[index].payloadEnd]
        }
    }

    private var commits: [Commit] = []
    /// How many of `commits` are durable and kept only until it is worth moving the others.
    private var droppedCount = 0

    package init() {}

    /// Adds the newest commit.
    package mutating func append(_ commit: Commit) {
        commits.append(commit)
    }

    /// Forgets the commits that end at or before a position.
    ///
    /// Amortized O(1) per commit.
    package mutating func drop(through sequence: SequenceNumber) {
        while droppedCount < commits.count {
            let commit = commits[droppedCount]
            guard commit.first + (commit.events.count - 1) <= sequence else { break }
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

    /// The commit that holds a position, and the event's index in it.
    ///
    /// O(log commits).
    package func find(_ sequence: SequenceNumber) -> (commit: Commit, index: Int)? {
        var low = droppedCount
        var high = commits.count
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].first <= sequence { low = middle + 1 } else { high = middle }
        }
        guard low > droppedCount else { return nil }
        let commit = commits[low - 1]
        let index = Int(sequence - commit.first)
        return index < commit.events.count ? (commit, index) : nil
    }
}
