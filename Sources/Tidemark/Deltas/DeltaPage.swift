// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The lines of one page of a zone's delta, and where it ends.
struct ChangePage {
    /// The lines.
    var changes: [RecordChange] = []
    /// The position up to which the page tells everything; `nil` if nothing more is there.
    var end: SequenceNumber?
}

/// One page of a zone's delta, as its events are read one after another.
///
/// This runs once per record of every delta.
struct DeltaPage {
    /// The lines of the page so far.
    private(set) var changes: [RecordChange] = []
    /// Position of the last event that was read; zero before the first.
    private(set) var last = SequenceNumber.zero
    /// Why an event could not be read.
    private(set) var failure: EventFormatError?

    private var lines: DeltaLines
    private let byteLimit: Int
    private var byteCount = 0
    /// The commit that the last event belongs to.
    private var commitFirst = SequenceNumber.zero
    private var commitLast = SequenceNumber.zero
    /// How many lines, and up to which position, lie before that commit.
    private var countBefore = 0
    private var lastBefore = SequenceNumber.zero

    init(of zone: ZoneID, line: IncarnationLine, count: Int, byteLimit: Int) {
        self.byteLimit = byteLimit
        lines = DeltaLines(of: zone, line: line)
        changes.reserveCapacity(count)
    }

    /// Takes in the next event; says whether there is room for more.
    @inline(__always)
    mutating func add(_ event: LogEvent) -> Bool {
        do throws(EventFormatError) {
            if event.commit.first != commitFirst {
                countBefore = changes.count
                lastBefore = last
                commitFirst = event.commit.first
                commitLast = event.commit.last
            }
            changes.append(try lines.change(event))
            last = event.sequence
            byteCount += event.payloadRange.count
            return byteCount < byteLimit
        } catch {
            failure = error
            return false
        }
    }

    /// Cuts the page back to a commit's end, if the commit at its end goes on with the next line
    /// and is not all of the page; returns whether it did.
    mutating func trim(before next: SequenceNumber) -> Bool {
        guard next <= commitLast, countBefore > 0 else { return false }
        changes.removeLast(changes.count - countBefore)
        last = lastBefore
        return true
    }
}
