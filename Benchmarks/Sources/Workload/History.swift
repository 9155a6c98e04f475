// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A long history made of rounds: the first inserts every record, each later one updates every
/// record once, in a random order of its own.
///
/// Zones are interleaved event by event. The history needs no memory: any event is computed from
/// its position, and so is the state at the end.
public struct History: Sendable {
    /// How many zones share the log.
    public let zoneCount: Int
    /// Records in all zones together.
    public let recordCount: Int
    /// How often each record is written: once by the insert, then by updates.
    public let roundCount: Int

    /// Describes a history.
    public init(zoneCount: Int, recordCount: Int, roundCount: Int) {
        self.zoneCount = zoneCount
        self.recordCount = recordCount
        self.roundCount = roundCount
    }

    /// Events in all.
    public var eventCount: Int { recordCount * roundCount }

    /// Records of one zone.
    public func recordCount(ofZone zone: Int) -> Int {
        (recordCount - zone + zoneCount - 1) / zoneCount
    }

    /// The event at a place within a round.
    public func change(_ place: Int, inRound round: Int) -> Change {
        let record = round == 0 ? place : Shuffle(count: recordCount, seed: round)[place]
        return Change(zone: record % zoneCount, number: record / zoneCount, version: round)
    }

    /// Visits all commits in order.
    ///
    /// A commit never spans two rounds, so it names no record twice.
    public func forEachBatch(of batchSize: Int, _ visit: (Batch) throws -> Void) rethrows {
        for round in 0..<roundCount {
            for start in stride(from: 0, to: recordCount, by: batchSize) {
                let places = start..<min(start + batchSize, recordCount)
                try visit(
                    Batch(places.map { change($0, inRound: round) }, isInsert: round == 0)
                )
            }
        }
    }

    /// The last event of every record with its position in the log (the first event has 1), in the
    /// order of the positions.
    public func forEachLive(_ visit: (Change, UInt64) throws -> Void) rethrows {
        let before = UInt64((roundCount - 1) * recordCount)
        for place in 0..<recordCount {
            try visit(change(place, inRound: roundCount - 1), before + UInt64(place) + 1)
        }
    }
}

/// A random order of the numbers below a count, without a table.
public struct Shuffle: Sendable {
    private let count: UInt64
    private let mask: UInt64
    private let shift: UInt64
    private let seed: UInt64

    /// The order that a seed determines.
    public init(count: Int, seed: Int) {
        self.count = UInt64(count)
        let bits = UInt64(UInt64.bitWidth - max(count - 1, 1).leadingZeroBitCount)
        mask = (1 << bits) - 1
        shift = max(1, bits / 2)
        self.seed = SplitMix.mix(UInt64(seed))
    }

    /// The number at a place.
    ///
    /// Every step permutes the numbers under the mask, and a result that is
    /// too large goes round again, so no number comes twice.
    public subscript(place: Int) -> Int {
        var number = UInt64(place)
        repeat {
            for step in 0..<3 {
                number = (number ^ (seed >> UInt64(step * 16))) & mask
                number = (number &* 0x9E37_79B9_7F4A_7C15) & mask
                number ^= number >> shift
            }
        } while number >= count
        return Int(number)
    }
}
