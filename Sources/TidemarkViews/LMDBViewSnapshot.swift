// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkEvents
import TidemarkLock
import TidemarkLog

/// A view index at one checkpoint: one of LMDB's read transactions, which is returned for reuse on
/// deallocation.
final class LMDBViewSnapshot: ViewSnapshot {
    let checkpoint: ViewCheckpoint?
    /// The number of the snapshot's commit.
    let number: UInt64
    private let environment: LMDBEnvironment
    /// One thread at a time may use a transaction.
    ///
    /// Code under the lock reads mapped memory and calls no other code.
    private let state: Lock<State>

    private struct State {
        let transaction: LMDBReadTransaction
        /// The cursors for lookups, at the place of their table's raw value.
        var cursors = [OpaquePointer?](repeating: nil, count: ViewTable.allCases.count + 1)

        /// Returns the cursor for lookups in a table.
        mutating func cursor(
            of table: ViewTable,
            _ environment: LMDBEnvironment
        ) throws(ViewIndexError) -> OpaquePointer {
            if let cursor = cursors[Int(table.rawValue)] { return cursor }
            let cursor = try transaction.openCursor(table, environment)
            cursors[Int(table.rawValue)] = cursor
            return cursor
        }
    }

    init(
        _ environment: LMDBEnvironment,
        _ transaction: LMDBReadTransaction,
        _ checkpoint: ViewCheckpoint?
    ) {
        self.environment = environment
        number = transaction.number
        state = Lock(State(transaction: transaction))
        self.checkpoint = checkpoint
    }

    deinit {
        // No scan is running: each holds a reference to the snapshot.
        let transaction = state.withLock { state in
            for case let cursor? in state.cursors { mdb_cursor_close(cursor) }
            return state.transaction
        }
        environment.endReading(transaction)
    }

    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue? {
        try state.withLock { state throws(ViewIndexError) -> ViewValue? in
            var found = MDB_val()
            guard table.hasWords else {
                let code = key.withStoredBytes { stored in
                    mdb_get(
                        state.transaction.handle,
                        environment.handle(of: table),
                        &stored,
                        &found
                    )
                }
                if code == MDB_NOTFOUND { return nil }
                guard code == 0 else { throw .lmdb(code, "looking up a key", environment.path) }
                guard let bytes = ViewEntryFormat.decodeBytes(found.bytes, of: key, in: table)
                else {
                    throw badCheck(key, table)
                }
                return .bytes(bytes)
            }
            let cursor = try state.cursor(of: table, environment)
            var stored = MDB_val()
            let code = key.withStoredBytes { wanted in
                let code = mdb_cursor_get(cursor, &wanted, &found, MDB_SET_RANGE)
                stored = wanted
                return code
            }
            if code == MDB_NOTFOUND { return nil }
            guard code == 0 else { throw .lmdb(code, "looking up a key", environment.path) }
            let group = try group(stored, found, table)
            let index = group.firstIndex(notBefore: key)
            guard group.key(at: index) == key else { return nil }
            return .word(group.word(at: index), tag: group.tag(at: index))
        }
    }

    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError) {
        guard first <= last else { return }
        var place = try ScanPlace(openCursor(table), first)
        // LMDB does not track the cursors of a read transaction, so closing one needs no lock.
        defer { mdb_cursor_close(place.cursor) }
        // Entries are read in runs and visited without the lock, so that a visitor may use this
        // snapshot.
        var run = ScanRun()
        repeat {
            try read(&run, table, &place, through: last)
            for entry in run.entries {
                guard visit(entry.key, run.value(of: entry)) else { return }
            }
        } while run.startNext()
    }

    func words(
        in table: ViewTable,
        under high: UInt64,
        from first: UInt64,
        through last: UInt64,
        count: Int
    ) throws(ViewIndexError) -> [ViewWord] {
        guard first <= last, count > 0 else { return [] }
        guard table.hasWords else {
            throw .damaged("\(environment.path): table \(table) has no words")
        }
        var place = try ScanPlace(openCursor(table), ViewKey(high, first))
        defer { mdb_cursor_close(place.cursor) }
        var run = WordRun(count: count)
        repeat {
            try read(&run, table, &place, through: ViewKey(high, last))
        } while run.startNext()
        return run.words
    }

    private func openCursor(_ table: ViewTable) throws(ViewIndexError) -> OpaquePointer {
        try state.withLock { state throws(ViewIndexError) in
            try state.transaction.openCursor(table, environment)
        }
    }

    /// Reads the next run of entries; the run is not full if it is the last one.
    private func read(
        _ run: inout some EntryRun,
        _ table: ViewTable,
        _ place: inout ScanPlace,
        through last: ViewKey
    ) throws(ViewIndexError) {
        try state.withLock { _ throws(ViewIndexError) in
            while true {
                if let group = place.group {
                    // Only the last group of the scan has entries after its end.
                    let end = group.lastKey <= last ? group.count : group.endIndex(through: last)
                    let read = run.append(group, place.next..<end)
                    place.next += read
                    if run.isFull || end < group.count { return }
                }
                var key = MDB_val()
                var value = MDB_val()
                let code = place.advance(&key, &value)
                if code == MDB_NOTFOUND { return }
                guard code == 0 else { throw .lmdb(code, "scanning", environment.path) }
                if table.hasWords {
                    let group = try group(key, value, table)
                    place.next = place.isNew ? group.firstIndex(notBefore: place.first) : 0
                    place.group = group
                } else {
                    let decoded = try self.key(key, table)
                    if last < decoded { return }
                    guard
                        let bytes = ViewEntryFormat.decodeBytes(value.bytes, of: decoded, in: table)
                    else { throw badCheck(decoded, table) }
                    run.append(bytes, of: decoded)
                }
                place.isNew = false
                if run.isFull { return }
            }
        }
    }

    private func group(
        _ key: MDB_val,
        _ value: MDB_val,
        _ table: ViewTable
    ) throws(ViewIndexError) -> EntryGroup {
        let key = try self.key(key, table)
        guard let group = EntryGroup(value.bytes, under: key, in: table) else {
            throw badCheck(key, table)
        }
        return group
    }

    private func key(_ stored: MDB_val, _ table: ViewTable) throws(ViewIndexError) -> ViewKey {
        guard let key = ViewEntryFormat.decodeKey(stored.bytes) else {
            throw .damaged("\(environment.path): a key in table \(table) is not one")
        }
        return key
    }

    private func badCheck(_ key: ViewKey, _ table: ViewTable) -> ViewIndexError {
        .damaged(
            "\(environment.path): the check of the entry (\(key.high), \(key.low)) in table "
                + "\(table) does not fit"
        )
    }
}

