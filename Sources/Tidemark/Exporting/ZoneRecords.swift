// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The live records of one zone, to be visited in the order of their names' bytes.
///
/// The log has them in the order of their changes. So their names are read first and sorted: memory
/// is the zone's names, plus its records while those fit into a budget. What does not fit is read
/// again, in the order of the names.
struct ZoneRecords {
    private struct Entry {
        var sequence: SequenceNumber
        var nameStart: Int
        var nameByteCount: Int
        /// The location of the body, if the body is kept.
        var body: Range<Int>?
    }

    /// Bytes of records that are kept between the two passes.
    private static let budget = 32 << 20
    /// The number of records to read again at a time.
    private static let runLength = 1_024

    private var entries: [Entry] = []
    private var kept: [UInt8] = []
    private let source: any EventSource

    /// Reads the names.
    ///
    /// Passes over events that the source cannot read.
    init(_ sequences: [SequenceNumber], from source: any EventSource) throws(SyncError) {
        self.source = source
        entries.reserveCapacity(sequences.count)
        try Self.read(sequences, from: source) { (stored) throws(EventFormatError) in
            try keep(stored)
        }
        sort()
    }

    /// Visits the records by name until `visit` returns `false`; returns true if it never did.
    func visit(
        _ visit: (SequenceNumber, RecordBody) throws(SyncError) -> Bool
    ) throws(SyncError) -> Bool {
        var start = 0
        while start < entries.count {
            let run = entries[start..<min(start + Self.runLength, entries.count)]
            let again = try readAgain(run)
            for entry in run {
                // A record that could be read for its name and not again is left out, as unreadable
                // ones are.
                guard let body = again[entry.sequence] ?? entry.body.map({ kept[$0] }) else {
                    continue
                }
                guard try visit(entry.sequence, try Self.body(body)) else { return false }
            }
            start = run.endIndex
        }
        return true
    }

    private mutating func keep(_ stored: StoredRecord) throws(EventFormatError) {
        let body = stored.payload.dropFirst(stored.bodyOffset)
        let range = try RecordEvent.nameRange(
            in: stored.payload.span.bytes,
            state: stored.event.state,
            bodyOffset: stored.bodyOffset
        )
        let start = kept.count
        if start + body.count <= Self.budget {
            kept.append(contentsOf: body)
            entries.append(
                Entry(
                    sequence: stored.sequence,
                    nameStart: start + range.lowerBound - stored.bodyOffset,
                    nameByteCount: range.count,
                    body: start..<kept.count
                )
            )
        } else {
            // Sorting needs all names, so these are kept beyond the budget too.
            kept.append(contentsOf: stored.payload.dropFirst(range.lowerBound).prefix(range.count))
            entries.append(
                Entry(sequence: stored.sequence, nameStart: start, nameByteCount: range.count)
            )
        }
    }

    private mutating func sort() {
        // A copy of the reference: while `entries` is sorted in place, `self` must not be read.
        let kept = kept
        kept.withUnsafeBufferPointer { bytes in
            func name(_ entry: Entry) -> UnsafeBufferPointer<UInt8>.SubSequence {
                bytes[entry.nameStart..<entry.nameStart + entry.nameByteCount]
            }
            entries.sort { name($0).lexicographicallyPrecedes(name($1)) }
        }
    }

    /// The bodies of those entries of a run that were not kept.
    private func readAgain(
        _ run: ArraySlice<Entry>
    ) throws(SyncError) -> [SequenceNumber: ArraySlice<UInt8>] {
        let missing = run.filter { $0.body == nil }.map(\.sequence).sorted()
        var bodies: [SequenceNumber: ArraySlice<UInt8>] = [:]
        if missing.isEmpty { return bodies }
        try Self.read(missing, from: source) { (stored) throws(EventFormatError) in
            bodies[stored.sequence] = stored.payload.dropFirst(stored.bodyOffset)
        }
        return bodies
    }

    private static func read(
        _ sequences: [SequenceNumber],
        from source: any EventSource,
        _ take: (StoredRecord) throws(EventFormatError) -> Void
    ) throws(SyncError) {
        try source.visit(sequences) { (event) throws(EventFormatError) in
            try take(try StoredRecord(event.sequence, zone: event.zone, event.payload))
            return true
        }
    }

    private static func body(_ bytes: ArraySlice<UInt8>) throws(SyncError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: bytes)
        } catch {
            throw SyncError(.internalError, "A record's body is damaged: \(error)")
        }
    }
}
