// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// A log from which some events are gone, and which counts those that are read.
final class PrunedSource: EventSource {
    private let log: any EventSource
    private let gone: Set<SequenceNumber>
    private let count = Lock(0)

    /// How many events were handed on.
    var readCount: Int { count.withLock { $0 } }

    init(_ log: any EventSource, without gone: Set<SequenceNumber> = []) {
        self.log = log
        self.gone = gone
    }

    var store: StoreID { log.store }
    var line: IncarnationLine { log.line }
    var durableSequence: SequenceNumber { log.durableSequence }
    var compactedThrough: SequenceNumber { log.durableSequence }

    func read(_ sequences: [SequenceNumber], _ visit: (LogEvent) -> Bool) throws(LogError) {
        try log.read(sequences.filter { !gone.contains($0) }) { event in
            count.withLock { $0 += 1 }
            return visit(event)
        }
    }

    func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) -> Bool
    ) throws(LogError) {
        try log.scan(from: first, through: last) { event in
            if gone.contains(event.sequence) { return true }
            count.withLock { $0 += 1 }
            return visit(event)
        }
    }

    func lastSequence(atOrBefore time: Int64) throws(LogError) -> SequenceNumber {
        try log.lastSequence(atOrBefore: time)
    }

    var finishedManifest: Manifest { log.finishedManifest }
}
