// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkViews

@testable import TidemarkViews

@Suite struct ChangeSortTests {
    /// How the keys of some changes lie.
    enum Keys: CaseIterable {
        case random, slotsOfOneZone, slotsOfFewZones, slotsZoneByZone, ascending, descending,
            nearlyAscending
        case oneKey, fewKeys, singleBits, farOutliers

        func key(_ index: Int, of count: Int, _ random: inout SeededGenerator) -> ViewKey {
            let number = UInt64(index)
            switch self {
            case .random: return ViewKey(random.next(), random.next())
            case .slotsOfOneZone: return ViewKey(7, random.next())
            case .slotsOfFewZones: return ViewKey(random.next() % 3 * 1_000_003, random.next())
            case .slotsZoneByZone:
                return ViewKey(UInt64(index * 7 / max(1, count)), random.next() % 1_000)
            case .ascending: return ViewKey(1, number)
            case .descending: return ViewKey(UInt64(count - index), 5)
            case .nearlyAscending: return ViewKey(1, number % 97 == 0 ? random.next() : number)
            case .oneKey: return ViewKey(1, 2)
            case .fewKeys: return ViewKey(random.next() % 2, random.next() % 50)
            case .singleBits: return ViewKey(1 << (random.next() % 64), 1 << (random.next() % 64))
            case .farOutliers:
                return ViewKey(index == count / 2 ? .max : 3, index == 1 ? .max : random.next() % 9)
            }
        }
    }

    @Test(arguments: Keys.allCases, [0, 1, 2, 24, 25, 300, 20_000])
    func `Changes are sorted stably by key`(_ keys: Keys, _ count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        let changes = (0..<count).map { index in
            let key = keys.key(index, of: count, &random)
            return ViewBatch.Change(key: key, word: UInt64(index), tag: 0, form: .word)
        }
        var sorted = changes
        ChangeSort.sort(&sorted)
        let expected = changes.sorted { first, second in
            first.key == second.key ? first.word < second.word : first.key < second.key
        }
        #expect(sorted.map(\.key) == expected.map(\.key))
        #expect(sorted.map(\.word) == expected.map(\.word))
    }
}
