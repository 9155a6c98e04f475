// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

extension ZoneViews {
    /// Returns the records' events at some positions, in the order of the positions, which may
    /// repeat.
    ///
    /// Events that are not durable yet come from memory, all others from the log in one pass.
    package func records(at sequences: [SequenceNumber]) throws(SyncError) -> [StoredRecord] {
        let found = try find(sequences)
        var records: [StoredRecord] = []
        records.reserveCapacity(sequences.count)
        for (sequence, found) in zip(sequences, found) {
            guard let found, EventKind(of: found.payload.span.bytes) != .requestNoted else {
                throw .missingEvent(sequence)
            }
            do throws(EventFormatError) {
                records.append(try StoredRecord(sequence, zone: found.zone, found.payload))
            } catch {
                throw SyncError(error)
            }
        }
        return records
    }

    private struct Found: Sendable {
        var zone: ZoneKey
        var payload: ArraySlice<UInt8>
    }

    private func find(_ sequences: [SequenceNumber]) throws(SyncError) -> [Found?] {
        // Under one lock: events in memory may be dropped a moment later, but the log has them
        // then.
        var found = overlay.withLock { overlay in
            sequences.map { sequence -> Found? in
                guard let (commit, index) = overlay.pending.find(sequence) else {
                    return nil
                }
                return Found(zone: commit.events[index].zone, payload: commit.payload(at: index))
            }
        }
        let missing = found.indices.filter { found[$0] == nil }
        guard !missing.isEmpty else { return found }
        // The log reads ascending positions, each once. `order` leads back to the order of the caller.
        let order = AscendingOrder.indexes(of: missing.map { sequences[$0].rawValue })
            .map { missing[$0] }
        var wanted: [SequenceNumber] = []
        for index in order where wanted.last != sequences[index] { wanted.append(sequences[index]) }
        var position = 0
        do throws(LogError) {
            try source.read(wanted) { event in
                // A reader skips damage.
                while position < order.count, sequences[order[position]] <= event.sequence {
                    if sequences[order[position]] == event.sequence {
                        // Read later, because the events are all over memory.
                        event.prefetchPayload()
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
