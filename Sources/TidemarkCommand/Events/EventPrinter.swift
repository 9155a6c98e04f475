// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Prints a stretch of the log, event by event.
struct EventPrinter: ~Copyable {
    private let reader: LogReader
    private let filter: EventFilter
    private let isJSON: Bool
    private var output: StandardOutput
    private var decoder: EventDecoder
    /// How many events have been printed.
    private(set) var count = 0
    /// Events whose checksums are right, and that cannot be read all the same.
    private(set) var unknown: [LogError] = []

    init(_ reader: LogReader, _ filter: EventFilter, _ options: OutputOptions) {
        self.reader = reader
        self.filter = filter
        output = StandardOutput()
        isJSON = options.isJSON(output)
        decoder = EventDecoder(source: reader)
    }

    /// Prints the events that the filter lets through, in order, at most so many.
    mutating func printEvents(
        from first: SequenceNumber,
        through last: SequenceNumber,
        limit: Int? = nil
    ) throws {
        var left = limit ?? .max
        let line = reader.line
        var failure: (any Error)?
        try reader.scan(from: first, through: last) { event in
            guard left > 0 else { return false }
            do {
                if try printEvent(event, line) { left -= 1 }
                return left > 0
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }

    /// Hands on everything printed so far.
    mutating func flush() throws {
        try output.flush()
    }

    private mutating func printEvent(_ event: LogEvent, _ line: IncarnationLine) throws -> Bool {
        let decoded: DecodedEvent
        do {
            decoded = try decoder.decode(event)
        } catch let error as EventFormatError {
            unknown.append(LogError(.corrupted, error.message))
            return false
        } catch let error as BodyError {
            unknown.append(LogError(.corrupted, "Event \(event.sequence): \(error.message)"))
            return false
        }
        guard filter.matches(decoded) else { return false }
        count += 1
        if isJSON {
            try output.line { $0.append(json: decoded, in: line) }
        } else {
            try output.line(decoded.text)
        }
        return true
    }
}
