// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// A record's event as it lies in the log: its place, what it says beside the body, and the body or
/// tombstone.
package struct StoredRecord: Sendable {
    /// Position of the event.
    package var sequence: SequenceNumber
    /// The key of the record's zone.
    package var zone: UInt64
    /// The event's payload, shared with the log's block.
    package var payload: ArraySlice<UInt8>
    /// What stands before the body or the tombstone.
    package var event: RecordEvent
    /// Where the body or the tombstone begins in the payload.
    package var bodyOffset: Int

    /// Reads a payload.
    package init(
        _ sequence: SequenceNumber,
        zone: UInt64,
        _ payload: ArraySlice<UInt8>
    ) throws(EventFormatError) {
        self.sequence = sequence
        self.zone = zone
        self.payload = payload
        (event, bodyOffset) = try RecordEvent.read(payload.span.bytes)
    }

    /// The record's body; only if the event saved it.
    package func body() throws(EventFormatError) -> RecordBody {
        do throws(BodyError) {
            return try RecordBody(stored: payload[(payload.startIndex + bodyOffset)...])
        } catch {
            throw EventFormatError("Event \(sequence) holds a body that is damaged: \(error).")
        }
    }

    /// The body, which `body()` has read before.
    package var bodyReadBefore: RecordBody {
        RecordBody(sound: payload[(payload.startIndex + bodyOffset)...])
    }

    /// Whether the event is about a record of a name.
    ///
    /// O(name).
    package func hasName(_ name: Name) throws(EventFormatError) -> Bool {
        let span = payload.span.bytes
        let range = try RecordEvent.nameRange(
            in: span,
            state: event.state,
            bodyOffset: bodyOffset
        )
        return name.hasBytes(span.extracting(range))
    }

    /// The name and type of a tombstone.
    package func tombstone() throws(EventFormatError) -> (name: String, type: String) {
        try RecordEvent.tombstone(in: payload.span.bytes, bodyOffset: bodyOffset)
    }
}

extension ZoneViews {
    /// The records' events at some positions, in the order of the positions, which may repeat.
    ///
    /// Events that are not durable yet come from memory, all others from the log in one pass.
    package func records(
        at sequences: [SequenceNumber]
    ) throws(SyncError) -> [StoredRecord] {
        let found = try find(sequences)
        var records: [StoredRecord] = []
        records.reserveCapacity(sequences.count)
        for (sequence, found) in zip(sequences, found) {
            guard let found else { throw .missingEvent(sequence) }
            do throws(EventFormatError) {
                records.append(try StoredRecord(sequence, zone: found.zone, found.payload))
            } catch {
                throw SyncError(error)
            }
        }
        return records
    }

    private struct Found: Sendable {
        var zone: UInt64
        var payload: ArraySlice<UInt8>
    }

    private func find(_ sequences: [SequenceNumber]) throws(SyncError) -> [Found?] {
        // Under one lock: what is in memory now may be dropped a moment later, but then the log has
        // it.
        var found = overlay.withLock { overlay in
            sequences.map { sequence -> Found? in
                guard let (commit, index) = overlay.pending.find(sequence.rawValue) else {
                    return nil
                }
                return Found(zone: commit.events[index].zone, payload: commit.payload(at: index))
            }
        }
        let order = found.indices.filter { found[$0] == nil }
            .sorted { sequences[$0] < sequences[$1] }
        guard !order.isEmpty else { return found }
        var wanted: [SequenceNumber] = []
        for index in order where wanted.last != sequences[index] { wanted.append(sequences[index]) }
        var position = 0
        do throws(LogError) {
            try source.read(wanted) { event in
                // A reader passes over what is damaged.
                while position < order.count, sequences[order[position]] <= event.sequence {
                    if sequences[order[position]] == event.sequence, !event.isNote {
                        found[order[position]] = Found(zone: event.zone, payload: event.payload)
                    }
                    position += 1
                }
                return true
            }
        } catch {
            throw SyncError(error)
        }
        return found
    }
}

extension SyncError {
    /// A view names an event that the log does not have.
    static func missingEvent(_ sequence: SequenceNumber) -> SyncError {
        SyncError(
            .internalError,
            "The zone views name event \(sequence), which the log does not have. Close the store, "
                + "remove its folder \"views\" and open it again: it is rebuilt from the log."
        )
    }

    /// An event that cannot be read.
    init(_ error: EventFormatError) {
        self.init(.internalError, error.message)
    }

    /// The view index cannot be used.
    init(_ error: ViewIndexError) {
        let code: Code = error.reason == .full ? .quotaExceeded : .internalError
        self.init(code, error.message)
    }

    /// The log could not do what was asked.
    init(_ error: LogError) {
        let code: Code =
            switch error.code {
            case .full: .quotaExceeded
            case .tooLarge: .limitExceeded
            case .newerVersion: .incompatibleVersion
            case .unreadable, .writerFailed, .locked, .readOnly: .serviceUnavailable
            case .corrupted, .notAStore, .foreignFile: .internalError
            case .pruned: .invalidArguments
            }
        let place = error.path.map { path in
            error.offset.map { " (\(path), byte \($0))" } ?? " (\(path))"
        }
        self.init(code, error.message + (place ?? ""))
    }
}