/// The place of a scan between two runs.
private struct ScanPlace {
    let cursor: OpaquePointer
    /// The first key of the scan.
    let first: ViewKey
    /// True until the cursor was moved.
    var isNew = true
    /// The group at the cursor, in a table that has groups.
    var group: EntryGroup?
    /// The index of the next entry of the group.
    var next = 0

    init(_ cursor: OpaquePointer, _ first: ViewKey) {
        self.cursor = cursor
        self.first = first
    }

    /// Moves the cursor to the first value that the scan needs, or to the next one.
    func advance(_ key: inout MDB_val, _ value: inout MDB_val) -> Int32 {
        guard isNew else { return mdb_cursor_get(cursor, &key, &value, MDB_NEXT) }
        return first.withStoredBytes { stored in
            let code = mdb_cursor_get(cursor, &stored, &value, MDB_SET_RANGE)
            key = stored
            return code
        }
    }
}

extension LMDBReadTransaction {
    /// Opens a cursor, which must be closed before the transaction is reset.
    fileprivate func openCursor(
        _ table: ViewTable,
        _ environment: LMDBEnvironment
    ) throws(ViewIndexError) -> OpaquePointer {
        var cursor: OpaquePointer?
        let code = mdb_cursor_open(handle, environment.handle(of: table), &cursor)
        guard code == 0, let cursor else {
            throw .lmdb(code, "opening a cursor", environment.path)
        }
        return cursor
    }
}

extension ViewKey {
    /// Calls a closure with the key in LMDB's form.
    fileprivate func withStoredBytes(_ body: (inout MDB_val) -> Int32) -> Int32 {
        var room: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        return withUnsafeMutableBytes(of: &room) { room in
            guard let start = room.baseAddress else { return MDB_INVALID }
            var stored = MDB_val(mv_size: ViewEntryFormat.encode(self, at: start), mv_data: start)
            return body(&stored)
        }
    }
}

extension MDB_val {
    /// The bytes of the value, which belong to LMDB and are valid until the transaction ends.
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }
}
