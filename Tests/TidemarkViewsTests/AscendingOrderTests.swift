// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents

struct AscendingOrderTests {
    /// Numbers that are spread evenly, that lie close together, and that are few with one far away.
    @Test(arguments: [0, 1, 2, 3, 31, 33, 400, 5_000])
    func `Numbers of any kind are visited in order, equal ones in theirs`(_ count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        let kinds: [(Int) -> UInt64] = [
            { _ in random.next() },
            { _ in random.next() & 0xFFFF },
            { _ in random.next() & 7 },
            { 1 << 40 + UInt64($0) },
            { index in index == 0 ? .max : random.next() & 0xFF_FFFF },
            { UInt64(count - $0) << 50 },
            { _ in .max },
        ]
        for kind in kinds {
            let numbers = (0..<count).map(kind)
            let expected = numbers.indices.sorted {
                (numbers[$0], $0) < (numbers[$1], $1)
            }
            #expect(AscendingOrder.indexes(of: numbers) == expected)
        }
    }
}
