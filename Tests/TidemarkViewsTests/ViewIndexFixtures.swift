// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// The two implementations, which every test of the protocol runs over.
enum IndexKind: CaseIterable, CustomStringConvertible {
    case memory
    case lmdb

    /// An empty index; the folder is used by the one that has files.
    func make(in folder: String) throws -> any ViewIndex {
        switch self {
        case .memory: MemoryViewIndex()
        case .lmdb: try LMDBViewIndex.open(folder, access: .writing, store: .sample)
        }
    }

    var description: String { self == .memory ? "in memory" : "in LMDB" }
}

extension StoreID {
    static let sample = StoreID(low: 0x1122_3344_5566_7788, high: 0x99AA_BBCC_DDEE_FF00)
}

extension ViewCheckpoint {
    /// A checkpoint of the sample store.
    static func at(_ sequence: UInt64) -> ViewCheckpoint {
        ViewCheckpoint(
            store: .sample,
            incarnation: Incarnation(rawValue: 0xABCD),
            sequence: SequenceNumber(rawValue: sequence)
        )
    }
}

extension ViewSnapshot {
    /// All entries of a table within bounds, in the order of the scan.
    func entries(
        _ table: ViewTable,
        from first: ViewKey = ViewKey(0, 0),
        through last: ViewKey = ViewKey(.max, .max)
    ) throws -> [ModelEntry] {
        var entries: [ModelEntry] = []
        try scan(table, from: first, through: last) { key, value in
            entries.append(ModelEntry(key: key, value: value))
            return true
        }
        return entries
    }
}

/// One entry, for comparing.
struct ModelEntry: Hashable {
    var key: ViewKey
    var value: ViewValue
}

/// What an index should hold, as plainly as can be said.
struct IndexModel {
    var tables: [ViewTable: [ViewKey: ViewValue]] = [:]

    func entries(
        _ table: ViewTable,
        from first: ViewKey = ViewKey(0, 0),
        through last: ViewKey = ViewKey(.max, .max)
    ) -> [ModelEntry] {
        (tables[table] ?? [:]).filter { first <= $0.key && $0.key <= last }
            .map { ModelEntry(key: $0.key, value: $0.value) }
            .sorted { $0.key < $1.key }
    }
}

extension SeededGenerator {
    /// A word of any size: as many small ones as large ones.
    mutating func word() -> UInt64 {
        next() >> UInt64.random(in: 0..<64, using: &self)
    }

    /// A key out of few enough to be hit again.
    mutating func key() -> ViewKey {
        let zones: [UInt64] = [0, 1, 15, 16, 300, 70_000, 1 << 28, 1 << 60, .max]
        let zone = zones[Int.random(in: 0..<zones.count, using: &self)]
        return ViewKey(
            zone,
            Bool.random(using: &self) ? word() : UInt64.random(in: 0..<40, using: &self)
        )
    }

    /// Any value that a table may have.
    mutating func value(in table: ViewTable) -> ViewValue {
        guard table.hasWords else { return .bytes(bytes()) }
        return .word(word(), tag: UInt8.random(in: 0...255, using: &self))
    }

    /// A value of bytes, of any length.
    mutating func bytes() -> [UInt8] {
        let counts = [0, 1, 2, 12, 100, 2000, 4096]
        let count = counts[Int.random(in: 0..<counts.count, using: &self)]
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
    }
}
