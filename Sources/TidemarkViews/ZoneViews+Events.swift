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
        for (sequence, place) in zip(sequences, found.places) {
            guard let place else { throw .missingEvent(sequence) }
            let payload = found.pieces[place.piece][place.range]
            guard EventKind(of: payload.span.bytes) != .requestNoted else {
                throw .missingEvent(sequence)
            }
            do throws(EventFormatError) {
                records.append(try StoredRecord(sequence, zone: place.zone, payload))
            } catch {
                throw SyncError(error)
            }
        }
        return records
    }

    /// Events at some positions.
    private struct Found {
        /// Blocks of the log, and payloads of events that are in memory.
        var pieces: [ArraySlice<UInt8>] = []
        /// The place of each event; `nil` for a position without an event.
        var places: [Place?]

        struct Place {
            var zone: ZoneKey
            /// The index of the piece that holds the payload.
            var piece: Int
            /// The range of the payload.
            var range: Range<Int>
        }
    }

    private func find(_ sequences: [SequenceNumber]) throws(SyncError) -> Found {
        var found = Found(places: [])
        found.places.reserveCapacity(sequences.count)
        // Under one lock: events in memory may be dropped a moment later, but the log has them
        // then.
        overlay.withLock { overlay in
            for sequence in sequences {
                var place: Found.Place?
                if let (commit, index) = overlay.pending.find(sequence) {
                    let payload = commit.payload(at: index)
                    place = Found.Place(
                        zone: commit.events[index].zone,
                        piece: found.pieces.count,
                        range: payload.indices
                    )
                    found.pieces.append(payload)
                }
                found.places.append(place)
            }
        }
        let missing = found.places.indices.filter { found.places[$0] == nil }
        guard !missing.isEmpty else { return found }
        // The log reads ascending positions, each once. `order` leads back to the order of the caller.
        let order = AscendingOrder.indexes(of: missing.map { sequences[$0].rawValue })
            .map { missing[$0] }
        var wanted: [SequenceNumber] = []
        for index in order where wanted.last != sequences[index] { wanted.append(sequences[index]) }
        var position = 0
        do throws(LogError) {
            try source.readRuns(wanted) { run in
                for row in run.rows {
                    let sequence = run.sequence(of: row)
                    // Read later, because the events are all over memory.
                    run.prefetchPayload(of: row)
                    // A reader skips damage.
                    while position < order.count, sequences[order[position]] <= sequence {
                        if sequences[order[position]] == sequence {
                            found.places[order[position]] = Found.Place(
                                zone: run.contexts[row.context].zone,
                                piece: found.pieces.count,
                                range: row.payloadRange
                            )
                        }
                        position += 1
                    }
                }
                found.pieces.append(run.block[...])
                return true
            }
        } catch {
            throw SyncError(error)
        }
        return found
    }
}
