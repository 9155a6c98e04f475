// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLock
import TidemarkLog

/// An in-memory implementation of the view index, for tests and simulations.
///
/// Every table is one sorted array, so a checkpoint takes O(entries + changes): suitable for
/// thousands of records, not for millions.
package final class MemoryViewIndex: ViewIndex {
    private let state: Lock<State>

    private struct State {
        var tables = MemoryViewTables()
        var checkpoint: ViewCheckpoint?
    }

    /// Creates an empty index.
    package init() {
        state = Lock(State())
    }

    package var checkpoint: ViewCheckpoint? {
        state.withLock { $0.checkpoint }
    }

    package func snapshot() -> any ViewSnapshot {
        state.withLock { MemoryViewSnapshot(tables: $0.tables, checkpoint: $0.checkpoint) }
    }

    package func apply(_ batch: consuming ViewBatch, checkpoint: ViewCheckpoint) {
        state.withLock { state in
            for table in ViewTable.allCases {
                state.tables.merge(batch.takeSorted(table), of: batch, into: table)
            }
            state.checkpoint = checkpoint
        }
    }

    package var byteCount: UInt64 {
        state.withLock { $0.tables.byteCount }
    }

    package var spareByteCount: UInt64 { 0 }
}

/// The tables of the in-memory index: a value type, so that a snapshot is a copy that costs
/// nothing.
private struct MemoryViewTables {
    typealias Entry = (key: ViewKey, value: ViewValue)

    private var entries = [[Entry]](repeating: [], count: ViewTable.allCases.count + 1)

    subscript(table: ViewTable) -> [Entry] { entries[Int(table.rawValue)] }

    var byteCount: UInt64 {
        var count = 0
        for (_, value) in entries.joined() {
            count += MemoryLayout<Entry>.stride
            if case .bytes(let bytes) = value { count += bytes.count }
        }
        return UInt64(count)
    }

    mutating func merge(
        _ changes: [ViewBatch.Change],
        of batch: borrowing ViewBatch,
        into table: ViewTable
    ) {
        if changes.isEmpty { return }
        let old = self[table]
        var merged: [Entry] = []
        merged.reserveCapacity(old.count + changes.count)
        var position = 0
        for change in changes {
            while position < old.count, old[position].key < change.key {
                merged.append(old[position])
                position += 1
            }
            // The change replaces or removes the entry.
            if position < old.count, old[position].key == change.key { position += 1 }
            if let value = batch.value(of: change) { merged.append((change.key, value)) }
        }
        merged += old[position...]
        entries[Int(table.rawValue)] = merged
    }

    /// Returns the index of the first entry whose key is not less than a given one.
    ///
    /// O(log n).
    func position(of key: ViewKey, in table: ViewTable) -> Int {
        let entries = self[table]
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

private final class MemoryViewSnapshot: ViewSnapshot {
    private let tables: MemoryViewTables
    let checkpoint: ViewCheckpoint?

    init(tables: MemoryViewTables, checkpoint: ViewCheckpoint?) {
        self.tables = tables
        self.checkpoint = checkpoint
    }

    func value(in table: ViewTable, for key: ViewKey) -> ViewValue? {
        let position = tables.position(of: key, in: table)
        let entries = tables[table]
        guard position < entries.count, entries[position].key == key else { return nil }
        return entries[position].value
    }

    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) {
        for (key, value) in tables[table][tables.position(of: first, in: table)...] {
            guard key <= last, visit(key, value) else { return }
        }
    }
}
