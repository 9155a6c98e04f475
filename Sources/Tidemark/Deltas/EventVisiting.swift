// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// An error that a visitor of events may throw.
package protocol EventFailure: Error {
    /// The same as an error of the store.
    var asSyncError: SyncError { get }
}

extension SyncError: EventFailure {
    package var asSyncError: SyncError { self }
}

extension EventFormatError: EventFailure {
    package var asSyncError: SyncError { SyncError(self) }
}

extension Never: EventFailure {
    package var asSyncError: SyncError { switch self {} }
}

/// Reading for visitors that may fail: the first error ends the reading, and is thrown.
extension EventSource {
    /// The event at a position; `nil` if the log does not have it.
    package func event(at sequence: SequenceNumber) throws(SyncError) -> LogEvent? {
        var found: LogEvent?
        try visit([sequence]) { event in
            found = event
            return false
        }
        return found
    }

    /// Reads events by position, as ``EventSource/read(_:_:)`` does.
    package func visit<Failure: EventFailure>(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) throws(Failure) -> Bool
    ) throws(SyncError) {
        try visitRuns(sequences) { (run) throws(Failure) in
            for index in run.rows.indices {
                guard try visit(run.event(at: index)) else { return false }
            }
            return true
        }
    }

    /// Reads events by position, as ``EventSource/readRuns(_:_:)`` does.
    @inline(__always)
    package func visitRuns<Failure: EventFailure>(
        _ sequences: [SequenceNumber],
        _ take: (EventRun) throws(Failure) -> Bool
    ) throws(SyncError) {
        // The function is inlined, so that the compiler knows the type of the optional error.
        var failure: Failure?
        try SyncError.wrapping { () throws(LogError) in
            // The closure of the source cannot throw. So an error ends the reading, and is thrown
            // after it.
            try readRuns(sequences) { run in
                do throws(Failure) {
                    return try take(run)
                } catch {
                    failure = error
                    return false
                }
            }
        }
        if let failure { throw failure.asSyncError }
    }

    /// Visits every event of a range, as ``EventSource/scan(from:through:_:)`` does.
    package func visit<Failure: EventFailure>(
        from first: SequenceNumber,
        through last: SequenceNumber,
        _ visit: (LogEvent) throws(Failure) -> Bool
    ) throws(SyncError) {
        var failure: Failure?
        try SyncError.wrapping { () throws(LogError) in
            try scan(from: first, through: last) { event in
                do throws(Failure) {
                    return try visit(event)
                } catch {
                    failure = error
                    return false
                }
            }
        }
        if let failure { throw failure.asSyncError }
    }
}

extension LogEvent {
    /// Reads the event as that of a record; throws a read error as a `SyncError`.
    func readRecord() throws(SyncError) -> StoredRecord {
        try SyncError.wrapping { () throws(EventFormatError) in
            try StoredRecord(sequence, zone: zone, payload)
        }
    }
}
