// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@testable import TidemarkReplay

@Suite struct BisectionTests {
    private func search(
        good: UInt64,
        bad: UInt64,
        _ verdict: (UInt64) -> Bisection.Verdict
    ) -> Bisection {
        var bisection = Bisection(
            good: SequenceNumber(rawValue: good),
            bad: SequenceNumber(rawValue: bad)
        )
        while let position = bisection.next {
            bisection.note(verdict(position.rawValue), at: position)
        }
        return bisection
    }

    @Test func `A bad event among a million is found with twenty probes`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            let planted = UInt64.random(in: 1...1_000_000, using: &random)
            let found = search(good: 0, bad: 1_000_000) { $0 < planted ? .good : .bad }
            #expect(found.bad.rawValue == planted && found.isExact)
            #expect(found.probeCount <= 20)
        }
    }

    @Test func `The search skips positions without a result`() {
        for planted in [UInt64](1...64) {
            for hole in [UInt64](0...56) {
                let unknown = hole..<hole + 8
                let found = search(good: 0, bad: 64) { position in
                    if unknown.contains(position) { return .unknown }
                    return position < planted ? .good : .bad
                }
                // The first bad position is after good and not after bad, and nothing that can be told
                // lies between them.
                #expect(found.good.rawValue < planted && planted <= found.bad.rawValue)
                let between = found.good.rawValue + 1..<found.bad.rawValue
                #expect(between.allSatisfy { unknown.contains($0) })
                #expect(found.isExact == between.isEmpty)
            }
        }
    }

    @Test(arguments: [21, 22, 23] as [UInt64])
    func `The first event for which a predicate holds equals that of a full fold`(
        seed: UInt64
    ) async throws {
        let folder = try ScratchFolder()
        var lived = try LivedStore(at: folder.path(), seed: seed)
        try await lived.live(120)
        let last = lived.store.lastSequence
        var random = SeededGenerator(seed: seed)
        for round in 0..<30 {
            let number = Int64.random(in: 0..<130, using: &random)
            let format = round % 2 == 0 ? "number > \(number)" : "number == \(number)"
            let first = SequenceNumber(rawValue: UInt64.random(in: 0..<60, using: &random))
            let zone = round % 3 == 0 ? LivedStore.zones[0] : nil
            // Every state between the two points, one after another.
            var expected = Holding()
            var held = false
            for position in first.rawValue...last.rawValue {
                let holds = lived.state(asOf: position).contains { id, fields in
                    guard case .int64(let value)? = fields["number"], zone == nil || id.zone == zone
                    else { return false }
                    return round % 2 == 0 ? value > number : value == number
                }
                if position == first.rawValue {
                    expected.heldAtFirst = holds
                } else if holds != held {
                    let sequence = SequenceNumber(rawValue: position)
                    expected.turnCount += 1
                    if holds {
                        expected.began = expected.began ?? sequence
                    } else {
                        expected.ended = expected.ended ?? sequence
                    }
                }
                held = holds
            }
            let found = try await lived.store.holding(
                of: Query.Predicate(format: format),
                zone: zone,
                after: first
            )
            #expect(found == expected, "\(format) after \(first)")
        }
    }
}
