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
    private let transaction: Lock<LMDBReadTransaction>

    init(
        _ environment: LMDBEnvironment,
        _ transaction: LMDBReadTransaction,
        _ checkpoint: ViewCheckpoint?
    ) {
        self.environment = environment
        number = transaction.number
        self.transaction = Lock(transaction)
        self.checkpoint = checkpoint
    }

    deinit {
        // No scan is running: each holds a reference to the snapshot.
        environment.endReading(transaction.withLock { $0 })
    }

    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue? {
        try transaction.withLock { transaction throws(ViewIndexError) in
            var found = MDB_val()
            let code = key.withStoredBytes { stored in
                mdb_get(transaction.handle, environment.handle(of: table), &stored, &found)
            }
            if code == MDB_NOTFOUND { return nil }
            guard code == 0 else { throw .lmdb(code, "looking up a key", environment.path) }
            guard let value = ViewEntryFormat.decodeValue(found.bytes, of: key, in: table) else {
                throw badCheck(key, table)
            }
            return value
        }
    }

    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError) {
        guard first <= last else { return }
        let cursor = try openCursor(table)
        // LMDB does not track the cursors of a read transaction, so closing one needs no lock.
        defer { mdb_cursor_close(cursor) }
        // Entries are read in runs and visited without the lock, so that a visitor may use this
        // snapshot.
        var run = ScanRun()
        var next: ViewKey? = first
        repeat {
            try read(&run, table, cursor, from: next, through: last)
            for entry in run.entries {
                guard visit(entry.key, run.value(of: entry)) else { return }
            }
            // The cursor stays at the last entry of the run, and the next run continues after it.
            next = nil
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
        let cursor = try openCursor(table)
        defer { mdb_cursor_close(cursor) }
        var run = WordRun(count: count)
        var next: ViewKey? = ViewKey(high, first)
        repeat {
            try read(&run, table, cursor, from: next, through: ViewKey(high, last))
            next = nil
        } while run.startNext()
        return run.words
    }

    private func openCursor(_ table: ViewTable) throws(ViewIndexError) -> OpaquePointer {
        var cursor: OpaquePointer?
        let code = transaction.withLock { transaction in
            mdb_cursor_open(transaction.handle, environment.handle(of: table), &cursor)
        }
        guard code == 0, let cursor else {
            throw .lmdb(code, "starting a scan", environment.path)
        }
        return cursor
    }

    /// Reads a run of entries, from a key or from after the cursor's entry; the run is not full if it
    /// is the last one.
    private func read(
        _ run: inout some EntryRun,
        _ table: ViewTable,
        _ cursor: OpaquePointer,
        from first: ViewKey?,
        through last: ViewKey
    ) throws(ViewIndexError) {
        try transaction.withLock { _ throws(ViewIndexError) in
            var key = MDB_val()
            var value = MDB_val()
            var code =
                first?.withStoredBytes { stored in
                    key = stored
                    return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
                } ?? mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            while code == 0 {
                guard let decoded = ViewEntryFormat.decodeKey(key.bytes) else {
                    throw .damaged("\(environment.path): a key in table \(table) is not one")
                }
                if last < decoded { return }
                guard run.append(value.bytes, of: decoded, in: table) else {
                    throw badCheck(decoded, table)
                }
                if run.isFull { return }
                code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
            guard code == MDB_NOTFOUND else { throw .lmdb(code, "scanning", environment.path) }
        }
    }

    private func badCheck(_ key: ViewKey, _ table: ViewTable) -> ViewIndexError {
        .damaged(
            "\(environment.path): the check of the entry (\(key.high), \(key.low)) in table "
                + "\(table) does not fit"
        )
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
